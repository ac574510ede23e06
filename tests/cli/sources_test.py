#!/usr/bin/env python3
"""Source as `lockstep` takes it: languages, compilers, flags, and what is kept of a compilation.

Usage: sources_test.py LOCKSTEP LOCKSTEP-KCC PLUG-IN"""
import errno
import os
import pathlib
import pty
import re
import subprocess
import time
import unittest

from case import BAD_INPUT, DONE, FAULTED, LOCKSTEP
from kernel_case import HIP, SAXPY, KernelCase


class Sources(KernelCase):
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

    def test_flags_of_the_compiler(self):
        (self.path / "flags.cl").write_text("__kernel void k(__global int* x) { *x = VALUE; }")
        (self.path / "value.h").write_text("#define VALUE 5")
        for flags in (("-DVALUE=5",), ("-D", "VALUE=5"), ("-include", "value.h"), ("-DVALUE=6", "-UVALUE", "-DVALUE=5")):
            self.lockstep("run", "flags.cl", *flags, "--grid", "1", "buf:i32[1]", "-p", "x", says="i32[1]\n5\n")
        self.lockstep("info", "flags.cl", "-DVALUE=5", says="kernel k")
        self.lockstep("disasm", "flags.cl", "-DVALUE=5", says="global_store_b32")
        self.lockstep("info", "flags.cl", status=BAD_INPUT, says="VALUE")

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

    def test_what_the_translator_did(self):
        (self.path / "left.s").write_text("""
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.p2align 8
left:
  s_getreg_b32 s4, hwreg(HW_REG_HW_ID1)
  s_barrier
  v_dot2_f32_bf16 v1, v0, v0, v0
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel left
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
""")
        arguments = ("run", "left.s", "--groups", "3", "--block", "64", "--stats")
        told = self.lockstep(*arguments, "-q", "--engine", "translator").stderr
        self.assertRegex(told, r"(?m)^translated: 50\.00 % of the wave-instructions, by \d+ bytes of host code for 2 instructions, ")
        for line in ("6 times step s_getreg_b32", "6 times call v_dot2_f32_bf16", "6 times barrier"):
            self.assertRegex(told, f"(?m)^ *{line}$")
        self.assertEqual(self.lockstep(*arguments, "-q", "--engine", "interpreter").stderr, "translated: nothing\n")
        (self.path / "twice.toml").write_text("""code = "left.s"
engine = "translator"
step = [{ kernel = "left", groups = 3, block = 64 }, { kernel = "left", groups = 1, block = 64 }]
""")
        told = self.lockstep("run", "twice.toml", "-q", "--stats").stderr
        self.assertEqual([int(times) for times in re.findall("([0-9]+) times barrier", told)], [6, 2])
        self.assertIn("of an earlier dispatch", told)

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


if __name__ == "__main__":
    unittest.main()
