#!/usr/bin/env python3
"""The program `lockstep` as a user meets it: arguments, results, messages, exit codes.

Usage: cli_test.py LOCKSTEP LOCKSTEP-KCC PLUG-IN"""
import json
import os
import resource
import struct
import subprocess
import unittest
import zlib

from case import BAD_INPUT, DONE, FAULTED, LOCKSTEP, SOURCES
from kernel_case import KCC, KernelCase


class Cli(KernelCase):
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

    def test_no_buffer(self):
        (self.path / "none.cl").write_text("__kernel void k(__global int* x, __global int* y) { *x = y ? *y : 9; }")
        for given, wanted in (("null", 9), ("null:", 9), ("buf:i32[1]=4", 4)):
            self.lockstep("run", "none.cl", "-g", "1", "buf:i32[1]", f"y={given}", "-p", "x", says=f"x: i32[1]\n{wanted}\n")

        self.lockstep("run", "none.cl", "-g", "1", "null", "y=null", status=FAULTED, says=["none.cl:1", "at 0x0: a null pointer"])

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

    def test_code_object_runs(self):
        self.code_object()
        self.lockstep("run", "object.co", "--grid", "32", says="1 waves")
        self.lockstep("run", "object.co", "--grid", "32", "--device", "navi33", status=BAD_INPUT, says=["gfx1102", "gfx1100"])
        self.lockstep("run", "object.co", "--grid", "32", "--wave", "64", status=BAD_INPUT, says="wave32")

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

    def test_exec_refuses_what_it_cannot_do(self):
        program = ("--", "true")
        self.lockstep("exec", "--log", "nowhere/log", *program, status=BAD_INPUT, says="cannot write to 'nowhere/log'")
        self.lockstep("exec", "--log", "-", *program, status=BAD_INPUT, says="the log needs a file")
        self.lockstep("exec", "--stats", "nowhere/x", *program, status=BAD_INPUT, says="cannot write to 'nowhere/x'")
        for option, value in (("--rules", "warn"), ("--results", "late"), ("--caches", "incoherent"), ("--order", "backward")):
            self.lockstep("exec", option, "bad", *program, status=BAD_INPUT, says=option)
        self.lockstep("exec", "--trap-handler", "x.s", *program, status=BAD_INPUT, says="--trap-handler")
        self.lockstep("exec", "--device", "nothing", *program, status=BAD_INPUT, says="no device model 'nothing'")
        self.lockstep("exec", "--", "./nothing", status=BAD_INPUT, says="cannot start './nothing'")


if __name__ == "__main__":
    unittest.main()
