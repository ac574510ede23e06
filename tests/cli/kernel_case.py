"""What the tests of the program `lockstep` share that run kernels: a few sources, and a code object made once.

Their arguments: LOCKSTEP LOCKSTEP-KCC PLUG-IN"""
import os
import subprocess
import sys

from case import LOCKSTEP, Case

KCC = os.path.abspath(sys.argv.pop(1))
PLUGIN = os.path.abspath(sys.argv.pop(1))

SAXPY = """__kernel void saxpy(uint n, float a, __global const float* x, __global float* y) {
  uint i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
"""
TWO = """__kernel void ids(__global uint* out) {
  uint x = get_global_id(0), y = get_global_id(1);
  out[y * get_global_size(0) + x] = y * 1000 + x;
}
__kernel void spin(__global volatile uint* flag) { while (*flag == 0); }
"""
ASSEMBLY = """s_load_b64 s[4:5], s[0:1], 0x0
s_load_b32 s6, s[0:1], 0x8
v_and_b32 v0, 0x3ff, v0
s_waitcnt lgkmcnt(0)
v_add_nc_u32 v1, s6, v0
v_lshlrev_b32 v0, 2, v0
global_store_b32 v0, v1, s[4:5]
s_endpgm
"""
HIP = """#include <hip/hip_runtime.h>
extern "C" __global__ void twice(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}
"""


class KernelCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in (("saxpy.cl", SAXPY), ("two.cl", TWO), ("args.s", ASSEMBLY), ("twice.hip", HIP)):
            (cls.path / name).write_text(text)
        subprocess.run([KCC, "saxpy.cl", "-o", "saxpy.co"], check=True, cwd=cls.path)

    def saxpy(self, *arguments, **options):
        """Compiled once: compiling in every run would be most of this test's time."""
        return self.lockstep("run", "saxpy.co", *arguments, **options)

    def saxpy_source(self, *arguments, **options):
        return self.lockstep("run", "saxpy.cl", *arguments, **options)

    GOOD = ("u32:64", "f32:2", "buf:f32[64]=iota", "buf:f32[64]=1")

    def code_object(self, directives=""):
        target = self.path / "object.co"
        (self.path / "object.s").write_text(
            '.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"\n.text\n.p2align 8\n.type k,@function\nk: s_endpgm\n'
            ".rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n" + directives +
            ".end_amdhsa_kernel\n")
        subprocess.run(["clang-19", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "object.s", "-o", "object.co"],
                       check=True, cwd=self.path)
        return target.read_bytes()

    def start(self, *arguments, **options):
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([LOCKSTEP, *arguments], cwd=self.path, text=True, **options)

    def end(self, process, status):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, (out, err))
        return err
