#!/usr/bin/env python3
"""The package `lockstep` as its users meet it. PYTHONPATH names the folder that has it."""
import contextlib
import inspect
import io
import os
import pathlib
import pickle
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import unittest

try:
    import numpy as np
except ImportError:
    sys.exit(77)

import lockstep

SOURCE = """
typedef struct { int a; float b; } Pair;
__kernel void saxpy(uint n, float a, __global const float* x, __global float* y) {
  uint i = get_global_id(0);
  if (i < n) y[i] += a * x[i];
}
__kernel void values(__global float* out, float3 v, Pair p, __local float* scratch, long big, __global int* maybe) {
  scratch[0] = v.z; out[0] = scratch[0]; out[1] = p.a + p.b; out[2] = big == -5; out[3] = maybe == 0;
}
__kernel void spin(__global volatile int* flag) { while (*flag == 0); }
"""


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code = lockstep.compile(SOURCE, name="test.cl")
        cls.saxpy = cls.code["saxpy"]

    def arrays(self, count=1024):
        return np.arange(count, dtype=np.float32), np.ones(count, np.float32)

    def test_arrays_are_not_copied(self):
        x, y = self.arrays()
        statistics = self.saxpy[1024, 256](1024, 2.0, x, y)
        self.assertEqual((statistics.work_groups, statistics.waves), (4, 32))
        np.testing.assert_array_equal(y, 2 * x + 1)
        # A gigabyte of which a kernel touches a little: a copy would be there.
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        huge = np.zeros(1 << 28, np.float32)
        self.saxpy[64](64, 1.0, x, huge)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 200 << 10)
        np.testing.assert_array_equal(huge[:64], x[:64])

    def test_what_the_translator_did(self):
        code = lockstep.compile("""__kernel void k(__global int* x) {
          __local int seen;
          if (get_local_id(0) == 0) seen = 3;
          barrier(CLK_LOCAL_MEM_FENCE);
          x[get_global_id(0)] = seen;
        }""", name="translated.cl")
        x = np.zeros(256, np.int32)
        statistics = code["k"][256, 64, lockstep.Device(engine="translator", threads=1)](x)
        np.testing.assert_array_equal(x, 3)
        self.assertEqual(statistics.translated_wave_instructions, statistics.wave_instructions)
        self.assertIn(statistics.translation, ("made", "stored"))
        self.assertGreater(statistics.translation_seconds, 0)
        self.assertEqual(statistics.exits, [("barrier", "", 8)])  # of 4 groups of 2 waves
        statistics = code["k"][256, 64, lockstep.Device(engine="interpreter")](x)
        self.assertEqual((statistics.translation, statistics.translated_wave_instructions, statistics.exits), ("none", 0, []))

    def test_arguments_by_name(self):
        x, y = self.arrays(64)
        self.saxpy[64](64, y=y, x=x, a=2.0)
        np.testing.assert_array_equal(y, 2 * x + 1)
        for named, why in (({"x": x, "y": y}, "'a' is missing"), ({"a": 1.0, "x": x, "y": y, "z": 1}, "takes n, a, x, y, each once"),
                           ({"n": 1, "a": 1.0, "x": x, "y": y}, "each once")):
            with self.assertRaisesRegex(lockstep.Error, why):
                self.saxpy[64](64, **named)
        with self.assertRaisesRegex(TypeError, r"saxpy\[grid, block\]\(arguments\)"):
            self.saxpy(64, 2.0, x, y)

    def test_arrays_of_other_elements(self):
        x, y = self.arrays(64)
        with self.assertRaisesRegex(lockstep.Error, r"elements are float64 \(array.astype\(numpy.float32\)"):
            self.saxpy[64](64, 2.0, x, y.astype(np.float64))
        with self.assertRaisesRegex(lockstep.Error, "elements are int32"):
            self.saxpy[64](64, 2.0, x.view(np.int32), y)
        self.saxpy[64](64, 2.0, x.view(np.uint8), y)  # bytes
        np.testing.assert_array_equal(y, 2 * x + 1)

    def test_arrays_that_overlap_and_views(self):
        x, y = self.arrays()
        self.saxpy[512](512, 1.0, x[512:], x[:512])
        np.testing.assert_array_equal(x[:512], np.arange(512) * 2 + 512)
        self.saxpy[1024](1024, 1.0, y, y)
        np.testing.assert_array_equal(y, 2)

    def test_memory_of_the_device(self):
        device = lockstep.Device("navi33", threads=1)
        self.assertEqual(device.info["name"], "navi33")
        x, y = device.array(np.arange(64, dtype=np.float32), name="x"), device.zeros((8, 8), name="y")
        code = lockstep.compile(SOURCE, target=device.info["target"])
        code["saxpy"][(64,), (64,), device](64, 3, x, y)
        np.testing.assert_array_equal(y.ravel(), 3 * np.arange(64))
        memory = device.allocate(256, "raw")
        self.assertEqual((len(memory), memory.name, len(memoryview(memory))), (256, "raw", 256))
        self.assertEqual(memory.array("float32").shape, (64,))
        code["saxpy"][64, 64, device](64, 1, x, memory)
        np.testing.assert_array_equal(memory.array(np.float32, (8, 8)).ravel(), np.arange(64))
        with self.assertRaisesRegex(lockstep.Error, "another device"):
            self.saxpy[64](64, 1.0, memory, y)
        del device, memory
        self.assertEqual(y[0, 1], 3)  # the array keeps them

    def test_values(self):
        out = np.zeros(4, np.float32)
        pair = np.array((4, 0.5), dtype=[("a", np.int32), ("b", np.float32)])
        self.code["values"][1](out, np.array([1, 2, 7], np.float32), pair, lockstep.Local(16), -5, None)
        np.testing.assert_array_equal(out, [7, 4.5, 1, 1])

    def test_values_that_do_not_fit(self):
        x, y = self.arrays(64)
        for arguments, why in (((1, 2, 3), "takes 4 arguments, not 3; argument 3 'y'"), ((1.5, 2.0, x, y), "'n'.*float"),
                               ((-1, 2.0, x, y), "'n'.*-1 does not fit"), ((1 << 32, 2.0, x, y), "does not fit"),
                               ((1 << 99, 2.0, x, y), "does not fit"), ((1, 2, x, 5), "'y'.*an array"),
                               ((1, 2, x[::2], y), "'x'.*ascontiguousarray"), ((1, np.int32(2), x, y), "'a'.*floating-point"),
                               ((np.int64(1), 2.0, x, y), r"'n'.*takes 4 bytes, not the 8 of numpy.int64: give int\("),
                               ((1, "2", x, y), "cannot be made of str"), ((1, b"12345", x, y), "takes 4 bytes, not 5"),
                               ((1, 2, np.zeros(0, np.float32), y), "empty")):
            with self.assertRaisesRegex(lockstep.Error, why):
                self.saxpy[64](*arguments)
        for shape in (0, (1, 0), (1, 1, 1, 1), -5, 1 << 40):
            with self.assertRaises(lockstep.Error):
                self.saxpy[shape, 1](64, 1.0, x, y)
        for shape in ("64", 64.0, (8, 8.0), None):
            with self.assertRaisesRegex(TypeError, "the grid is a whole number of work-items.*not "):
                self.saxpy[shape, 1](64, 1.0, x, y)

    def test_faults(self):
        x, y = self.arrays(1000)
        code = lockstep.compile(SOURCE, name="test.cl", debug=True)
        with self.assertRaises(lockstep.Fault) as caught:
            code["saxpy"][1024, 256](1024, 2.0, x, y)
        fault = caught.exception
        self.assertEqual((fault.kind, fault.kernel, fault.work_group, fault.wave, fault.lane),
                         ("memory violation", "saxpy", (3, 0, 0), 7, 8))
        self.assertEqual((os.path.basename(fault.file), fault.line, fault.bytes), ("test.cl", 5, 4))
        self.assertEqual(fault.address, x.ctypes.data + x.nbytes)
        self.assertIn("global_load", fault.instruction)
        self.assertEqual(fault.status, "fault")
        self.assertGreater(fault.statistics.wave_instructions, 0)
        self.assertIn("test.cl:5", str(fault))
        y.flags.writeable = False
        with self.assertRaisesRegex(lockstep.Fault, "may not be written"):
            self.saxpy[64](64, 1.0, x, y)
        with self.assertRaises(lockstep.Fault) as caught:
            self.code["spin"].launch(32, 32, np.zeros(1, np.int32), instruction_limit=10000)
        self.assertEqual(caught.exception.kind, "hang")

    def test_an_interrupt_ends_a_kernel(self):
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.code["spin"][32](np.zeros(1, np.int32))
        timer.join()
        self.saxpy[64](64, 1.0, *self.arrays())  # the device goes on

    def test_a_device_has_one_user_at_a_time(self):
        flag = np.zeros(1, np.int32)
        device = lockstep.Device(threads=1)
        thread = threading.Thread(target=lambda: self.code["spin"][32, 32, device](flag))
        thread.start()
        try:
            while True:  # until the thread is in its kernel
                try:
                    self.saxpy[64, 64, device](64, 1.0, *self.arrays())
                except lockstep.Error as error:
                    self.assertIn("another thread", str(error))
                    break
        finally:
            flag[0] = 1
            thread.join()

    def test_source_that_does_not_compile(self):
        with self.assertRaisesRegex(lockstep.CompileError, "source:1:1: error"):
            lockstep.compile("foo")
        with self.assertRaisesRegex(lockstep.Error, "language is one of 'opencl', 'hip', 'assembly', 'llvm-ir', not 'cuda'"):
            lockstep.compile("foo", "cuda")
        for source, language, why in (("__global__ void k() {}", "opencl", r'this is HIP.*language "hip"'),
                                      ("__kernel void k() {}", "hip", r'this is OpenCL C.*language "opencl"')):
            with self.assertRaisesRegex(lockstep.CompileError, why):
                lockstep.compile(source, language)
        with self.assertRaises(TypeError):
            lockstep.compile("foo", flags="-DN=1")
        with self.assertRaisesRegex(lockstep.Error, "no such file"):
            lockstep.open("absent.co")

    def test_a_program_of_several_files(self):
        with tempfile.TemporaryDirectory() as folder:
            main, more = pathlib.Path(folder) / "main.cl", pathlib.Path(folder) / "more.cl"
            main.write_text("float twice(float x);\n__kernel void first(__global float* x) { *x = twice(*x); }\n")
            more.write_text("float twice(float x) { return x + x; }\n")
            x = np.full(1, 3, np.float32)
            lockstep.open(main, more)["first"][1](x)
            self.assertEqual(x[0], 6)
        with self.assertRaises(TypeError):
            lockstep.open(self.code.elf, "more.cl")

    def test_code_objects(self):
        self.assertEqual([k.name for k in self.code], ["saxpy", "values", "spin"])
        self.assertEqual(len(self.code), 3)
        with self.assertRaisesRegex(lockstep.Error, "no kernel 'nope'; it has saxpy, values, spin"):
            self.code["nope"]
        again = lockstep.open(self.code.elf, name="again")
        x, y = self.arrays(64)
        again["saxpy"][64](64, 1.0, x, y)
        np.testing.assert_array_equal(y, x + 1)
        self.assertIn("saxpy:", again.disassemble())
        self.assertIn("global_store_b32", self.saxpy.disassemble())
        self.assertIn("saxpy(uint n, float a, float* x, float* y)", repr(self.saxpy))
        self.assertRegex(self.code.compiler, r"clang version \d+")
        self.assertEqual(lockstep.disassemble(bytes.fromhex("0000b0bf")), ["s_endpgm"])

    def test_occupancy_is_a_number_and_a_bar(self):
        full = self.saxpy.occupancy(256)
        self.assertEqual((full, full.most, f"{full} {full:3}", str(full)), (16, 16, "16  16", "16"))
        self.assertEqual(repr(full), "[################] 16 of 16 waves a SIMD")
        half = self.saxpy.occupancy(256, dynamic_lds=32 << 10)  # of the 128 KiB of four SIMDs
        self.assertEqual((half + 1, repr(half)), (9, "[########........] 8 of 16 waves a SIMD"))
        self.assertEqual(repr(self.saxpy.occupancy(64, device="navi33", dynamic_lds=65537)), "[................] 0 of 16 waves a SIMD")
        self.assertEqual(pickle.loads(pickle.dumps(half)).most, 16)
        with self.assertRaisesRegex(lockstep.Error, "navi99"):
            self.saxpy.occupancy(256, device="navi99")

    def test_checkers_fail_a_test(self):
        code = lockstep.compile("""
            __kernel void racy(__global uint* x) { x[get_local_id(0) / 64] = get_local_id(0); }
            __kernel void tidy(__global uint* x) { x[get_global_id(0)] = get_local_id(0); }""", name="racy.cl")
        x = np.zeros(256, np.uint32)

        @lockstep.check
        def tidy():
            code["tidy"][256, 256](x)
            return "done"

        @lockstep.check("races")
        def racy():
            code["racy"][256, 256](x)

        self.assertEqual(tidy(), "done")
        with self.assertRaisesRegex(lockstep.Findings, r"races: .*(\n.*)*racy.cl:2") as caught:
            racy()
        self.assertEqual(caught.exception.findings[0]["checker"], "races")
        self.assertIsInstance(caught.exception, AssertionError)
        with lockstep.check("barriers"):  # not this one's matter
            code["racy"][256, 256](x)
        self.assertEqual(lockstep.default_device().checks, "")
        device = lockstep.Device()
        code["racy"].launch(256, 256, x, device=device, checks="races")
        self.assertEqual({f["checker"] for f in device.check_findings}, {"races"})
        with self.assertRaisesRegex(lockstep.Error, "nothing"):
            code["racy"].launch(256, 256, x, checks="nothing")
        with self.assertRaises(ValueError):
            lockstep.check(least="much")

    def test_order(self):
        # The last work-group's number is left.
        code = lockstep.compile("__kernel void last(__global int* x) { *x = get_group_id(0); }")
        x = np.zeros(1, np.int32)
        for engine in ("interpreter", "translator"):
            device = lockstep.Device(engine=engine, threads=1)
            for order, left in (("forward", 9), ("backward", 0)):
                code["last"].launch(320, 32, x, device=device, order=order)
                self.assertEqual(x[0], left)
            seen = []
            for seed in [*range(8)] * 2:
                code["last"].launch(320, 32, x, device=device, order="random", order_seed=seed)
                seen.append(int(x[0]))
            self.assertEqual(seen[:8], seen[8:])
            self.assertGreater(len(set(seen)), 2)
        with self.assertRaisesRegex(lockstep.Error, "order is one of"):
            code["last"].launch(320, 32, x, order="up")

    def test_groups_over_256_and_llvm_ir(self):
        x = np.zeros(1024, np.uint32)
        source = "__kernel void k(__global uint* x) { x[get_global_id(0)] = get_local_id(0); }"
        lockstep.compile(source, work_group_size=1024)["k"][1024, 1024](x)
        self.assertEqual(x[1023], 1023)
        with self.assertRaisesRegex(lockstep.Error, "256"):
            lockstep.compile(source)["k"][1024, 1024](x)
        ir = "define amdgpu_kernel void @one(ptr addrspace(1) %x) {\n  store i32 7, ptr addrspace(1) %x\n  ret void\n}\n"
        lockstep.compile(ir, "llvm-ir")["one"][1, 1](x)
        self.assertEqual(x[0], 7)

    def test_empty_calls_are_quick(self):
        # Counted in system calls: mapping and unmapping memory in each call would be most of its time.
        kernel = lockstep.compile("__kernel void e() {}")["e"][64, 64, lockstep.Device(threads=1)]
        kernel()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(1000):
            kernel()
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, 500)

    def test_hip_variables_and_assembly(self):
        code = lockstep.compile("""#include <hip/hip_runtime.h>
            __constant__ float factor[4]; __device__ int count;
            extern "C" __global__ void k(float* x) { x[threadIdx.x] *= factor[threadIdx.x]; atomicAdd(&count, 1); }""", "hip")
        device = lockstep.default_device()
        device.variable(code, "factor", np.float32)[...] = [1, 2, 3, 4]
        x = np.ones(4, np.float32)
        code["k"][4](x)
        np.testing.assert_array_equal(x, [1, 2, 3, 4])
        self.assertEqual(device.variable(code, "count", np.int32)[0], 4)
        listing = lockstep.compile("s_load_b64 s[4:5], s[0:1], 0x0\ns_load_b32 s6, s[0:1], 0x8\nv_mov_b32 v1, 0\n"
                                   "s_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s6\nglobal_store_b32 v1, v2, s[4:5]\n", "assembly")
        out = np.zeros(1, np.uint32)
        listing.kernels[0][1](out, np.uint32(77))
        self.assertEqual(out[0], 77)
        with self.assertRaisesRegex(lockstep.Error, "numpy.uint32"):
            listing.kernels[0][1](out, 77)

    def test_reports(self):
        device = lockstep.Device()
        x, y = self.arrays(64)
        statistics = self.saxpy.launch(64, 64, 64, 0.1, x, y, device=device, exceptions=True)
        self.assertIn("DX10_CLAMP", statistics.note)
        self.assertEqual(device.exceptions, [])
        other = lockstep.compile("s_version 4\n", "assembly", wave=32).kernels[0]
        other.launch(32, 32, device=device, rules="warn")
        (broken,) = device.broken_rules
        self.assertIn("s_version 4", broken["rule"])
        self.assertEqual((broken["executions"], broken["work_group"], broken["wave"]), (1, (0, 0, 0), 0))
        self.assertEqual(broken["where"]["function"], "main")
        self.saxpy.launch(64, 64, 64, 0.1, x, y, device=device, fidelity=True)
        finding, = device.findings
        self.assertEqual((finding["name"], finding["corner_cases_only"], finding["first"]["line"]), ("v_fmac_f32", True, 5))
        with self.assertRaisesRegex(lockstep.Error, "rules is one of"):
            self.saxpy.launch(64, 64, 64, 0.1, x, y, rules="maybe")

    def test_queues(self):
        device = lockstep.Device(threads=2)
        x, y, flag = device.array(np.arange(1024, dtype=np.float32)), device.zeros(1024), device.zeros(1, np.int32)
        queue, other = device.queue(), device.queue()
        for factor in (1.0, 2.0, 3.0):  # each behind the one before
            last = queue.launch(self.saxpy, 1024, 256, 1024, factor, x, y)
        self.assertTrue(last.wait())
        self.assertTrue(last.done)
        self.assertEqual((last.packet, last.signal.value, queue.info["write_index"]), (2, 0, 3))
        np.testing.assert_array_equal(y, 6 * np.arange(1024))
        spin = queue.launch(self.code["spin"], 32, 32, flag)  # the host goes on, and ends it
        self.assertFalse(spin.wait(timeout=0.01))
        other.wait_for(spin)
        behind = other.launch(self.saxpy, 1024, 256, 1024, 1.0, x, y)
        self.assertFalse(behind.done or other.wait(timeout=0.01))
        flag[0] = 1
        self.assertTrue(other.wait() and spin.done)
        np.testing.assert_array_equal(y, 7 * np.arange(1024))
        out = device.zeros(4)
        pair = np.array((4, 0.5), dtype=[("a", np.int32), ("b", np.float32)])
        queue.launch(self.code["values"], 1, 1, out, np.array([1, 2, 7], np.float32), pair, lockstep.Local(16), -5, None)
        self.assertTrue(queue.wait())
        np.testing.assert_array_equal(out, [7, 4.5, 1, 1])
        flag[0] = 0
        spin = queue.launch(self.code["spin"], 32, 32, flag)
        del x, y, flag, out, spin, queue  # a queue that is dropped ends what it runs

    def test_signals(self):
        device = lockstep.Device(threads=1)
        signal = lockstep.Signal(device, 3)
        self.assertEqual((signal.add(-1), signal.value, signal.wait(timeout=0)), (3, 2, False))
        threading.Timer(0.05, lambda: signal.add(-2)).start()
        self.assertTrue(signal.wait("==", 0))
        signal.value = -7
        self.assertTrue(signal.wait("<", 0))
        with self.assertRaisesRegex(lockstep.Error, "condition is one of"):
            signal.wait("=")

    def test_what_fails_in_queues(self):
        device = lockstep.Device(threads=1)
        x = device.zeros(64)
        queue = device.queue(checks="memory")
        with self.assertRaisesRegex(lockstep.Error, "'y'.*device.array"):
            queue.launch(self.saxpy, 64, 64, 64, 1.0, x, np.zeros(64, np.float32))
        with self.assertRaisesRegex(lockstep.Error, "has 2048|too large"):
            queue.launch(self.saxpy, 2048, 2048, 64, 1.0, x, x)
        with self.assertRaisesRegex(lockstep.Error, "AQL"):
            device.queue("sdma").launch(self.saxpy, 64, 64, 64, 1.0, x, x)
        with self.assertRaisesRegex(lockstep.Error, "each has 64"):
            queue.submit(b"12345")
        dispatch = queue.launch(self.saxpy, 1 << 20, 256, 1 << 20, 1.0, x, x)  # far behind the end of x
        with self.assertRaises(lockstep.QueueError) as caught:
            dispatch.wait()
        error = caught.exception
        self.assertEqual((error.kind, error.position, queue.info["active"]), ("kernel fault", 0, False))
        self.assertIn("global_load", error.message)
        with self.assertRaises(lockstep.QueueError):
            queue.launch(self.saxpy, 64, 64, 64, 1.0, x, x)
        sdma = device.queue("sdma")
        sdma.submit(np.array([0xff], np.uint32))
        with self.assertRaises(lockstep.QueueError) as caught:
            while sdma.wait():  # until the engine has read it
                pass
        self.assertEqual(caught.exception.kind, "unsupported")

    def test_types_of_hip(self):
        source = "__global__ void k(float* x, int n, float f, float4 v) { x[n] = f + v.w; }"
        kernel = lockstep.compile(source, "hip")["k"]
        self.assertEqual([a["type"] for a in kernel.arguments], ["float*", "int", "float", "float4"])
        self.assertEqual(kernel.info["language"], "HIP")
        x = np.zeros(4, np.float32)
        kernel[1](x, 2, 1.5, np.float32([1, 2, 3, 4]))
        np.testing.assert_array_equal(x, [0, 0, 5.5, 0])
        for arguments, why in (((np.zeros(4), 2, 1.5, np.zeros(4, np.float32)), "float64.*float32"),
                               ((x, 2.0, 1.5, np.zeros(4, np.float32)), "no floating-point number"),
                               ((x, 2, 1.5, np.zeros(3, np.float32)), "16 bytes, not 12")):
            with self.assertRaisesRegex(lockstep.Error, why):
                kernel[1](*arguments)

    def test_what_kernels_print_is_pythons_output(self):
        source = '__kernel void p(int n, __global int* x) { printf("n is %d\\n", n); if (n == 3) x[1] = n; }'
        late = lockstep.compile(source)["p"]
        hip = lockstep.compile(
            '__global__ void p(int n, int* x) { printf("n is %d\\n", n); if (n == 3) x[1] = n; }', "hip")["p"]
        device = lockstep.Device(threads=1)
        x = device.zeros(1, np.int32)
        for kernel in late, hip:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                for n in range(2):
                    kernel[1, 1, device](np.int32(n), x)
                with self.assertRaises(lockstep.Fault):
                    kernel[1, 1, device](np.int32(3), x)
            self.assertEqual(out.getvalue(), "n is 0\nn is 1\nn is 3\n")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                queue = device.queue()
                for n in range(3):
                    last = queue.launch(kernel, 1, 1, np.int32(n), x)
                last.wait()
                self.assertEqual(out.getvalue(), "n is 0\nn is 1\nn is 2\n")
                queue.launch(kernel, 1, 1, np.int32(3), x)
                with self.assertRaises(lockstep.QueueError):
                    queue.wait()
            self.assertTrue(out.getvalue().endswith("n is 2\nn is 3\n"))
            with contextlib.redirect_stdout(io.StringIO()) as out:
                queue = device.queue()
                queue.launch(kernel, 1, 1, np.int32(7), x)
                while queue.info["read_index"] == 0:
                    time.sleep(0.01)
                del queue
                self.assertEqual(out.getvalue(), "n is 7\n")

        failing = lockstep.compile("__global__ void f(int n) {\n  assert(n == 0);\n}", "hip", name="f.hip")["f"]
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
            with self.assertRaises(lockstep.Fault) as caught:
                failing[1, 1, device](1)
        self.assertEqual((out.getvalue(), caught.exception.line), ("", 2))
        self.assertRegex(error.getvalue(), r"^f.hip:2: .*: Device-side assertion `n == 0' failed\.\n$")

        class Broken:
            def write(self, text):
                raise OSError("no room")

        with contextlib.redirect_stdout(Broken()), self.assertRaisesRegex(OSError, "no room"):
            late[1, 1, device](1, x)

    def test_functions_that_follow_instructions(self):
        x, y = self.arrays(40)
        seen, reads, loaded = [], [], []
        self.saxpy.launch(40, 40, 40, 2.0, x, y, on_instruction=seen.append)
        listing = [line.split("  ")[-1] for line in self.saxpy.disassemble().splitlines()]
        self.assertEqual({(e.kernel, e.work_group, e.wave) for e in seen}, {("saxpy", (0, 0, 0), 0), ("saxpy", (0, 0, 0), 1)})
        for event in seen:
            self.assertIn(event.text, listing)
            self.assertTrue(event.text.startswith(event.mnemonic))
        first = [e for e in seen if e.wave == 0]
        self.assertEqual((first[0].offset, first[-1].mnemonic, first[0].exec), (0, "s_endpgm", 0xffffffff))
        with self.assertRaisesRegex(lockstep.Error, "not later"):
            first[0].vgpr(0)

        def access(event):
            if event.accesses[0].space == "global":
                reads.extend((a.lane + 32 * event.wave, a.address, a.bytes, a.reads, a.writes) for a in event.accesses)

        self.saxpy.launch(40, 40, 40, 2.0, x, y, on_access=access)
        for array, writes in ((x, False), (y, True)):
            start = array.ctypes.data
            wanted = {(i, start + 4 * i, 4, not writes, writes) for i in range(40)}
            self.assertEqual({r for r in reads if start <= r[1] < start + array.nbytes and r[4] == writes}, wanted)

        def result(event):  # the register that a load has filled
            register = int(event.text.split("v", 1)[1].split(",")[0])
            loaded.append((event.text, event.vgpr(register, np.float32)[:8].copy()))

        self.saxpy.launch(8, 8, 8, 2.0, x, x + 100, on_result=result, only="global_load_b32")
        self.assertEqual(len(loaded), 2)
        self.assertEqual(sorted(values[7] for _, values in loaded), [7, 107])

    def test_a_function_that_fails_ends_the_launch(self):
        def fail(event):
            raise KeyError(event.mnemonic)

        device = lockstep.Device(threads=2)
        with self.assertRaises(KeyError):  # of a kernel without an end
            self.code["spin"].launch(32, 32, np.zeros(1, np.int32), on_instruction=fail, device=device)
        self.saxpy[64, 64, device](64, 1.0, *self.arrays())  # the device goes on
        with self.assertRaisesRegex(lockstep.Error, "on_access is a function"):
            self.saxpy.launch(64, 64, 64, 1.0, *self.arrays(), on_access=5)
        for only in ("global_load", ["v_add_f32", "v_add_f32_e32"]):
            with self.assertRaisesRegex(lockstep.Error, "there is no '(global_load|v_add_f32_e32)'"):
                self.saxpy.launch(64, 64, 64, 1.0, *self.arrays(), on_result=print, only=only)

    def test_waves_are_halted_and_stepped(self):
        x, y = self.arrays(64)
        with lockstep.WaveControl() as control:
            run = control.launch(self.saxpy, 64, 64, 64, 2.0, x, y)
            first, second = control.wait(), control.wait()
            self.assertEqual(((first.state, first.cause, first.wave), second.wave), (("halted", "start", 0), 1))
            self.assertEqual([w.state for w in control.waves], ["halted", "halted"])
            np.testing.assert_array_equal(first.vgpr(0) & 1023, np.arange(32))
            self.assertEqual((first.read("exec"), first.sgprs.shape), (0xffffffff, (106,)))
            texts, wave = [], first
            while wave.state == "halted":
                texts.append(wave.instruction)
                wave = wave.step()
            self.assertEqual((wave.state, texts[-1]), ("ended", "s_endpgm"))
            self.assertTrue(any(text.startswith("global_store_b32") for text in texts))
            np.testing.assert_array_equal(y, np.where(np.arange(64) < 32, 2 * x + 1, 1))  # the other one stands still
            second.set_vgpr(0, np.full(32, 63, np.uint32))  # all lanes are work-item 63
            self.assertEqual(second.vgpr(0)[5], 63)
            with self.assertRaisesRegex(lockstep.Error, "32 lanes"):
                second.set_vgpr(0, np.zeros(3, np.uint32))
            with self.assertRaisesRegex(lockstep.Error, "register is one of"):
                second.read("r0")
            with self.assertRaisesRegex(ValueError, "still runs"):
                control.launch(self.saxpy, 64, 64, 64, 2.0, x, y)
            second.resume()
            self.assertEqual(run.result().waves, 2)
            self.assertIsNone(control.wait())
        np.testing.assert_array_equal(y[32:], np.where(np.arange(32, 64) == 63, 2 * x[32:] + 1, 1))

    def test_a_block_of_wave_control_ends_its_launches(self):
        with lockstep.WaveControl() as control:
            run = control.launch(self.saxpy, 64, 64, 64, 1.0, *self.arrays(64))
        self.assertEqual(run.result().work_groups_done, 1)
        with self.assertRaises(KeyError), lockstep.WaveControl(start_halted=False) as control:
            run = control.launch(self.code["spin"], 32, 32, np.zeros(1, np.int32))
            raise KeyError
        self.assertTrue(run.done)
        x = np.zeros(8, np.float32)
        with lockstep.WaveControl(start_halted=False, halt_on_fault=True) as control:
            run = control.launch(self.saxpy, 64, 64, 64, 1.0, x, x)
            wave = control.wait()
            self.assertEqual((wave.cause, wave.fault), ("fault", "memory violation"))
            self.assertIn("global_load_b32", wave.instruction)
        with self.assertRaises(lockstep.Fault):
            run.result()

    def test_what_the_page_shows_runs(self):
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python.md")) as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(blocks), 3)
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for block in blocks:
                exec(block, names)
        x = names["x"]  # two launches in a queue, then one under wave control of the first 64
        np.testing.assert_array_equal(names["y"], np.where(np.arange(1024) < 64, 7, 5) * x)

    def test_stubs_name_what_there_is(self):
        with open(os.path.join(os.path.dirname(lockstep.__file__), "__init__.pyi")) as file:
            stub = file.read()
        for name in lockstep.__all__:
            self.assertIn(name, stub)
            value = getattr(lockstep, name)
            if inspect.isclass(value) and value.__module__ == "lockstep._native":
                for member in vars(value):
                    if not member.startswith("_"):
                        self.assertRegex(stub, rf"\b{member}\b", f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
