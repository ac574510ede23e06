#!/usr/bin/env python3
"""The program `lockstep` as a user meets it: results, messages, exit codes.

Usage: cli_test.py LOCKSTEP LOCKSTEP-KCC PLUG-IN"""
import errno
import json
import os
import pathlib
import pty
import resource
import signal
import struct
import subprocess
import sys
import time
import unittest
import zlib

from case import BAD_INPUT, DONE, FAULTED, INTERRUPTED, LOCKSTEP, SOURCES, Case

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


class Cli(Case):
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

    def test_results_as_text_npy_and_raw(self):
        out = self.saxpy("--grid", "64", "--block", "32", *self.GOOD, "--print", "y", "--out", "y=y.npy", "--out",
                         "3=y.raw", says="2 work-groups, 2 waves")
        self.assertTrue(out.stdout.startswith("y: f32[64]\n1 3 5 7"), out.stdout)
        wanted = struct.pack("<64f", *(2 * i + 1 for i in range(64)))
        self.assertEqual((self.path / "y.raw").read_bytes(), wanted)
        npy = (self.path / "y.npy").read_bytes()
        self.assertTrue(npy.startswith(b"\x93NUMPY\x01\x00"))
        self.assertIn(b"'descr': '<f4'", npy)
        self.assertTrue(npy.endswith(b"\n" + wanted))
        self.assertEqual((len(npy) - len(wanted)) % 64, 0)
        # What was written can be read, by name and in another order.
        out = self.saxpy("--groups", "1", "--block", "64", "y=buf:y.raw", "x=buf:y.npy", "a=0", "n=64", "-p", "y", "-q")
        self.assertTrue(out.stdout.startswith("y: f32[64]\n1 3 5 7"), out.stdout)
        self.assertEqual(out.stderr, "")

    def test_engines_and_waves_agree(self):
        texts = set()
        for engine in ("interpreter", "translator"):
            for wave in ("32", "64"):
                texts.add(self.saxpy_source("--grid", "64", "--engine", engine, "--wave", wave, *self.GOOD, "-p", "y").stdout)
        self.assertEqual(len(texts), 1)

    def test_picture(self):
        self.lockstep("run", "two.cl", "-k", "ids", "--grid", "8,4", "--block", "4,4", "buf:u32[4x8]", "-o", "out=p.png")
        png = (self.path / "p.png").read_bytes()
        self.assertEqual(struct.unpack(">II", png[16:24]), (8, 4))
        at = png.index(b"IDAT")
        data = zlib.decompress(png[at + 4:at + 4 + struct.unpack(">I", png[at - 4:at])[0]])
        self.assertEqual(len(data), 4 * (1 + 8 * 4))

    def test_assembly_hip_and_code_object(self):
        out = self.lockstep("run", "args.s", "--grid", "32", "out=buf:u32[32]", "u32:100", "-p", "out")
        self.assertIn("100 101 102", out.stdout)
        out = self.lockstep("run", "twice.hip", "--groups", "1", "--block", "8", "buf:f32[8]=iota", "n=i32:8", "-p", "data")
        self.assertIn("0 2 4 6 8 10 12 14", out.stdout)
        self.lockstep("run", "twice.hip", "--groups", "1", "buf:f32[8]", "8", status=BAD_INPUT, says="i32:8")

    def test_hip_as_it_is_written(self):
        (self.path / "as_written.hip").write_text("""#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
namespace cg = cooperative_groups;
extern "C" __global__ void lanes(unsigned* out, float* floats, unsigned* sums) {
  const unsigned i = threadIdx.x;
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  out[0] = 0;
  if (i % 3 == 0) {
    const auto some = cg::coalesced_threads();
    const unsigned third = some.shfl(i, 2);
    if (i == 3) out[1] = some.size() * 100 + third;
  }
  const unsigned long long same = __match_any_sync(~0ull, i % 4), even = __ballot_sync(0xff, i % 2 == 0);
  const int count = __syncthreads_count(i < 5), all = __syncthreads_and(i < 64), any = __syncthreads_or(i == 99);
  const int sum = cg::reduce(tile, (int)i, cg::plus<int>());
  if (i == 9) {
    out[0] = count * 100 + all * 10 + any;
    out[2] = same;
    out[3] = even;
    out[4] = sum;
    out[5] = __byte_perm(0x33221100, 0x77665544, 0x7610);
    out[6] = __funnelshift_l(0x80000001, 1, 1);
    out[7] = tile.meta_group_rank() * 100 + tile.thread_rank();
    floats[0] = __bfloat162float(__float2bfloat16(1.00390625f));
    floats[1] = __bfloat162float(__float2bfloat16(1.01171875f) + __float2bfloat16(1.0f));
    floats[2] = __half2float(__high2half(__hfma2(half2(1, 2), half2(3, 4), __float2half2_rn(0.5f))));
    floats[3] = std::fabs(float4(-3).z) + std::pow(2.0f, 3);
  }
  for (unsigned round = 0; round < 3; ++round) {
    if (i == 0) sums[blockIdx.x + round * gridDim.x] = blockIdx.x + round;
    cg::this_grid().sync();
    if (i == 0 && blockIdx.x == 0) {
      unsigned all_groups = 0;
      for (unsigned group = 0; group < gridDim.x; ++group) all_groups += sums[group + round * gridDim.x];
      out[8 + round] = all_groups;
    }
  }
}
""")
        for wave in ("32", "64"):
            out = self.lockstep("run", "as_written.hip", "--groups", "6", "--block", "64", "out=buf:u32[11]", "floats=buf:f32[4]",
                                "sums=buf:u32[18]", "-p", "out", "-p", "floats", "--wave", wave)
            # 22 lanes of 64 are multiples of three, 11 of 32.
            coalesced = "1106" if wave == "32" else "2206"
            self.assertIn(f"510 {coalesced} {0x22222222} 85 92 2003177728 3 101 15 21 27", " ".join(out.stdout.split()))
            self.assertIn("1 2.015625 8.5 11", " ".join(out.stdout.split()))

    def test_opencl_groups_are_as_large_as_the_block(self):
        (self.path / "large.cl").write_text(
            "__kernel void a(__global uint* out) { __local uint last; if (get_local_id(0) == 1000) last = get_local_id(0);\n"
            "  barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = last; }\n")
        run = ("run", "large.cl", "--grid", "2048", "out=buf:u32[2048]", "-q")
        self.lockstep(*run, "--block", "1024", "-p", "out", says="1000 1000 1000")
        self.lockstep(*run, "--block", "64,16", "-p", "out", says="out: u32[2048]")
        self.lockstep(*run, "--block", "2048", status=BAD_INPUT, says="1024")

    def test_opencl_shuffles_and_media_functions(self):
        (self.path / "lanes.cl").write_text("""
__kernel void lanes(__global uint* out, __global double* d) {
  const uint i = get_sub_group_local_id();
  const uint up = sub_group_shuffle_up(i, 3), far = intel_sub_group_shuffle_down(i, i + 100, 2);
  const double x = sub_group_shuffle_xor((double)i + 0.5, 5);
  const uint last = sub_group_shuffle(i * 2, get_sub_group_size() - 1);
  if (i == 31) {
    out[0] = up; out[1] = far; out[2] = last;
    out[3] = amd_bitalign(1, 0x80000000, 31);
    out[4] = amd_bfe(0xabcdu, 4, 8);
    out[5] = amd_median3(7u, 3u, 5u);
    d[0] = x;
  }
}
""")
        for wave, far, last in (("32", 101, 62), ("64", 33, 126)):
            out = self.lockstep("run", "lanes.cl", "--grid", wave, "out=buf:u32[6]", "d=buf:f64[1]", "-p", "out", "-p", "d",
                                "--wave", wave)
            self.assertIn(f"28 {far} {last} 3 188 5", out.stdout)
            self.assertIn("26.5", out.stdout)

    def test_cpp_for_opencl_and_llvm_ir(self):
        (self.path / "square.clcpp").write_text(
            "template <class T> T square(T x) { return x * x; }\n"
            "__kernel void k(__global float* x) { x[get_global_id(0)] = square(x[get_global_id(0)]); }\n")
        run = ("--grid", "4", "x=buf:f32[4]=iota", "-p", "x")
        self.lockstep("run", "square.clcpp", *run, says="0 1 4 9")
        (self.path / "add.ll").write_text("""
declare i64 @_Z13get_global_idj(i32)
define amdgpu_kernel void @add(ptr addrspace(1) %x, float %by) {
  %i = call i64 @_Z13get_global_idj(i32 0)
  %at = getelementptr float, ptr addrspace(1) %x, i64 %i
  %old = load float, ptr addrspace(1) %at
  %new = fadd float %old, %by
  store float %new, ptr addrspace(1) %at
  ret void
}
""")
        for_ir = ("--grid", "4", "buf:f32[4]=iota", "f32:10", "-p", "0")
        out = self.lockstep("run", "add.ll", *for_ir, says="10 11 12 13")
        self.assertNotIn("warning", out.stderr)  # of a target that the text does not name
        (self.path / "bad.ll").write_text("define amdgpu_kernel void @add( {\n")
        self.lockstep("run", "bad.ll", "--grid", "4", status=BAD_INPUT, says="bad.ll:2:1: error")

    def test_deterministic(self):
        # Who comes first is the order of the groups where one thread runs them, and anybody's where more do.
        (self.path / "order.cl").write_text(
            "__kernel void order(__global uint* next, __global uint* turn) {\n"
            "  if (get_local_id(0) == 0) turn[get_group_id(0)] = atomic_inc(next);\n}\n")
        for more in ([], ["--wave", "64"], ["--engine", "translator"], ["--threads", "1"]):
            one_order = more if "--threads" in more else [*more, "--deterministic"]
            self.lockstep("run", "order.cl", "--grid", "32768", "--block", "8", *one_order, "next=buf:u32[1]=0",
                          "turn=buf:u32[4096]", "--out", "turn=turn.raw")
            turns = struct.unpack("<4096I", (self.path / "turn.raw").read_bytes())
            self.assertEqual(turns, tuple(range(4096)), more)

    def test_spirv(self):
        folder = pathlib.Path(__file__).resolve().parent / "spirv"
        # The version that the translator writes; another one has other instructions.
        subprocess.run(["spirv-as", "--target-env", "spv1.2", folder / "kernel.spvasm", "-o", self.path / "kernel.spv"],
                       check=True)
        module = (self.path / "kernel.spv").read_bytes()
        (self.path / "module").write_bytes(module)  # its contents tell what it is
        arguments = ("x=buf:f32[256]=iota", "tmp=local:64", "c=buf:i32[4]=2", "p=hex:0000c03f03000000", "v=f32:1,2,3,4")

        def run(source, *more):
            out = self.lockstep("run", source, *more, "--kernel", "k", "--grid", "64", "--block", "16", *arguments,
                                "--out", "x=x.raw", "-q")
            return out.stdout, (self.path / "x.raw").read_bytes()

        wanted = run(folder / "kernel.cl")
        self.assertTrue(wanted[0].startswith("3 "), wanted)  # what it prints
        for source in ("kernel.spv", "module"):
            self.assertEqual(run(source), wanted)
        for more in (["-O", "0"], ["-O", "3", "--wave", "64"]):
            self.assertEqual(run("kernel.spv", *more), run(folder / "kernel.cl", *more), more)
        # Damaged modules end their reader, which asserts what it finds.
        for damaged in (module[:1000], module[:600] + bytes(40) + module[640:], module[:12]):
            (self.path / "damaged.spv").write_bytes(damaged)
            out = self.lockstep("info", "damaged.spv", status=BAD_INPUT)
            self.assertTrue(out.stderr.startswith("error: damaged.spv: damaged, or SPIR-V that "), out.stderr)
            self.assertEqual(out.stderr.count("\n"), 1, out.stderr)
        out = self.lockstep("info", "kernel.spv", status=BAD_INPUT, env=dict(os.environ, LOCKSTEP_LLVM_SPIRV="/absent"))
        self.assertIn("/absent", out.stderr)

    def test_no_buffer(self):
        (self.path / "none.cl").write_text("__kernel void k(__global int* x, __global int* y) { *x = y ? *y : 9; }")
        for given, wanted in (("null", 9), ("null:", 9), ("buf:i32[1]=4", 4)):
            self.lockstep("run", "none.cl", "-g", "1", "buf:i32[1]", f"y={given}", "-p", "x", says=f"x: i32[1]\n{wanted}\n")

        self.lockstep("run", "none.cl", "-g", "1", "null", "y=null", status=FAULTED, says=["none.cl:1", "at 0x0: a null pointer"])

    def test_halves_of_registers(self):
        # Newer compilers keep two 16-bit numbers in a register; clang 19 does if it is told to.
        (self.path / "halves.cl").write_text("""
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void h(__global half* x, __global short* s, __global ushort* u) {
  const int i = get_global_id(0);
  const half a = x[i], b = x[i + 64];
  half r = a * b + sqrt(fabs(a)) - floor(b);
  if (a < b) r = -r;
  const short p = s[i], q = s[i + 64];
  short t = (p + q) * 3 ^ (p >> 2);
  t = max(t, q) - min(p, (short)5);
  const ushort v = u[i + 64], w = (u[i] << 3) | (v >> 5);
  x[i] = r + (half)t;
  s[i] = t + convert_short_sat(r);
  u[i] = w + (ushort)(a > (half)1 ? v : w);
}
""")
        true16 = ("--flag", "-Xclang", "--flag", "-target-feature", "--flag", "-Xclang", "--flag", "+real-true16")
        self.lockstep("disasm", "halves.cl", *true16, says=[".l", ".h"])
        outputs = []
        for more in ((), true16, (*true16, "--engine", "translator"), (*true16, "--wave", "64")):
            self.lockstep("run", "halves.cl", "--grid", "64", "x=buf:u16[128]=random:1", "s=buf:i16[128]=random:2",
                          "u=buf:u16[128]=random:3", "--out", "x=x.raw", "--out", "s=s.raw", "--out", "u=u.raw", *more)
            outputs.append([(self.path / f"{name}.raw").read_bytes() for name in "xsu"])
        for other in outputs[1:]:
            self.assertEqual(other, outputs[0])

    def test_the_newest_clang_is_taken(self):
        folder = self.path / "newer"
        folder.mkdir()
        # Stands for a version that is not out yet. It says its number where it is asked, and in its diagnostics.
        clang = folder / "clang-39"
        clang.write_text('#!/bin/sh\ncase "$*" in -dumpversion) echo 39.0.0; exit;; esac\n'
                         'echo "warning: this is 39" >&2\nexec clang-19 "$@"\n')
        clang.chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", LOCKSTEP_CACHE_MEGABYTES="0")
        run = ("run", "saxpy.cl", "--grid", "64", *self.GOOD)
        self.assertNotIn("this is 39", self.lockstep(*run, env=environment).stderr)  # it has no linker
        (folder / "ld.lld-39").symlink_to("/usr/bin/ld.lld-19")
        self.assertIn("this is 39", self.lockstep(*run, env=environment).stderr)
        # The guards against wrong code are for 19.
        doctor = subprocess.run([LOCKSTEP, "doctor"], capture_output=True, text=True, env=environment).stdout
        self.assertIn(f"{clang}, 39.0.0, without guards", doctor)
        self.assertNotIn("this is 39", self.lockstep(*run, env=dict(environment, LOCKSTEP_CLANG="clang-19")).stderr)

    def test_several_sources(self):
        (self.path / "first.cl").write_text(
            "float twice(float x);\n__kernel void first(__global float* x) { *x = twice(*x); printf(\"one\\n\"); }\n")
        (self.path / "second.cl").write_text(
            "float twice(float x) { return x + x; }\n"
            "__kernel void second(__global float* x) { *x = twice(*x) + 1; printf(\"two\\n\"); }\n")
        (self.path / "both.toml").write_text("""code = ["first.cl", "second.cl"]
[buffers]
x = "f32[1]=3"
[[step]]
kernel = "first"
grid = 1
args = ["same:x"]
[[step]]
kernel = "second"
grid = 1
args = ["same:x"]
[[step]]
print = "x"
""")
        self.lockstep("run", "both.toml", says="one\ntwo\nx: f32[1]\n13\n")
        self.lockstep("run", "first.cl", "second.cl", "-k", "first", "-g", "1", "buf:f32[1]=3", "-p", "0",
                      says="one\nx: f32[1]\n6\n")
        self.lockstep("run", "saxpy.co", "second.cl", *self.GOOD, status=BAD_INPUT, says="saxpy.co: is no source file")
        # A number that looks a little like the name of a file.
        self.saxpy("-g", "64", "1.e5", *self.GOOD[1:], status=BAD_INPUT, says="'1.e5' is not a number of type u32")
        self.lockstep("run", "first.cl", "twice.hip", status=BAD_INPUT, says="files of one program are of the same language")

    def test_a_level_of_the_host_that_there_is_not(self):
        environment = dict(os.environ, LOCKSTEP_HOST_LEVEL="x86-64-v9")
        (self.path / "level.cl").write_text("__kernel void k(__global int* x) { *x = 1; }")
        self.lockstep("run", "level.cl", "--grid", "1", "buf:i32[1]", env=environment, status=BAD_INPUT,
                      says="error: LOCKSTEP_HOST_LEVEL is 'x86-64-v9': say x86-64-v3 (AVX2) or x86-64-v4 (AVX-512), or unset it")

    def test_doctor(self):
        out = self.lockstep("doctor").stdout
        for line in (r"ok +clang ", r"ok +device libraries ", r"ok +compiling HIP +works", r"ok +compiling assembly +works"):
            self.assertRegex(out, line)
        broken = dict(os.environ, LOCKSTEP_CLANG="/nonexistent/clang", LOCKSTEP_CACHE_MEGABYTES="0")
        out = self.lockstep("doctor", env=broken, status=FAULTED).stdout
        self.assertRegex(out, r"MISSING +clang +/nonexistent/clang")
        self.assertRegex(out, r"MISSING +compiling OpenCL C .*clang-19")
        self.assertRegex(out, r"ok +compiling assembly +works")

    def test_options_take_one_value(self):
        for option in (("--flag", "-DUNUSED=7"), ("-p", "y"), ("--out", "y=o.npy"), ("--watch", "y,4"), ("-DUNUSED",),
                       ("-D", "UNUSED"), ("-cl-mad-enable",), ("-include", "empty.h"), ("-I", "."), ("-Wno-unused",)):
            (self.path / "empty.h").write_text("")
            self.saxpy_source("--grid", "64", *option, *self.GOOD)
        self.saxpy_source("--grid", "64", "-p", "3", "-O", "1", *self.GOOD, says="y: f32[64]")
        self.lockstep("isa", "--encoding", "vop1", "rcp", "sqrt", says="v_sqrt_f32")

    def test_flags_of_the_compiler(self):
        (self.path / "flags.cl").write_text("__kernel void k(__global int* x) { *x = VALUE; }")
        (self.path / "value.h").write_text("#define VALUE 5")
        for flags in (("-DVALUE=5",), ("-D", "VALUE=5"), ("-include", "value.h"), ("-DVALUE=6", "-UVALUE", "-DVALUE=5")):
            self.lockstep("run", "flags.cl", *flags, "--grid", "1", "buf:i32[1]", "-p", "x", says="i32[1]\n5\n")
        self.lockstep("info", "flags.cl", "-DVALUE=5", says="kernel k")
        self.lockstep("disasm", "flags.cl", "-DVALUE=5", says="global_store_b32")
        self.lockstep("info", "flags.cl", status=BAD_INPUT, says="VALUE")

    def test_vectors_structures_and_shared_buffers(self):
        (self.path / "s.cl").write_text(
            "typedef struct { int a; float b[2]; float4 c; __global float* p; } S;\n"
            "__kernel void k(__global float* x, float4 v, S s, float3 w, __global float* same) {\n"
            "  x[0] = v.x + v.y * 10 + v.z * 100 + v.w * 1000 + w.z;\n"
            "  x[1] = s.a + s.b[1] * 10 + s.c.w * 100 + s.p[1] * 1000;\n"
            "  same[2] = x[0]; }")
        struct_s = "struct:i32:1; f32:0,2; f32x4:1,2,3,4; p=buf:f32[2]=5,6"
        run = ("run", "s.cl", "--grid", "1")
        self.lockstep(*run, "buf:f32[3]", "1,2,3,4", struct_s, "f32:1,2,5", "same:x", "-p", "x", "-p", "same", "-p", "s.p",
                      says=["4326 6421 4326", "same: f32[3]", "s.p: f32[2]\n5 6"])
        for bad, why in (("1,2", "takes 16 bytes"), ("1", "one number for a vector"), ("i32:1,2,3,4", "does not take i32"),
                         ("f32x4:1,2", "has 4 numbers"), ("f32x99:1", "has 99 numbers")):
            self.lockstep(*run, "buf:f32[3]", bad, struct_s, "f32:1,2,5", "same:x", status=BAD_INPUT, says=["'v'", why])
        for bad, why in (("struct:i32:1", "takes 48 bytes"), ("struct:", "no fields"), ("struct:x", "field 'x'"),
                         ("struct:pad:1T", "number of bytes"), ("struct:same:q; i32:1", "no buffer 'q'")):
            self.lockstep(*run, "buf:f32[3]", "1,2,3,4", bad, "f32:1,2,5", "same:x", status=BAD_INPUT, says=["'s'", why])
        self.lockstep(*run, "buf:f32[3]", "1,2,3,4", struct_s, "f32:1,2,5", "same:y", status=BAD_INPUT, says="no buffer 'y'")

    def test_variables_of_the_code_object(self):
        (self.path / "var.hip").write_text(
            "#include <hip/hip_runtime.h>\n__constant__ float c[4]; __device__ int counter; __device__ float* pointer;\n"
            'extern "C" __global__ void k(float* x) {\n'
            "  x[threadIdx.x] = c[threadIdx.x] + pointer[threadIdx.x]; atomicAdd(&counter, 1); }")
        subprocess.run([KCC, "var.hip", "-o", "var.co", "--", "-fhip-kernel-arg-name"], check=True, cwd=self.path)
        run = ("run", "var.co", "--grid", "4", "--block", "4", "x=buf:f32[4]")
        for c in ("f32:1,2,3,4", "f32[4]=1,2,3,4", "hex:0000803f000000400000404000008040"):
            self.lockstep(*run, "--set", "c=" + c, "--set", "counter=i32:5", "--set", "pointer=buf:f32[4]=100", "-p", "x",
                          "-p", "counter", says=["101 102 103 104", "counter: i32[1]\n9"])
        for bad, why in (("d=f32:1", "no symbol 'd'"), ("c=f32:1", "has 16 bytes, not 4"), ("c", "NAME=VALUE"),
                         ("c=f32[5]=1", "20 bytes are too many"), ("counter=file:absent.raw", "no such file")):
            self.lockstep(*run, "--set", bad, status=BAD_INPUT, says=why)

    def test_sizes_with_units(self):
        self.saxpy("--grid", "1k", "1k=", status=BAD_INPUT)
        # The number of elements, as it is written elsewhere.
        self.saxpy("--grid", "2k", "2k", "2", "buf:f32[2k]", "buf:f32[2k]=3", "-p", "y", "--print-limit", "0", says="y: f32[2048]")
        (self.path / "units.cl").write_text("__kernel void k(__global long* x, long a, int b, uchar c) { x[0] = a; x[1] = b; x[2] = c; }")
        units = ("run", "units.cl", "-g", "1", "buf:i64[3]")
        self.lockstep(*units, "3G", "-2M", "u8:7", "-p", "x", says=f"{3 << 30} {-2 << 20} 7")
        for bad, why in ((("99999999999999G", "1", "1"), "does not fit i64"), (("1", "2G", "1"), "does not fit i32"),
                         (("1", "1", "1k"), "does not fit u8"), (("k", "1", "1"), "not a number"), (("0x1k", "1", "1"), "not a number")):
            self.lockstep(*units, *bad, status=BAD_INPUT, says=why)
        out = self.saxpy("--grid", "2k", "--lds", "1k", "2048", "2", "buf:f32[2k]", "buf:f32[2K]=3", "-p", "y")
        self.assertIn("y: f32[2048]", out.stdout)
        self.saxpy("--grid", "4G", *self.GOOD, status=BAD_INPUT, says="too large, the limit of a dimension is 4294967295")
        self.saxpy("--grid", "99999999999999T", *self.GOOD, status=BAD_INPUT, says="one to three numbers")

    def test_without_a_command(self):
        out = self.lockstep(says=["Subcommands:", "run", "Examples:", "LOCKSTEP_CLANG"])
        self.assertEqual(out.stdout, self.lockstep("--help").stdout)

    def test_messages_have_one_prefix(self):
        (self.path / "wrong.cl").write_text("foo")
        environment = dict(os.environ, LOCKSTEP_CLANG="/absent/clang")
        for env in (None, environment):
            result = subprocess.run([LOCKSTEP, "info", "wrong.cl"], capture_output=True, text=True, cwd=self.path, env=env)
            self.assertEqual(result.returncode, BAD_INPUT)
            self.assertNotIn("error: error", result.stderr)
            self.assertTrue(result.stderr.startswith(("wrong.cl:1:1: error: ", "error: cannot run /absent/clang")), result.stderr)
            self.assertFalse(result.stderr.endswith("\n\n"))

    def test_what_was_compiled_is_kept(self):
        folder = self.path / "cache"
        store = folder / "lockstep" / "compiled"
        source = '#include "kept.h"\n__kernel void k(__global int* x) { int unused; *x = V + W; }'
        (self.path / "kept.cl").write_text(source)
        (self.path / "kept.h").write_text("#define V 3\n")
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder))
        folder.mkdir(mode=0o700)

        def lockstep(*arguments, **more):
            return subprocess.run([LOCKSTEP, *arguments], capture_output=True, text=True, cwd=self.path,
                                  env=dict(environment, **more))

        held = []  # an open file's inode number is nobody else's
        self.addCleanup(lambda: [file.close() for file in held])

        def entries():
            names = list(store.iterdir()) if store.exists() else []
            held.extend(open(e, "rb") for e in names)
            status = {e.name: e.stat() for e in names}
            return {n: s.st_ino for n, s in status.items()}, {n: s.st_mtime_ns for n, s in status.items()}

        # MADE: an entry is new; FOUND: one was used; PASSED: the cache had no part in it.
        MADE, FOUND, PASSED = "made", "found", "passed"

        def compiled(wanted, *flags, how, **more):
            time.sleep(0.05)  # what was written is older than the compiler's start
            files, times = entries()
            out = lockstep("run", "kept.cl", "--grid", "1", "buf:i32[1]", "-p", "x", "-Wall", *flags, **more)
            self.assertIn(f"i32[1]\n{wanted}\n", out.stdout, out.stderr)
            self.assertIn("unused variable", out.stderr)
            new_files, new_times = entries()
            became = MADE if new_files != files else FOUND if new_times != times else PASSED
            self.assertEqual(became, how, flags)

        compiled(4, "-DW=1", how=MADE)
        compiled(4, "-DW=1", how=FOUND)
        compiled(5, "-DW=2", how=MADE)
        compiled(5, "-DW=2", "-O", "1", how=MADE)
        compiled(5, "-DW=2", "--wave", "64", how=MADE)
        self.assertIn(" 4 entries", lockstep("cache").stdout)
        (self.path / "kept.h").write_text("#define V 4\n")
        compiled(5, "-DW=1", how=MADE)
        compiled(5, "-DW=1", how=FOUND)
        # A file that is found before the one that was read; one that was only asked for.
        (self.path / "kept.cl").write_text('#include <kept.h>\n#if __has_include("more.h")\n#include "more.h"\n#endif\n'
                                           "__kernel void k(__global int* x) { int unused; *x = V + W; }")
        (self.path / "before").mkdir()
        folders = ("-DW=1", "-I", "before", "-I", ".")
        compiled(5, *folders, how=MADE)
        compiled(5, *folders, how=FOUND)
        (self.path / "before" / "kept.h").write_text("#define V 6\n")
        compiled(7, *folders, how=MADE)
        (self.path / "more.h").write_text("#undef V\n#define V 7\n")
        compiled(8, *folders, how=MADE)
        compiled(8, *folders, how=FOUND)
        # Nothing of clang's runs for what is found.
        clang = self.path / "compiler"
        clang.write_text('#!/bin/sh\ntest -e broken && exit 1\nexec clang-19 "$@"\n')
        clang.chmod(0o755)
        compiled(8, *folders, how=MADE, LOCKSTEP_CLANG=str(clang))
        (self.path / "broken").touch()
        compiled(8, *folders, how=FOUND, LOCKSTEP_CLANG=str(clang))
        (self.path / "broken").unlink()
        (self.path / "kept.cl").write_text(source)
        compiled(5, "-DW=1", how=FOUND)
        # The time is other on each run, and other files are not looked through.
        compiled(5, "-DW=(__TIME__[0] - __TIME__[0] + 1)", how=PASSED)
        compiled(5, "-DW=1", "--flag", "-Xclang", "--flag", "-fno-builtin", how=PASSED)
        compiled(5, "-DW=1", "--flag", "-Xclang", "--flag", "-fno-builtin", how=PASSED)
        compiled(5, "-DW=1", how=PASSED, LOCKSTEP_CACHE_MEGABYTES="0")
        out = lockstep("cache", LOCKSTEP_CACHE_MEGABYTES="many")
        self.assertEqual(out.returncode, BAD_INPUT)
        self.assertIn("LOCKSTEP_CACHE_MEGABYTES is a number", out.stderr)
        # Damaged entries are noticed, and made again.
        for damage in (lambda b: b[:len(b) // 2], lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b""):
            for entry in store.iterdir():
                entry.write_bytes(damage(entry.read_bytes()))
            compiled(5, "-DW=1", how=MADE)
            compiled(5, "-DW=1", how=FOUND)
        # Nothing is read where others can write.
        os.chmod(store, 0o777)
        compiled(5, "-DW=1", how=PASSED)
        self.assertIn("could be written by others", lockstep("cache").stdout)
        os.chmod(store, 0o700)
        # A megabyte holds some of them; the oldest go.
        for i in range(3):
            (store / f"{i}.entry").write_bytes(bytes(600_000))
            os.utime(store / f"{i}.entry", (i, i))
        compiled(9, "-DW=5", how=MADE, LOCKSTEP_CACHE_MEGABYTES="1")
        self.assertLess(sum(e.stat().st_size for e in store.iterdir()), 1 << 20)
        compiled(9, "-DW=5", how=FOUND)
        self.assertIn(" 0 entries", lockstep("cache", "--clear").stdout)
        self.assertEqual(list(store.iterdir()), [])

    def test_what_was_translated_is_kept(self):
        folder = self.path / "translations"
        store = folder / "lockstep" / "translated"
        folder.mkdir(mode=0o700)
        (self.path / "kept.cl").write_text("__kernel void k(__global int* x) { *x += 2; }")
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder))

        def run(**more):
            out = subprocess.run([LOCKSTEP, "run", "kept.cl", "--engine", "translator", "--grid", "1", "buf:i32[1]=3", "-p", "x"],
                                 capture_output=True, text=True, cwd=self.path, env=dict(environment, **more))
            self.assertIn("i32[1]\n5\n", out.stdout, out.stderr)
            return {e.name: (e.stat().st_ino, e.read_bytes()) for e in store.iterdir()} if store.exists() else {}

        self.assertEqual(run(LOCKSTEP_CACHE_MEGABYTES="0"), {})
        first = run()
        self.assertEqual(len(first), 1)
        self.assertEqual(run(), first)  # the same file
        (name, (_, contents)), = first.items()
        with open(store / name, "rb"):  # its inode number is nobody else's meanwhile
            (store / name).write_bytes(contents[:-1] + b"?")
            self.assertEqual([text for _, text in run().values()], [contents])
        shown = subprocess.run([LOCKSTEP, "cache"], capture_output=True, text=True, env=environment).stdout
        self.assertIn(f"{store}\n  1 entries, {len(contents)} bytes of at most 512 MiB", shown)
        subprocess.run([LOCKSTEP, "cache", "--clear"], capture_output=True, env=environment, check=True)
        self.assertEqual(list(store.iterdir()), [])

    def test_jobs(self):
        out = self.lockstep("run", str((SOURCES / "examples") / "job" / "heat.toml"), "-q")
        self.assertTrue(out.stdout.startswith("now: f32[32x32]\n100 100 100"), out.stdout)
        (self.path / "steps.toml").write_text("""
code = "two.cl"
flags = ["-DUNUSED=1"]
[buffers]
a = "u32[4x8]"
b = "u32[32]"
[[step]]
kernel = "ids"
grid = [8, "4"]
block = "4,4"
args = ["out=same:a"]
[[step]]
copy = "a"
to = "b"
[[step]]
save = "b"
to = "b.npy"
[[step]]
fill = "b"
value = "7"
[[step]]
repeat = 2
step = [ { print = "b", limit = 2 } ]
[[step]]
load = "b"
from = "b.npy"
[[step]]
compare = "a"
with = "b.npy"
""")
        for command in ("info", "disasm"):
            self.lockstep(command, "steps.toml", status=BAD_INPUT, says="steps.toml: is a job, which lockstep run takes")
        out = self.lockstep("run", "steps.toml", "-q")
        self.assertEqual(out.stdout, "b: u32[32]\n7 7\n... 30 more (--print-limit 0 prints all)\n" * 2)

    def test_pipes(self):
        (self.path / "pipes.cl").write_text("""
__kernel void writer(__global const int* x, write_only pipe int p) { int v = x[get_global_id(0)]; write_pipe(p, &v); }
__kernel void reader(read_only pipe int p, __global int* x) {
  int v;
  x[get_global_id(0)] = read_pipe(p, &v) == 0 ? v : -(int)get_pipe_max_packets(p);
}
""")
        (self.path / "pipes.toml").write_text("""code = "pipes.cl"
buffers = { p = "pipe:i32[3]", x = "i32[4]=7", y = "i32[4]" }
[[step]]
kernel = "writer"
grid = 4
args = ["same:x", "same:p"]
[[step]]
kernel = "reader"
grid = 4
args = ["same:p", "same:y"]
[[step]]
print = "y"
""")
        # The last finds no room, and its reader no packet.
        self.lockstep("run", "pipes.toml", says="y: i32[4]\n7 7 7 -3\n")
        self.lockstep("run", "pipes.cl", "-k", "writer", "-g", "4", "buf:i32[4]", "buf:i32[4]", status=BAD_INPUT,
                      says="is a pipe: give the type and number of its packets, such as pipe:i32[64]")

    def test_jobs_that_are_wrong(self):
        head = 'code = "saxpy.co"\n[buffers]\nx = "f32[64]=1"\ny = "f32[64]"\n[[step]]\n'
        good = 'kernel = ""\ngrid = 64\nargs = [64, 0.5, "same:x", "same:y"]\n'
        nan = '[[step]]\ncompare = "y"\nwith = "f32[64]={}"\n'
        for text, status, why in (
                (good + nan.format("0.5"), DONE, ""), (good + nan.format("0.6") + "tolerance = 0.11", DONE, ""),
                (good + nan.format("0.6") + "relative = 0.2", DONE, ""),
                (good + nan.format("0.6") + "relative = 0.1", FAULTED, "step 2: 64 of 64 elements of 'y' differ"),
                (good.replace("64]", "64]") + '[[step]]\ncompare = "y"\nwith = "u32[64]"', BAD_INPUT, "step 2: 'y' is f32"),
                ("kernel = 'nope'\ngrid = 1", BAD_INPUT, "step 1: saxpy.co: has no kernel 'nope'"),
                ("kernel = ''\ngrid = 1\nfoo = 1", BAD_INPUT, "step 1: it has the unknown key 'foo'"),
                ("kernel = ''\nargs = [64, 0.5, 'same:x', 'same:y']", BAD_INPUT, "step 1: no size is given"),
                ("kernel = ''\ngrid = 64\nargs = [64, 0.5, 'same:z', 'same:y']", BAD_INPUT, "no buffer 'z'"),
                ("kernel = ''\ngrid = 1024\nargs = [1024, 0.5, 'same:x', 'same:y']", FAULTED, "memory violation"),
                ("nothing = 1", BAD_INPUT, "step 1: has none of kernel"), ("copy = 'x'", BAD_INPUT, "has no 'to'"),
                ("fill = 'x'\nvalue = 'many'", BAD_INPUT, "'many' is not a number"),
                ("load = 'x'\nfrom = 'f32[2]'", BAD_INPUT, "'x' has 256 bytes, not 8"),
                ("repeat = -1\nstep = []", BAD_INPUT, "'repeat' is not a whole number"),
                ("repeat = 1\nstep = [ { save = 'q', to = 'f' } ]", BAD_INPUT, "step 1.1: there is no buffer 'q'"),
                ("kernel = [", BAD_INPUT, "job.toml:")):
            (self.path / "job.toml").write_text(head + text)
            self.lockstep("run", "job.toml", "-q", status=status, says=why)
        for text, why in (('code = "absent.cl"', "absent.cl"), ("engine = 1", "'engine' is not a text"), ("step = []", "no 'code'"),
                          ('code = "saxpy.cl"', "no 'step'"), ('engine = "fast"', "interpreter or translator")):
            (self.path / "job.toml").write_text(text)
            self.lockstep("run", "job.toml", status=BAD_INPUT, says=why)
        self.lockstep("run", "job.toml", "--grid", "1", status=BAD_INPUT, says="a job says")

    def test_roundings_and_packed_atomics_of_hip(self):
        (self.path / "rounding.hip").write_text("""#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
template <class Down, class Zero, class Up> __device__ unsigned long long differences(Down down, Zero zero, Up up) {
  return (unsigned long long)(zero - down) << 32 | (unsigned)(up - zero);
}
#define DIFFERENCES(name, x) differences(name##_rd(x), name##_rz(x), name##_ru(x))
__global__ void k(unsigned long long* out, int i, unsigned u, long long l, unsigned long long v, double d, __half2* h, __hip_bfloat162* b) {
  out[0] = DIFFERENCES(__int2float, i);
  out[1] = DIFFERENCES(__uint2float, u);
  out[2] = DIFFERENCES(__ll2float, l) >> 8;
  out[3] = __ull2float_ru(v) == 18446744073709551616.0f && __ull2float_rd(v) == 18446742974197923840.0f;
  out[4] = (unsigned long long)(__ll2double_ru(l) - __ll2double_rd(l));
  out[5] = (__double2float_rd(d) < d) + 2 * (__double2float_ru(d) > d) + 4 * (__double2float_rz(d) == __double2float_ru(d));
  out[6] = __int2float_rd(12345) == 12345 && __int2float_ru(-12345) == -12345;
  unsafeAtomicAdd(h, __half2(1, 2));
  unsafeAtomicAdd(b, __hip_bfloat162{2.0f, 3.0f});
}
""")
        # -0x1000001 lies between -0x1000002 and -0x1000000, and so on.
        out = self.lockstep("run", "rounding.hip", "--block", "32", "--grid", "32", "out=buf:u64[7]", "i=-16777217", "u=16777217",
                            "l=9007199254740993", "v=18446744073709551615", "d=-0.1", "h=buf:f16[2]", "b=buf:u16[2]", "-p", "out", "-p", "h", "-p", "b")
        numbers = [int(n) for n in out.stdout.split("out: u64[7]\n")[1].split("h:")[0].split()]
        self.assertEqual(numbers[:2], [2 << 32, 2])
        self.assertEqual(numbers[2:4], [(1 << 30) >> 8, 1])
        self.assertEqual(numbers[4:], [2, 7, 1])
        self.assertIn("h: f16[2]\n32 64", out.stdout)
        self.assertIn(f"b: u16[2]\n{0x4280} {0x42c0}", out.stdout)

    def test_types_of_hip_come_from_the_kernels_name(self):
        (self.path / "types.hip").write_text(
            "struct P { float a; int n; };\n"
            "__constant__ float table[4];\n"
            "template <class T> __global__ void scale(T* out, const T* in, P p, T factor, float4 v) {\n"
            "  int i = threadIdx.x;\n"
            "  if (i < p.n) out[i] = in[i] * factor + p.a + v.w + table[i & 3];\n"
            "}\n"
            "template __global__ void scale<float>(float*, const float*, P, float, float4);\n"
            "__global__ void other(unsigned n) {}\n"
            'extern "C" __global__ void plain(int n) {}\n')
        info = self.lockstep("info", "types.hip").stdout
        self.assertEqual(info.count("language   HIP"), 3, info)
        for words in ("out float* ", "in float* ", "p P ", "factor float ", "v float4 ", "n unsigned int "):
            self.assertIn(words, " ".join(info.split()))
        self.lockstep("run", "types.hip", status=BAD_INPUT, says=["--kernel", "(scale<float>(float*, float const*, P, float, ", "plain"])
        run = ("run", "types.hip", "-k", "scale", "--groups", "1", "--block", "4", "out=buf:f32[4]", "in=buf:f32[4]=iota")
        good = ("p=struct:f32:1; i32:4", "factor=2", "v=1,2,3,4")
        self.assertIn("5 7 9 11", self.lockstep(*run, *good, "-p", "out").stdout)
        self.assertIn("6 9 9 11", self.lockstep(*run, *good, "-p", "out", "--set", "table=f32:1,2,0,0").stdout)
        for index, wrong, why in ((0, "p=struct:f32:1", "takes 8 bytes, but the fields make 4"), (0, "p=struct:1; 4", "each says its type"),
                                  (1, "factor=i32:2", "is a float"), (2, "v=1,2,3", "16 bytes, not 12")):
            given = [*good]
            given[index] = wrong
            self.lockstep(*run, *given, status=BAD_INPUT, says=why)
        # The kernel is called as in the source, and of arguments that are too few the missing one is told, not the next.
        out = self.lockstep(*run, *good, says="void scale<float>(float*, float const*, P, float, ")
        self.assertNotIn("_Z", out.stderr)
        out = self.lockstep(*run[:-2], "out=buf:f32[2]", "in=buf:f32[4]=iota", *good, status=FAULTED, says="in kernel 'void scale<float>(float*")
        self.assertNotIn("_Z", out.stderr)
        self.lockstep("run", "types.hip", "-k", "scale", "-g", "1", "buf:f32[4]", "buf:f32[4]", "2", "1,2,3,4", status=BAD_INPUT,
                      says=["takes 5 arguments, not 4", "'v' (float4) is missing"])
        self.lockstep(*run, *good, "--set", "table=1,2,3,4", status=BAD_INPUT, says="f32:1,2,3,4 or i32:1,2,3,4")
        self.lockstep(*run, *good, "--set", "tabel=f32:1,2,3,4", status=BAD_INPUT, says="its variables are table")

    def test_missing_file(self):
        self.lockstep("run", "absent.co", "--grid", "1", status=BAD_INPUT, says=["absent.co", "no such file"])
        self.lockstep("run", "absent.cl", "--grid", "1", status=BAD_INPUT, says=["absent.cl", "no such file"])
        self.lockstep("info", "absent.co", status=BAD_INPUT, says="no such file")
        self.lockstep("run", ".", "--grid", "1", status=BAD_INPUT, says="directory")
        self.saxpy("--grid", "64", "u32:64", "f32:2", "buf:absent.npy", "buf:f32[64]", status=BAD_INPUT,
                   says=["'x'", "absent.npy", "no such file"])

    def test_argument_count_and_types(self):
        self.saxpy("--grid", "64", "u32:64", status=BAD_INPUT, says=["takes 4 arguments, not 1", "'a'"])
        self.saxpy("--grid", "64", *self.GOOD, "u32:1", status=BAD_INPUT, says="one too many")
        self.saxpy("--grid", "64", "f32:64", *self.GOOD[1:], status=BAD_INPUT, says=["'n'", "integer"])
        self.saxpy("--grid", "64", "u32:64", "f64:2", *self.GOOD[2:], status=BAD_INPUT, says=["'a'", "4 bytes"])
        self.saxpy("--grid", "64", "u32:64", "f32:2", "u32:1", "u32:1", status=BAD_INPUT, says="takes a buffer")
        self.saxpy("--grid", "64", "buf:f32[4]", *self.GOOD[1:], status=BAD_INPUT, says="does not take a buffer")
        self.saxpy("--grid", "64", "m=1", *self.GOOD, status=BAD_INPUT, says=["'m'", "n, a, x, y"])
        self.saxpy("--grid", "64", "n=1", "n=2", *self.GOOD[1:], status=BAD_INPUT, says="given twice")
        for bad, why in (("u32:x", "is not a number"), ("u32:-1", "does not fit"), ("u32:4294967296", "does not fit"),
                         ("q7:1", "unknown kind"), ("u32:", "missing"), ("x", "is not a number")):
            self.saxpy("--grid", "64", bad, *self.GOOD[1:], status=BAD_INPUT, says=["'n'", why])
        self.saxpy("--grid", "64", *self.GOOD[:3], "buf:f64[64]", says="'y' (float*) of kernel 'saxpy' is given elements of f64")
        for bad, why in (("buf:f32[0]", "none of it 0"), ("buf:float[64]", "called f32 here: f32[64]"), ("buf:f32", "how many?"),
                         ("pipe:i32[4]", "is no pipe"), ("buf:", "names no contents"), ("buf:f32[4", "not closed"), ("buf:f32[9999999999999]", "larger"),
                         ("buf:f32[4]=z", "not a number"), ("buf:f32[4]z", "=VALUE"), ("5", "'5' is no buffer: it takes one"),
                         ("f32[64]=1", "is no buffer: say buf:f32[64]=1"), ("y.npy", "say buf:y.npy"),
                         ("struct:f32:1; i32:2", "is a pointer: it takes a buffer")):
            self.saxpy("--grid", "64", *self.GOOD[:3], bad, status=BAD_INPUT, says=["'y'", why])

    def test_local_memory_is_given_as_such(self):
        (self.path / "local.cl").write_text("__kernel void k(__local int* x, __global int* y) { *x = 3; barrier(1); *y = *x; }")
        self.lockstep("run", "local.cl", "-g", "1", "4", "buf:i32[1]", status=BAD_INPUT, says=["'x'", "local:4k"])
        self.lockstep("run", "local.cl", "-g", "1", "local:4", "buf:i32[1]", "-p", "y", says="i32[1]\n3")

    def test_shapes(self):
        for option in ("--grid", "--groups"):
            self.saxpy(option, "0", *self.GOOD, status=BAD_INPUT, says=[option + " 0", "at least 1"])
            self.saxpy(option, "1,0", *self.GOOD, status=BAD_INPUT, says="at least 1")
            self.saxpy(option, "a", *self.GOOD, status=BAD_INPUT, says="one to three numbers")
            self.saxpy(option, "1,1,1,1", *self.GOOD, status=BAD_INPUT, says="more than three")
        self.saxpy(*self.GOOD, status=BAD_INPUT, says="--grid")
        self.saxpy("--grid", "1", "--groups", "1", *self.GOOD, status=BAD_INPUT, says="both")
        self.saxpy("--grid", "64", "--block", "0", *self.GOOD, status=BAD_INPUT, says="at least 1")
        self.saxpy("--grid", "64", "--block", "2048", *self.GOOD, status=BAD_INPUT, says="1024")
        self.saxpy("--grid", "64", "--lds", "70000", *self.GOOD, status=BAD_INPUT, says="65536")
        self.saxpy("--grid", "64", "--print-limit", "all", *self.GOOD, status=BAD_INPUT,
                   says="error: --print-limit takes a whole number, not 'all'\n")

    def test_kernel_choice(self):
        self.lockstep("run", "two.cl", "--grid", "1", status=BAD_INPUT, says=["--kernel", "ids", "spin"])
        self.lockstep("run", "two.cl", "-k", "nope", "--grid", "1", status=BAD_INPUT, says=["'nope'", "ids", "spin"])
        self.lockstep("info", "two.cl", "-k", "nope", status=BAD_INPUT, says="'nope'")
        self.lockstep("disasm", "two.cl", "-k", "nope", status=BAD_INPUT, says="'nope'")

    def test_corrupted_objects(self):
        good = self.code_object()
        for name, data, why in (("cut.co", good[:len(good) // 2], "cut.co"), ("empty.co", b"", "is empty"),
                                ("text.co", b"hello", "if it is source, its name says"), ("head.co", good[:30], "cut off"),
                                ("x86.co", good[:18] + b"\x3e\x00" + good[20:], ".hip_fatbin")):
            (self.path / name).write_bytes(data)
            for command in (["info"], ["disasm"], ["run", "--grid", "1"]):
                self.lockstep(*command, name, status=BAD_INPUT, says=["error: ", name, why])

    def code_object(self, directives=""):
        target = self.path / "object.co"
        (self.path / "object.s").write_text(
            '.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"\n.text\n.p2align 8\n.type k,@function\nk: s_endpgm\n'
            ".rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n" + directives +
            ".end_amdhsa_kernel\n")
        subprocess.run(["clang-19", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "object.s", "-o", "object.co"],
                       check=True, cwd=self.path)
        return target.read_bytes()

    def test_code_object_runs(self):
        self.code_object()
        self.lockstep("run", "object.co", "--grid", "32", says="1 waves")
        self.lockstep("run", "object.co", "--grid", "32", "--device", "navi33", status=BAD_INPUT, says=["gfx1102", "gfx1100"])
        self.lockstep("run", "object.co", "--grid", "32", "--wave", "64", status=BAD_INPUT, says="wave32")

    def test_source_that_does_not_compile(self):
        (self.path / "bad.cl").write_text("__kernel void f( {")
        (self.path / "bad.s").write_text("v_nonsense v0\n")
        self.lockstep("run", "bad.cl", "--grid", "1", status=BAD_INPUT, says="bad.cl:1")
        self.lockstep("run", "bad.s", "--grid", "1", status=BAD_INPUT, says="bad.s:1")

    def test_advice_for_sources(self):
        for name, text, why in (
                ("library.hip", "#include <thrust/sort.h>\n", "note: thrust is a library of ROCm: install it, and name that ROCm in ROCM_PATH"),
                ("cuda.cu", "#include <cuda_runtime.h>\n", "note: this is CUDA"), ("hip.cl", HIP, "note: this is HIP"),
                ("cl.hip", SAXPY, "note: this is OpenCL C"), ("half.cl", "__kernel void k(__global half* x) { *x *= 2; }", "cl_khr_fp16 : enable")):
            (self.path / name).write_text(text.replace("#include <hip/hip_runtime.h>\n", ""))
            self.lockstep("info", name, status=BAD_INPUT, says=why)
        (self.path / "own.hip").write_text('#include "own/thrust.h"\n')
        self.assertNotIn("note:", self.lockstep("info", "own.hip", status=BAD_INPUT).stderr)

    def test_fault_report(self):
        self.saxpy_source("--debug", "--grid", "1024", "--block", "256", "1024", "2", "buf:f32[1000]", "buf:f32[1024]",
                   "--out", "y=never.npy", status=FAULTED,
                   says=["memory violation in kernel 'saxpy'", "work-group (3, 0, 0), wave 7, lane 8", "PC 0x",
                         "global_load_b32", "saxpy.cl:3", "'x'"])
        self.assertFalse((self.path / "never.npy").exists())
        self.lockstep("run", "two.cl", "-k", "spin", "--grid", "32", "--instruction-limit", "1000", "buf:u32[1]",
                      status=FAULTED, says="instruction limit")

    def test_fault_in_inlined_functions(self):
        (self.path / "inlined.cl").write_text(
            "float deeper(global float* a, uint i) {\n  return a[i * 1000000];\n}\n"
            "float middle(global float* a, uint i) {\n  return 2 * deeper(a, i + 1);\n}\n"
            "kernel void outer(global float* a) {\n  a[0] = middle(a, get_global_id(0));\n}\n")
        said = self.lockstep("run", "inlined.cl", "--grid", "1", "buf:f32[64]", status=FAULTED).stderr
        at = [said.find(text) for text in ("inlined.cl:2\n    | return a[i * 1000000];", "inlined into middle at ",
                                           "inlined.cl:5\n    | return 2 * deeper(a, i + 1);", "inlined into outer at ",
                                           "inlined.cl:8\n    | a[0] = middle(a, get_global_id(0));")]
        self.assertEqual(at, sorted(at), said)
        self.assertGreater(at[0], 0, said)

    def test_outputs_are_checked_before_the_run(self):
        self.saxpy("--grid", "64", *self.GOOD, "--out", "z=f.npy", status=BAD_INPUT, says=["'z'", "x, y"])
        self.saxpy("--grid", "64", *self.GOOD, "--out", "y", status=BAD_INPUT, says="ARGUMENT=FILE")
        self.saxpy("--grid", "64", *self.GOOD, "--print", "n", status=BAD_INPUT, says="'n'")
        self.saxpy("--grid", "64", *self.GOOD, "--out", "y=absent/f.npy", status=BAD_INPUT, says="cannot be written")
        self.saxpy("--grid", "64", *self.GOOD, "--out", "y=f.png", status=BAD_INPUT, says="is no picture")
        for name in ("f.jpg", "f.csv", "f.npz"):
            out = self.saxpy("--grid", "64", *self.GOOD, "--out", f"y={name}", status=BAD_INPUT, says=["files are not written", ".npy"])
            self.assertNotIn("wave-instructions", out.stderr)  # it did not run

    def test_damaged_npy(self):
        def npy(text, data=b"", version=1):
            text = text.encode() if isinstance(text, str) else text
            length = struct.pack("<H", len(text)) if version == 1 else struct.pack("<I", len(text))
            return b"\x93NUMPY" + bytes([version, 0]) + length + text + data

        good = "{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }"
        for contents, why in (
                (b"", "is not a .npy file"), (b"\x93NUMPY", "cut off"), (b"\x93NUMPY\x01\x00\x05", "cut off"),
                (b"\x93NUMPY\x09\x00" + bytes(8), "version 9"), (npy(good)[:30], "claims"), (npy(good), "promises 64 elements"),
                (npy(""), "'{' is missing"), (npy(good[:-1]), "in quotes is missing"),
                (npy(good[:-3]), "ends within a value"),
                (npy(good + "x"), "goes on behind"), (npy("{'descr': '"), "without an end"),
                (npy("{'descr' '<f4'}"), "':' is missing"), (npy(good.replace("64,", "-64,")), "whole numbers"),
                (npy(good.replace("64,", "99999999999999999999,")), "do not fit 64 bits"),
                (npy(good.replace("64,", "4294967296, 4294967296")), "too large"),
                (npy(good.replace("(64,)", "(64,")), "is damaged"), (npy(good.replace("(64,)", "(64 64)")), "whole numbers"),
                (npy(good.replace("(64,)", "64")), "'(' is missing"), (npy(good.replace("False", "Maybe")), "neither True nor False"),
                (npy(good.replace("'shape'", "'size'")), "has no 'shape'"), (npy(good.replace("'descr'", "'shape'")), "twice"),
                (npy(good.replace("<f4", "<c8")), "type <c8"), (npy(good.replace("<f4", ">f4")), "type >f4"),
                (npy(good.replace("<f4", "f4")), "type f4"), (npy(good.replace("<f4", "xf4")), "type xf4"),
                (npy(good.replace("'<f4'", "[('a', '<f4')]")), "structured"), (npy(good.replace("64,", "0,")), "has no data"),
                (npy("{'descr': '<f4', 'fortran_order': True, 'shape': (8, 8)}", bytes(256)), "Fortran order")):
            (self.path / "bad.npy").write_bytes(contents)
            self.saxpy("--grid", "64", *self.GOOD[:2], "buf:bad.npy", self.GOOD[3], status=BAD_INPUT, says=["bad.npy", why])
        for contents in (npy(good, bytes(256)), npy(good, bytes(300)), npy(good, bytes(256), 2), npy(good, bytes(256), 3),
                         npy('{"shape":(8,8),"fortran_order":False,"descr":"=f4","more":[1,{"a":"}"}]}\n', bytes(256)),
                         npy(good.replace("False", "True"), bytes(256))):
            (self.path / "fine.npy").write_bytes(contents)
            self.saxpy("--grid", "64", *self.GOOD[:2], "buf:fine.npy", self.GOOD[3])

    def test_numbers_out_of_range(self):
        for bad, why in (("f32:1e39", "does not fit f32"), ("f32:-1e400", "does not fit f32"), ("f32:1e", "is not a number"),
                         ("f32:", "missing"), ("f32:0x", "is not a number")):
            self.saxpy("--grid", "64", "u32:64", bad, *self.GOOD[2:], status=BAD_INPUT, says=["'a'", why])
        for good in ("f32:inf", "f32:-INFINITY", "f32:nan", "f32:3.4e38", "f32:0x1p3", "f32:1e-400"):
            self.saxpy("--grid", "64", "u32:64", good, *self.GOOD[2:])
        for bad, why in (("buf:f16[4]=70000", "does not fit f16"), ("buf:f16[65537]=iota", "iota"), ("buf:f32[4]=", "missing"),
                         ("buf:i8[4]=128", "does not fit i8"), ("buf:u64[4]=18446744073709551616", "does not fit u64"),
                         ("buf:u8[18446744073709551616]", "the size in brackets"), ("buf:f64[4294967296x4294967296]", "is larger than")):
            self.saxpy("--grid", "64", *self.GOOD[:3], bad, status=BAD_INPUT, says=["'y'", why])
        for option in ("--grid", "--groups", "--block"):
            self.saxpy("--grid", "64", option, "4294967296", *self.GOOD, status=BAD_INPUT, says=option)
        for option, value in (("--lds", "4294967296"), ("--threads", "-1"), ("--instruction-limit", "1e3"), ("--print-limit", "x"),
                              ("--wave-limit", "99999999999")):
            self.saxpy("--grid", "64", *self.GOOD, option, value, status=BAD_INPUT, says=option)
        for bad, why in (("hex:", "has no digits"), ("hex:1", "half a byte"), ("hex:zz", "not hexadecimal"), ("hex:0011", "takes 4 bytes"),
                         ("local:4", "does not take local memory"), ("local:x", "not a number of bytes")):
            self.saxpy("--grid", "64", bad, *self.GOOD[1:], status=BAD_INPUT, says=["'n'", why])
            if bad != "hex:0011":  # of the assembly nobody knows what it takes
                self.lockstep("run", "args.s", "--grid", "32", bad, "u32:100", status=BAD_INPUT, says="argument 0")
        (self.path / "odd.raw").write_bytes(bytes(255))
        self.saxpy("--grid", "64", *self.GOOD[:3], "buf:f32:odd.raw", status=BAD_INPUT, says=["255 bytes", "no whole number of f32"])
        self.saxpy("--grid", "64", *self.GOOD[:3], "buf:/dev/zero", status=BAD_INPUT, says="neither a file nor a pipe")
        self.lockstep("info", "/dev/zero", status=BAD_INPUT, says="neither a file nor a pipe")

    def test_names_are_shown_not_obeyed(self):
        for arguments in (["info", "a\x1b[2Jb"], ["run", "a\x1b]0;t\x07.co", "--grid", "1"], ["isa", "--coverage", "\x1b[m"],
                          ["run", "saxpy.cl", "--grid", "64", "\x1b[31m=5", *self.GOOD[1:]], ["run", "saxpy.cl", "--grid", "\x1b[31m"]):
            out = self.lockstep(*arguments, status=BAD_INPUT, says="\\x1b[")if "]0;" not in arguments[1] else \
                self.lockstep(*arguments, status=BAD_INPUT, says="\\x1b]0;t\\x07")
            self.assertNotIn("\x1b", out.stdout + out.stderr)

    def test_no_memory(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        process = self.start("--version", stdout=subprocess.DEVNULL, preexec_fn=limit)
        process.communicate(timeout=60)
        if process.returncode != 0:
            self.skipTest("a sanitizer needs more address space")
        with open(self.path / "sparse.raw", "wb") as file:
            file.truncate(8 << 30)
        for buffer, why in (("buf:f32[2147483648]", "bytes of memory"), ("buf:sparse.raw", "out of memory")):
            err = self.end(self.start("run", "saxpy.cl", "--grid", "64", "-j", "1", *self.GOOD[:3], buffer, preexec_fn=limit),
                           BAD_INPUT)
            self.assertIn(why, err)
        self.assertIn("out of memory", self.end(self.start("info", "sparse.raw", preexec_fn=limit), BAD_INPUT))
        self.saxpy("--grid", "64", *self.GOOD[:3], "buf:f32[16777216x1024]=1", status=BAD_INPUT, says="the host has")

    def test_usage(self):
        self.lockstep("fly", status=BAD_INPUT, says="'fly' is no command (there are run, check")
        self.lockstep("saxpy.cl", status=BAD_INPUT, says="to run it: lockstep run saxpy.cl")
        self.lockstep("info", "saxpy.cl", "--optimise", "1", status=BAD_INPUT, says="info has no option --optimise (is --optimize meant?)")
        self.lockstep("run", "saxpy.cl", "--global", "1", status=BAD_INPUT, says="run has no option --global (is --grid meant?)")
        self.lockstep("run", status=BAD_INPUT, says="INPUT")
        self.saxpy_source("--grid", "1", "--wave", "48", status=BAD_INPUT, says="--wave")
        self.saxpy("--grid", "1", "--engine", "steam", status=BAD_INPUT, says="--engine")
        self.saxpy("--grid", "1", "--device", "voodoo2", status=BAD_INPUT, says=["voodoo2", "navi31"])
        self.assertIn("lockstep run", self.lockstep("--help").stdout)
        for command in ("run", "info", "disasm", "devices"):
            self.assertIn("Examples:", self.lockstep(command, "--help").stdout)
        self.lockstep("--version", says="lockstep ")

    def test_info_and_devices(self):
        self.lockstep("info", "saxpy.cl", says=["kernel saxpy", "VGPRs", "LDS", "scratch", "occupancy", "float*", "factor"[:1]])
        self.lockstep("info", "saxpy.cl", "--wave", "64", says="64 lanes")
        self.lockstep("devices", says=["navi31", "gfx1100", "Radeon RX 7900 XTX", "6 x 2 x 4", "MALL"])

    def test_disasm(self):
        out = self.lockstep("disasm", "saxpy.cl", says=["saxpy:", "s_endpgm", "saxpy.cl:3", "y[i] = a * x[i] + y[i]"])
        self.assertNotIn("invalid", out.stdout)
        self.assertNotIn("saxpy.cl:3", self.lockstep("disasm", "saxpy.cl", "--no-source").stdout)
        self.lockstep("disasm", status=BAD_INPUT, says="FILE")

    def test_hex(self):
        lines = "0x01,0x05,0x0a,0x06\n# comment\n\n0x00,0x00\n0xff,0xff,0xff,0xff\n0x01 0x05 0x0a 0x06 # two\n01050a06\n"
        out = self.lockstep("disasm", "--hex", stdin=lines, status=BAD_INPUT, says="line 7")
        self.assertEqual(out.stdout.splitlines(), ["v_add_f32_e32 v5, v1, v2", "invalid", "invalid",
                                                   "v_add_f32_e32 v5, v1, v2", "invalid"])
        self.assertEqual(self.lockstep("disasm", "--hex", stdin="0x6a,0x00,0x00,0x7d\n", says="").stdout.count("\n"), 1)
        wave32 = self.lockstep("disasm", "--hex", stdin="0x01,0x05,0x22,0x7c\n").stdout
        wave64 = self.lockstep("disasm", "--hex", "--wave", "64", stdin="0x01,0x05,0x22,0x7c\n").stdout
        self.assertIn("vcc_lo", wave32)
        self.assertIn("vcc,", wave64)
        self.assertEqual(self.lockstep("disasm", "--hex", stdin="").stdout, "")

    def test_isa(self):
        out = self.lockstep("isa", "v_rcp_f64", says="within 0.5 ulp").stdout
        self.assertEqual(out.count("v_rcp_f64"), 2)  # VOP1 and VOP3
        found = json.loads(self.lockstep("isa", "--json", "-e", "vop1", "-f", "open,bounded").stdout)["rows"]
        self.assertIn("v_sin_f32", [row["mnemonic"] for row in found])
        self.assertNotIn("v_rcp_f32", [row["mnemonic"] for row in found])
        self.assertEqual({row["encoding"] for row in found}, {"VOP1"})
        self.assertTrue(all(row["note"] for row in found))
        self.assertEqual(self.lockstep("isa", "--missing").stdout, "")
        self.lockstep("isa", "-e", "vop9", status=BAD_INPUT, says=("vop9", "VOP3P"))
        self.lockstep("isa", "nothing_like_this", status=BAD_INPUT, says="no instruction matches")
        self.lockstep("isa", "--json", "--missing", status=BAD_INPUT)

    def test_coverage(self):
        record = self.path / "saxpy.txt"
        environment = dict(os.environ, LOCKSTEP_COVERAGE=str(record))
        subprocess.run([LOCKSTEP, "run", "saxpy.cl", "--grid", "64", *self.GOOD], cwd=self.path, env=environment,
                       check=True, capture_output=True)
        self.assertIn("SOPP 48 s_endpgm\n", record.read_text())
        self.lockstep("isa", "s_endpgm", "--coverage", "saxpy.txt", says="tested by saxpy")
        out = self.lockstep("isa", "s_endpgm", "--coverage", "saxpy.txt", "--untested", status=FAULTED).stdout
        self.assertIn("s_endpgm_saved", out)
        self.assertNotIn("s_endpgm\n", out)
        self.lockstep("isa", "--untested", status=BAD_INPUT, says="--coverage")
        self.lockstep("isa", "--coverage", "none.txt", status=BAD_INPUT, says="none.txt")
        (self.path / "wrong.txt").write_text("nonsense\n")
        self.lockstep("isa", "--coverage", "wrong.txt", status=BAD_INPUT, says="line 1")

    def test_fidelity(self):
        (self.path / "sine.cl").write_text(
            "__kernel void sine(__global float* x, __global uint* out) {\n"
            "  float s = native_sin(x[get_global_id(0)]);\n"
            "  if (s > 0.5f) out[(uint)(s * 10.f)] = 1;\n}\n")
        sine = ("run", "sine.cl", "--grid", "64", "buf:f32[64]=iota", "buf:u32[16]", "--debug", "--fidelity")
        for engine in ("interpreter", "translator"):
            self.lockstep(*sine, "--engine", engine,
                          says=("not exact", "v_sin_f32: open", "sine.cl:2", "reached an address", "reached a branch"))
        out = self.lockstep("run", "two.cl", "-k", "ids", "--grid", "8,8", "buf:u32[64]", "--fidelity").stdout
        self.assertEqual(out, "fidelity: every executed instruction is exact\n")

    def test_check(self):
        (self.path / "behind.cl").write_text(
            "int element(__global int* x, size_t i) { return x[i]; }\n"
            "__kernel void behind(__global int* x, __global int* out) {\n"
            "  size_t i = get_global_id(0);\n"
            "  out[i] = element(x, i);\n}\n")
        behind = ("run", "behind.cl", "--grid", "32", "--block", "32", "--debug", "--check", "memory")
        self.assertIn("check: nothing was found", self.lockstep(*behind, "buf:i32[32]", "buf:i32[32]").stdout)
        # The last two work-items read what fills up the last 16 bytes of the buffer.
        out = self.lockstep(*behind, "buf:i32[30]", "buf:i32[32]", status=FAULTED,
                            says=("memory: global_load_b32 reads bytes behind the end of a buffer", "behind.cl:1\n    1 | int",
                                  "inlined into behind  at ", "behind.cl:4\n    4 | out[i] = element(x, i);",
                                  "lanes 30,31", "0 bytes behind the end of buffer 'x' of 120 bytes")).stdout
        self.assertEqual(out.count("memory:"), 1)
        self.lockstep(*behind, "--rules", "warn", "--fidelity", "buf:i32[30]", "buf:i32[32]", status=FAULTED,
                      says=("memory: ", "every executed instruction is exact", "rules: none was broken"))
        self.lockstep("run", "behind.cl", "--grid", "32", "buf:i32[32]", "buf:i32[32]", "--check", "magic",
                      status=BAD_INPUT, says="there is no checker 'magic'")

    def test_check_of_races(self):
        (self.path / "race.cl").write_text(
            "float mirrored(__local float* part, uint i) { return part[63 - i]; }\n"
            "__kernel void sum(__global const float* x, __global float* out) {\n"
            "  __local float part[64];\n"
            "  uint i = get_local_id(0);\n"
            "  part[i] = x[get_global_id(0)];\n"
            "  // there is no barrier\n"
            "  out[get_global_id(0)] = part[i] + mirrored(part, i);\n}\n")
        check = ("check", "race.cl", "--grid", "64", "--block", "64", "--wave", "32", "buf:f32[64]=iota", "buf:f32[64]")
        self.lockstep(*check, "--checkers", "races", status=FAULTED,
                      says=("races: ", "part[i] = x[get_global_id(0)];", "race.cl:7\n    7 | out", "put a barrier between them"))
        found = json.loads(self.lockstep(*check, "--format", "json", status=FAULTED).stdout)
        self.assertEqual((found["version"], found["kernel"]), (1, "sum"))
        race = next(f for f in found["findings"] if f["checker"] == "races")
        self.assertEqual((race["severity"], {race["where"]["line"], race["other"]["line"]}), ("error", {5, 1}))
        caller, = next(place["inlinedInto"] for place in (race["where"], race["other"]) if "inlinedInto" in place)
        self.assertEqual((caller["function"], caller["line"], caller["text"]),
                         ("sum", 7, "out[get_global_id(0)] = part[i] + mirrored(part, i);"))
        self.lockstep(*check, "--format", "sarif", "--report", "race.sarif", status=FAULTED)
        sarif = json.loads((self.path / "race.sarif").read_text())
        self.assertEqual(sarif["version"], "2.1.0")
        run = sarif["runs"][0]
        for result in run["results"]:
            self.assertEqual(run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"], result["ruleId"])
            location = result["locations"][0]["physicalLocation"]
            self.assertTrue(location["artifactLocation"]["uri"].endswith("race.cl"))
            self.assertGreater(location["region"]["startLine"], 0)
        (self.path / "known.txt").write_text("# known\nraces kernel=s* file=*race.cl text=another wave\nuninitialised\n")
        out = self.lockstep(*check, "--suppress", "known.txt").stdout
        self.assertIn("nothing was found, ", out)
        (self.path / "known.txt").write_text("races lines=3\n")
        self.lockstep(*check, "--suppress", "known.txt", status=BAD_INPUT, says="known.txt:1: unknown key 'lines'")

    def test_check_of_code(self):
        (self.path / "path.s").write_text(
            "s_load_b64 s[4:5], s[0:1], 0x0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 skip\ns_waitcnt lgkmcnt(0)\nskip:\n"
            "s_mov_b32 s6, s4\ns_delay_alu 8\ns_endpgm\n")
        check = ("check", "path.s", "--wave", "32", "--debug")
        out = self.lockstep(*check, status=FAULTED,
                            says=("waits: s_mov_b32 reads s4 before s_load_b64", "path.s:6", "and main + 0x0: s_load_b64",
                                  "legality: s_delay_alu with a reserved code", "nothing was run (1 kernel)")).stdout
        self.assertNotIn("time", out)  # no wave did it
        found = json.loads(self.lockstep(*check, "--checkers", "waits", "--format", "json", status=FAULTED).stdout)
        self.assertEqual([(f["checker"], f["count"], f["where"]["line"], f["other"]["line"]) for f in found["findings"]],
                         [("waits", 0, 6, 1)])
        (self.path / "code.txt").write_text("waits kernel=*\nlegality line=7\n")
        self.lockstep(*check, "--suppress", "code.txt", says="nothing was found, 2 suppressed")
        self.lockstep("check", "two.cl", says=("check: nothing was found", "2 kernels"))
        self.lockstep("check", "saxpy.co", "--kernel", "saxpy", says="kernel 'saxpy'")
        self.lockstep("check", "saxpy.co", "--kernel", "none", status=BAD_INPUT, says="none")
        self.lockstep(*check, "--checkers", "races", status=BAD_INPUT, says="checker 'races' needs a run of the kernel")
        for option in (("--results", "late"), ("--plugin", PLUGIN), ("--threads", "1")):
            self.lockstep("check", "saxpy.co", *option, status=BAD_INPUT,
                          says=(option[0], "nothing is run without a size"))

    def test_plugins(self):
        run = ("--grid", "64", "--block", "32", *self.GOOD)
        out = self.saxpy(*run, "--plugin", PLUGIN + ":mix,out=histogram.txt", "--format", "json", "-q").stdout
        found = {f["rule"]: f for f in json.loads(out)["findings"]}
        y = found["what the dispatch does to buffer 'y' of 256 bytes"]
        self.assertEqual((y["checker"], y["severity"], y["detail"], y["where"]["instruction"].split()[0]),
                         ("access-histogram", "note",
                          "64 reads, 64 writes, 0 atomics; 256 bytes read, 256 written", "global_load_b32"))
        rows = [line.split() for line in (self.path / "histogram.txt").read_text().splitlines()]
        self.assertIn(["64", "64", "0", "256", "256", "buffer", "'y'", "of", "256", "bytes"], rows)
        self.assertIn(["2", "global_store_b32"], rows)
        # Beside checkers, on the standard error, in the reports of all commands.
        sarif = json.loads(self.lockstep("check", "saxpy.co", *run, "--plugin", PLUGIN, "--format", "sarif",
                                         says="bytes written").stdout)["runs"][0]
        rules = [rule["id"] for rule in sarif["tool"]["driver"]["rules"]]
        self.assertEqual({rules[result["ruleIndex"]] for result in sarif["results"]}, {"access-histogram"})
        self.saxpy(*run, "--plugin", PLUGIN, "--fail-on", "note", status=FAULTED)
        for plugin, why in ((PLUGIN + ":mixed", "its arguments are 'mix' and 'out=FILE'"),
                            ("saxpy.cl", "it cannot be loaded"), ("none.so", "No such file"), ("", "names no file")):
            self.saxpy(*run, "--plugin", plugin, status=BAD_INPUT, says=("plug-in '", why))
        self.lockstep("exec", "--plugin", "none.so", "--", "true", status=BAD_INPUT, says="none.so")

    def test_rules(self):
        # Dependency code 8 is reserved (guide 5.7, table 19).
        (self.path / "hint.s").write_text("s_nop 0\ns_delay_alu 8\nv_mov_b32 v1, v0\ns_endpgm\n")
        hint = ("run", "hint.s", "--grid", "64", "--block", "64", "--wave", "32", "--debug")
        self.assertNotIn("rule", self.lockstep(*hint).stdout)
        out = self.lockstep(*hint, "--rules", "warn",
                            says=("reserved code", "kernel + 0x4: s_delay_alu", "hint.s:2",
                                  "2 times, first in work-group (0, 0, 0), wave 0")).stdout
        self.assertEqual(out.count("broken rule"), 1)
        self.lockstep(*hint, "--rules", "fault", status=FAULTED,
                      says=("broken rule in kernel", "hint.s:2", "reserved code"))
        self.lockstep(*hint, "--rules", "warn", "--engine", "translator", says="because of --rules warn")
        self.lockstep(*hint, "--rules", "warn", "--fidelity", says=("every executed instruction is exact", "reserved code"))
        self.lockstep(*hint, "--rules", "law", status=BAD_INPUT, says="--rules")
        self.saxpy("--grid", "64", *self.GOOD, "--rules", "fault", "-p", "y", says="1 3 5 7")
        self.saxpy("--grid", "64", *self.GOOD, "--rules", "warn", says="rules: none was broken")

    def test_exceptions_and_trap_handler(self):
        (self.path / "zero.s").write_text("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0\nv_mov_b32 v1, 0\n"
                                          "v_rcp_f32 v2, v1\ns_trap 7\ns_endpgm\n")
        (self.path / "handler.s").write_text("s_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\n"
                                             "s_rfe_b64 ttmp[0:1]\ns_endpgm\n")
        zero = ("run", "zero.s", "--grid", "64", "--block", "64", "--wave", "32", "--debug")
        self.lockstep(*zero, status=FAULTED, says="s_trap 7 without a trap handler")
        self.lockstep(*zero, "--trap-handler", "handler.s", "--exceptions",
                      says=("exception: divide by zero", "zero.s:3", "2 times, first in work-group (0, 0, 0), wave 0"))
        self.lockstep(*zero, "--trap-memory", "out", status=BAD_INPUT, says="--trap-handler")
        self.saxpy("--grid", "64", *self.GOOD, "--exceptions", says="exceptions: none occurred")

    def test_trap_options(self):
        # The handler stores TRAPSTS and TTMP1[31:16] of each trap to the log.
        (self.path / "note.s").write_text(
            "s_getreg_b32 ttmp6, hwreg(HW_REG_STATUS)\ns_getreg_b32 ttmp7, hwreg(HW_REG_TRAPSTS)\n"
            "s_sendmsg_rtn_b64 ttmp[4:5], sendmsg(MSG_RTN_GET_TMA)\ns_mov_b64 ttmp[8:9], exec\ns_mov_b64 exec, 1\n"
            "s_lshr_b32 ttmp10, ttmp1, 16\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v20, ttmp7\nv_mov_b32 v21, ttmp10\n"
            "global_store_b64 v22, v[20:21], ttmp[4:5]\nv_add_nc_u32 v22, 8, v22\ns_mov_b64 exec, ttmp[8:9]\n"
            "s_mov_b32 ttmp10, 0\ns_setreg_b32 hwreg(HW_REG_TRAPSTS), ttmp10\n"
            "s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp6\ns_rfe_b64 ttmp[0:1]\n")
        (self.path / "work.s").write_text(
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0\ns_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 0\n"
            "v_rcp_f32 v2, v1\nv_lshlrev_b32 v0, 2, v0\ns_waitcnt lgkmcnt(0)\nglobal_load_b32 v3, v0, s[4:5]\n"
            "global_store_b32 v0, v3, s[4:5] offset:128\ns_endpgm\n")
        plain = ("run", "work.s", "--grid", "32", "--block", "32", "--wave", "32", "x=buf:u32[64]", "log=buf:u32[64]",
                 "-p", "log")
        work = (*plain, "--trap-handler", "note.s", "--trap-memory", "log")

        def log(*options):
            words = self.lockstep(*work, *options).stdout.split("log: u32[64]\n")[1].split()
            pairs = list(zip(map(int, words[::2]), map(int, words[1::2])))
            # The division by zero stays in TRAPSTS until the handler clears it, whatever trapped.
            return [(status & ~4 or status, trap) for status, trap in pairs if status]

        self.assertEqual(log(), [])
        self.assertEqual(log("--trap-on", "start"), [(1 << 17, 0)])
        self.assertEqual(log("--trap-on", "end"), [(1 << 18, 0)])
        self.assertEqual(log("--trap-on", "instruction"), [(1 << 20, 0)] * 8)
        self.assertEqual(log("--trap-on", "start,end"), [(1 << 17, 0), (1 << 18, 0)])
        self.assertEqual(log("--trap-exceptions", "overflow,invalid"), [])
        self.assertEqual(log("--trap-exceptions", "overflow,divide-by-zero"), [(1 << 2, 0)])
        self.assertEqual(log("--host-trap", "3:9"), [(1 << 16, 0x109)])
        self.assertEqual(log("--host-trap", "3", "--save-context", "1"), [(1 << 10, 0), (1 << 16, 0x100)])
        self.assertEqual(log("--trap-exceptions", "address-watch", "--watch", "log", "--watch", "x+64,4:read"),
                         [(1 << 12, 0)])
        out = self.lockstep(*plain, "--watch", "log", "--watch", "x+128,4:write", "--watch", "x,128:write",
                            "--watch", "0x1000,16").stdout
        self.assertEqual(out.count("address watch"), 1)
        self.assertIn("exception: address watch 1", out)
        self.assertIn("global_store_b32", out)
        (self.path / "trap.s").write_text("s_trap 7\ns_endpgm\n")
        trap = ("run", "trap.s", "--grid", "32")
        self.lockstep(*trap, status=FAULTED, says="s_trap 7 without a trap handler")
        self.lockstep(*trap, "--skip-traps")
        for bad in (("--trap-on", "start"), ("--trap-exceptions", "inexact"), ("--host-trap", "1"), ("--save-context", "1")):
            self.lockstep(*plain, *bad, status=BAD_INPUT, says="--trap-handler")
        for bad in (("--trap-on", "noon"), ("--trap-exceptions", "sadness"), ("--save-context", "soon"),
                    ("--host-trap", "1:256"), ("--host-trap", "x"), ("--watch", "y"), ("--watch", "x+256"),
                    ("--watch", "x,257"), ("--watch", "x,0"), ("--watch", "x+a"), ("--watch", "x:execute"),
                    ("--watch", "0x1000"), ("--watch", "0xg,1"), ("--watch", "x") * 5):
            self.lockstep(*work, *bad, status=BAD_INPUT, says="" if bad[1] == "y" else bad[0])

    def test_late_results_and_caches(self):
        (self.path / "late.s").write_text(
            "s_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 7\nv_lshlrev_b32 v0, 2, v0\ns_waitcnt lgkmcnt(0)\n"
            "global_load_b32 v1, v0, s[4:5]\nglobal_store_b32 v0, v1, s[4:5] offset:128\ns_endpgm\n")
        late = ("run", "late.s", "--grid", "32", "--block", "32", "--wave", "32", "x=buf:u32[64]=iota", "-p", "x")
        self.lockstep(*late, says="0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n16")
        self.lockstep(*late, "--caches", "incoherent", says="0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n16")
        self.lockstep(*late, "--results", "late", says="7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7")
        self.lockstep(*late, "--results", "late", "--rules", "warn",
                      says=("global_store_b32 reads v1 before global_load_b32", "s_waitcnt vmcnt(0)"))
        seeds = [self.lockstep(*late, "--results", "random:3", "-j", "1").stdout.split("wave-instr")[0] for _ in "12"]
        self.assertEqual(*seeds)
        for bad in ("random:", "random:x", "random:-1", "soon"):
            self.lockstep(*late, "--results", bad, status=BAD_INPUT, says="none of now, late and random:SEED")
        self.lockstep(*late, "--caches", "cold", status=BAD_INPUT, says="--caches")
        self.lockstep(*late, "--results", "late", "--fidelity", says="every executed instruction is exact")
        self.saxpy("--grid", "64", *self.GOOD, "--results", "late", "--caches", "incoherent", "-p", "y", says="1 3 5 7")

    # What becomes of the program when its streams cannot be used: never anything but its exit codes.

    def start(self, *arguments, **options):
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([LOCKSTEP, *arguments], cwd=self.path, text=True, **options)

    def end(self, process, status):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, (out, err))
        return err

    TALKERS = (["--help"], ["--version"], ["run", "--help"], ["devices"], ["isa"], ["isa", "--json"], ["info", "saxpy.cl"],
               ["disasm", "saxpy.cl"], ["disasm", "--hex"], ["run", "saxpy.cl", "--grid", "64", *GOOD, "-p", "y"])

    def stdin_for(self, arguments):
        return "0x01,0x05,0x0a,0x06\n" if "--hex" in arguments else ""

    def test_full_standard_output(self):
        for arguments in self.TALKERS:
            with open("/dev/full", "w") as full:
                process = self.start(*arguments, stdin=subprocess.PIPE, stdout=full)
                _, err = process.communicate(self.stdin_for(arguments), timeout=120)
            self.assertEqual(process.returncode, BAD_INPUT, (arguments, err))
            self.assertIn("error: cannot write to the standard output: No space left on device", err)
        # A file that was asked for is written all the same.
        with open("/dev/full", "w") as full:
            self.end(self.start("run", "saxpy.co", "--grid", "64", *self.GOOD, "-p", "y", "-o", "y=full.raw", stdout=full),
                     BAD_INPUT)
        self.assertEqual((self.path / "full.raw").read_bytes(), struct.pack("<64f", *(2 * i + 1 for i in range(64))))

    def test_full_or_closed_standard_error(self):
        close = lambda: os.close(2)
        full = open("/dev/full", "w")
        self.addCleanup(full.close)
        for streams in ({"stderr": full}, {"stderr": None, "preexec_fn": close}):
            run = lambda *a: self.start(*a, stdout=subprocess.DEVNULL, **streams)
            self.end(run("run", "saxpy.co", "--grid", "64", *self.GOOD), DONE)
            self.end(run("run", "saxpy.cl", "--grid", "64", "u32:64", "f32:2", "buf:f32[1]", "buf:f32[64]"), FAULTED)
            self.end(run("run", "absent.co"), BAD_INPUT)
            self.end(run("run", "--nonsense"), BAD_INPUT)
            self.end(run("--help"), DONE)

    def test_closed_standard_output(self):
        for arguments in self.TALKERS:
            process = self.start(*arguments, stdin=subprocess.PIPE, preexec_fn=lambda: os.close(1))
            _, err = process.communicate(self.stdin_for(arguments), timeout=120)
            self.assertEqual(process.returncode, BAD_INPUT, (arguments, err))
            self.assertIn("cannot write to the standard output", err)
        # No file gets the number of a stream, and what is written to it: all three are closed.
        quiet = self.start("run", "saxpy.cl", "--grid", "64", *self.GOOD, "-p", "y", "-o", "y=closed.raw", stderr=None,
                           preexec_fn=lambda: os.closerange(0, 3))
        self.end(quiet, BAD_INPUT)
        self.assertEqual((self.path / "closed.raw").read_bytes(), struct.pack("<64f", *(2 * i + 1 for i in range(64))))
        self.end(self.start("run", "saxpy.cl", "--grid", "64", *self.GOOD, preexec_fn=lambda: os.close(1)), DONE)
        err = self.end(self.start("disasm", "--hex", preexec_fn=lambda: os.close(0)), BAD_INPUT)
        self.assertIn("the standard input: cannot be read", err)

    def test_reader_that_goes_away(self):
        for arguments in (["isa", "--json"], ["disasm", "saxpy.cl"], ["--help"]):
            read, write = os.pipe()
            os.close(read)
            process = self.start(*arguments, stdout=write)
            os.close(write)
            self.assertEqual(self.end(process, BAD_INPUT), "", arguments)

    # Outputs are written whole or not at all.

    def folder_with_old(self, name, contents=b"old"):
        folder = self.path / name
        folder.mkdir()
        (folder / "y.raw").write_bytes(contents)
        return folder

    def test_output_takes_the_place_of_the_old_file(self):
        folder = self.folder_with_old("replaced")
        (folder / "y.raw").chmod(0o640)
        (folder / "link.raw").symlink_to("y.raw")
        (folder / "dangling.raw").symlink_to("new.raw")
        for name in ("link.raw", "dangling.raw", "other.raw"):
            self.saxpy("--grid", "64", *self.GOOD, "-o", f"y={folder / name}")
        self.assertEqual(sorted(p.name for p in folder.iterdir()),
                         ["dangling.raw", "link.raw", "new.raw", "other.raw", "y.raw"])
        self.assertTrue((folder / "link.raw").is_symlink() and (folder / "dangling.raw").is_symlink())
        self.assertEqual((folder / "y.raw").stat().st_mode & 0o777, 0o640)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual((folder / "other.raw").stat().st_mode & 0o777, 0o666 & ~umask)
        for path in folder.iterdir():
            self.assertEqual(len(path.read_bytes()), 256)
        # What is no file has no place to take.
        self.saxpy("--grid", "64", *self.GOOD, "-o", "y=/dev/null")
        self.saxpy("--grid", "64", *self.GOOD, "-o", "y=/dev/full", status=BAD_INPUT, says="No space left")
        self.saxpy("--grid", "64", *self.GOOD, "-o", f"y={folder}", status=BAD_INPUT, says="Is a directory")

    def test_full_disk_leaves_the_old_file(self):
        folder = self.folder_with_old("full")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        self.code_object(".amdhsa_kernarg_size 8\n")
        for name, buffer in (("y.raw", "buf:f32[64]=1"), ("y.npy", "buf:f32[64]=1"), ("y.png", "buf:u8[64x64]=random")):
            (folder / name).write_bytes(b"old")
            process = self.start("run", "object.co", "--grid", "32", buffer, "-o", f"0={folder / name}",
                                 stdout=subprocess.PIPE, preexec_fn=limit)
            err = self.end(process, BAD_INPUT)
            self.assertIn(name + ":", err)
            self.assertEqual((folder / name).read_bytes(), b"old")
        self.assertEqual(sorted(p.name for p in folder.iterdir()), ["y.npy", "y.png", "y.raw"])

    # Ctrl-C, wherever the program is: each of these waits for ever.

    def interrupt(self, process, ready, number=signal.SIGINT):
        while not ready():
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(timeout=120)
        if process.stdin:
            process.stdin.close()
        with process.stderr:
            return process.stderr.read()

    def catches(self, process, number):
        for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) >> (number - 1) & 1
        return 0

    def waiting(self, process, number):
        """It sleeps in a system call, and has its handler by now. Whatever it waits for, a signal ends that."""
        def ready():
            state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            return state == "S" and self.catches(process, number)
        return ready

    def test_interrupt_of_input(self):
        os.mkfifo(self.path / "silent")
        os.mkfifo(self.path / "silent.npy")
        for arguments in (["info", "silent"], ["run", "silent", "--grid", "1"], ["disasm", "silent"],
                          ["run", "saxpy.cl", "--grid", "64", *self.GOOD[:3], "buf:silent.npy"],
                          ["run", "saxpy.cl", "--grid", "64", *self.GOOD, "-o", "y=silent"], ["disasm", "--hex"]):
            for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                process = self.start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                err = self.interrupt(process, self.waiting(process, number), number)
                self.assertEqual(process.returncode, code, (arguments, err))
                self.assertIn("interrupted", err)

    def test_interrupt_of_a_compilation(self):
        temporary = self.path / "temporary"
        temporary.mkdir()
        compiler = self.path / "slow-clang"
        compiler.write_text('#!/bin/sh\n[ "$1" = -dumpversion ] && exec echo 19.1.0\ntouch "$TMPDIR/running"\nexec sleep 1000\n')
        compiler.chmod(0o755)
        environment = dict(os.environ, LOCKSTEP_CLANG=str(compiler), TMPDIR=str(temporary))
        for arguments in (["info", "saxpy.cl"], ["run", "saxpy.cl", "--grid", "64", *self.GOOD], ["disasm", "two.cl"]):
            process = self.start(*arguments, stdout=subprocess.DEVNULL, env=environment)
            err = self.interrupt(process, lambda: list(temporary.glob("lockstep-*/running")))
            self.assertEqual(process.returncode, INTERRUPTED, err)
            self.assertIn("interrupted", err)
            self.assertEqual(list(temporary.iterdir()), [])

    def test_ignored_interrupts_stay_ignored(self):
        process = self.start("disasm", "--hex", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        while not self.catches(process, signal.SIGINT):
            time.sleep(0.05)
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate("0x01,0x05,0x0a,0x06\n", timeout=60)
        self.assertEqual((process.returncode, out), (DONE, "v_add_f32_e32 v5, v1, v2\n"), err)

    def test_sign_of_life_while_compiling(self):
        compiler = self.path / "leisurely-clang"
        compiler.write_text('#!/bin/sh\n[ "$1" = -dumpversion ] && exec echo 19.1.0\nsleep 2\nexec clang-19 "$@"\n')
        compiler.chmod(0o755)
        (self.path / "leisure.cl").write_text("__kernel void k() {}")
        run = [LOCKSTEP, "run", "leisure.cl", "--grid", "1"]
        environment = dict(os.environ, LOCKSTEP_CLANG=str(compiler), LOCKSTEP_CACHE_MEGABYTES="0")

        def said(*more):
            main, terminal = pty.openpty()
            process = subprocess.Popen([*run, *more], cwd=self.path, stderr=terminal, env=environment)
            os.close(terminal)
            text = ""
            try:
                while block := os.read(main, 1 << 16):
                    text += block.decode()
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
            os.close(main)
            self.assertEqual(process.wait(timeout=60), DONE, text)
            return text

        text = said()
        self.assertIn("\rcompiling leisure.cl, 0:00", text)
        self.assertIn("\rcompiling leisure.cl, 0:01", text)
        self.assertRegex(text, r"\r\x1b\[Kk: 1 work-groups")  # the line is gone before the next
        self.assertEqual(said("-q"), "")
        self.assertNotIn("compiling", self.lockstep(*run[1:], env=environment).stderr)  # no terminal

    def test_who_compiled(self):
        self.lockstep("info", "saxpy.co", says="\n  made by Debian clang version 19.")
        self.lockstep("info", "twice.hip", says="\n  made by Debian clang version 19.")
        self.assertNotIn("made by", self.lockstep("info", "args.s").stdout)  # an assembler says nothing
        # What another compiler writes of itself, and what a terminal would obey.
        for name, shown in (("AMD clang version 22.0.0", "AMD clang version 22.0.0"), ("x\x1b[2J", "x\\x1b[2J")):
            (self.path / "named.ll").write_text('define amdgpu_kernel void @k() {\n  ret void\n}\n!llvm.ident = !{!0}\n'
                                                '!0 = !{!"' + name.replace("\x1b", "\\1b") + '"}\n')
            self.lockstep("info", "named.ll", says=f"\n  made by {shown}\n")

    def test_interrupt(self):
        """On a terminal, whose progress line tells that the kernel runs."""
        main, terminal = pty.openpty()
        process = subprocess.Popen([LOCKSTEP, "run", "two.cl", "-k", "spin", "--grid", "64", "--block", "32", "buf:u32[1]",
                                    "-o", "0=never.raw"], cwd=self.path, stderr=terminal)
        os.close(terminal)
        text, running = "", False
        try:
            while block := os.read(main, 1 << 16):
                text += block.decode()
                if not running and "instructions/s" in text:
                    running = True
                    process.send_signal(signal.SIGINT)
        except OSError as error:
            self.assertEqual(error.errno, errno.EIO)  # nobody has the terminal any more
        os.close(main)
        self.assertEqual(process.wait(timeout=60), INTERRUPTED, text)
        self.assertTrue(running, text)
        self.assertIn("0/2 work-groups", text)
        self.assertIn("\r", text)
        self.assertIn("interrupted: 0 of 2 work-groups", text)
        self.assertFalse((self.path / "never.raw").exists())

    @unittest.skipIf(os.environ.get("LOCKSTEP_SANITIZED"), "a sanitizer's runtime would have to be in the program, too")
    def test_observers_of_exec_go_together(self):
        for option, value in (("--rules", "warn"), ("--results", "late"), ("--caches", "incoherent")):
            self.lockstep("exec", "--fidelity", option, value, "--", "true")

    def test_exec_refuses_what_it_cannot_do(self):
        program = ("--", "true")
        self.lockstep("exec", "--log", "nowhere/log", *program, status=BAD_INPUT, says="cannot write to 'nowhere/log'")
        self.lockstep("exec", "--log", "-", *program, status=BAD_INPUT, says="the log needs a file")
        self.lockstep("exec", "--stats", "nowhere/x", *program, status=BAD_INPUT, says="cannot write to 'nowhere/x'")
        for option, value in (("--rules", "warn"), ("--results", "late"), ("--caches", "incoherent")):
            self.lockstep("exec", option, "bad", *program, status=BAD_INPUT, says=option)
        self.lockstep("exec", "--trap-handler", "x.s", *program, status=BAD_INPUT, says="--trap-handler")
        self.lockstep("exec", "--device", "nothing", *program, status=BAD_INPUT, says="no device model 'nothing'")
        self.lockstep("exec", "--", "./nothing", status=BAD_INPUT, says="cannot start './nothing'")


if __name__ == "__main__":
    unittest.main()
