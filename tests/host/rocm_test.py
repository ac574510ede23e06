#!/usr/bin/env python3
"""Programs of ROCm, unmodified, on an emulated card. Usage: rocm_test.py LOCKSTEP SOURCES BUILD

ROCM names the runtime's tree. Exit code 77 (skipped) where it is not there: `make rocm` fetches it."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

LOCKSTEP, SOURCES, BUILD = sys.argv[1:4]
del sys.argv[1:4]
TREE = pathlib.Path(os.environ.get("ROCM", pathlib.Path(SOURCES) / "build" / "rocm"))
HIP = next((major for major in (7, 6) if any(TREE.glob(f"usr/lib/x86_64-linux-gnu/libamdhip64.so.{major}*"))), 5)
ENVIRONMENT = {**os.environ, "LOCKSTEP": LOCKSTEP, "ROCM": str(TREE)}


def run(*program, options=(), status=0, environment=None, seconds=300):
    """What a program of the runtime's tree prints."""
    result = subprocess.run([f"{SOURCES}/tools/rocm_exec.sh", *map(str, options), "--", *map(str, program)],
                            capture_output=True, text=True, errors="replace", timeout=seconds,
                            env={**ENVIRONMENT, **(environment or {})})
    if status is not None and result.returncode != status:
        raise AssertionError(f"{program}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout + result.stderr


def compiled(name, *flags):
    """The program of an example, such as hip/graph, compiled when it is older than its source."""
    folder = pathlib.Path(SOURCES) / "examples"
    source = folder / (name + (".hip" if name.startswith("hip/") else ".cpp"))
    program = pathlib.Path(BUILD) / TREE.name / (name.replace("/", "_") + "".join(flags))
    program.parent.mkdir(exist_ok=True)
    headers = [folder / "png.h", source.parent / "check.h"]
    if not program.exists() or program.stat().st_mtime < max(path.stat().st_mtime for path in (source, *headers)):
        subprocess.run([f"{SOURCES}/tools/hipcc.sh", source, program, *flags], check=True, env=ENVIRONMENT)
    return program


def picture(path):
    """Width, height and rows of bytes of a PNG of 8-bit RGB whose rows have no filter; its checksums are looked at."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + size]
        assert struct.unpack(">I", data[place + 8 + size:place + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind], place = body, place + 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = zlib.decompress(chunks[b"IDAT"])
    return width, height, [rows[y * (1 + 3 * width):(y + 1) * (1 + 3 * width)] for y in range(height)]


class Tools(unittest.TestCase):
    def test_rocminfo_shows_the_card(self):
        text = run("rocminfo")
        for line in (r"Name:\s+gfx1100", r"Marketing Name:\s+AMD Radeon RX 7900 XTX", r"Compute Unit:\s+96",
                     r"SIMDs per CU:\s+2", r"Wavefront Size:\s+32", r"Chip ID:\s+29772"):
            self.assertRegex(text, line)

    def test_rocminfo_shows_several_of_another_model(self):
        text = run("rocminfo", options=("--device", "navi33", "--devices", "2"))
        self.assertEqual(len(re.findall(r"Marketing Name:\s+AMD Radeon RX 7600", text)), 2)

    def test_clinfo_shows_the_card(self):
        text = run("clinfo")
        self.assertRegex(text, r"Device Board Name.*\s+AMD Radeon RX 7900 XTX")
        # OpenCL 7.2 says so of devices without images, too, with sizes of 0.
        self.assertRegex(text, r"Max size for 1D images from buffer\s+0 pixels" if HIP >= 7 else r"Image support\s+No")

    def test_bad_settings_are_told(self):
        text = run("rocminfo", status=None, environment={"LOCKSTEP_DEVICE": "/nowhere.toml"})
        self.assertIn("no device", text)


class Example(unittest.TestCase):
    def check(self, name, *arguments, **more):
        text = run(compiled(name), *arguments, **more)
        self.assertIn("all results are right", text)
        return text

    def check_picture(self, name, shape):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "picture.png"
            self.check(name, path)
            width, height, rows = picture(path)
        self.assertEqual((width, height), shape)
        self.assertTrue(all(row[0] == 0 for row in rows))
        self.assertGreater(len(set(rows)), height // 3)

    def check_fault(self, name, kernel, told="Memory access fault by GPU node-1"):
        text = run(compiled(name), status=None)
        self.assertIn(told, text)
        self.assertIn("write of 4 bytes at 0x1234567000", text)
        self.assertRegex(text, rf"lockstep:   lane 0, in kernel '{kernel}' \+ 0x[0-9a-f]+")


class Hip(Example):
    def test_vector_add(self):
        self.assertIn("AMD Radeon RX 7900 XTX (gfx1100), 48 compute units", self.check("hip/vector_add"))

    def test_vector_add_interpreted(self):
        self.check("hip/vector_add", options=("--engine", "interpreter"))

    def test_matrix_product(self):
        self.check("hip/matrix_product")

    def test_streams(self):
        self.check("hip/streams")

    def test_memory(self):
        self.check("hip/memory")

    def test_copies_by_kernels(self):
        self.check("hip/memory", environment={"HSA_ENABLE_SDMA": "0"})

    def test_who_waits_for_a_kernel_leaves_it_the_processor(self):
        waited, used = re.search(r"waited (\S+) s, took the processor for (\S+) s", self.check("hip/patience")).groups()
        self.assertGreater(float(waited), 0.45)  # the kernel takes 0.5 s of the device's clock
        self.assertLess(float(used), float(waited) / 8)

    def test_graph(self):
        self.check("hip/graph")

    def test_cooperative(self):
        self.assertEqual(self.check("hip/cooperative").count("hello 42 from group"), 4)

    def test_runtime_compiled(self):
        self.check("hip/runtime_compiled")

    def test_functions(self):
        self.check("hip/functions")

    def test_calls(self):
        # At -O0 nothing is inlined, the device library's functions neither.
        for level in ("-O0", "-O2"):
            for engine in ("interpreter", "auto"):
                text = run(compiled("hip/calls", level), options=("--engine", engine))
                self.assertIn("all results are right", text)
                self.assertIn("item 70 has 7073, as text 17.50", text)

    def test_virtual_memory(self):
        text = run(compiled("hip/virtual_memory"))
        self.assertIn("all results are right" if HIP >= 6 else "this runtime does not offer it", text)

    def test_textures(self):
        text = self.check("hip/textures")
        self.assertIn("an array of 64 x 64: hipErrorOutOfMemory", text)
        self.assertIn("lockstep: images and textures are refused: the machine has no image instructions yet; this one is 2D", text)

    def test_the_end_of_a_program_ends_its_kernels(self):
        # The exit handler of HIP 6 and 7 waits for kernels, on a card too.
        for way in ("_exit",) if HIP >= 6 else ("exit", "_exit"):
            self.assertIn("the kernel runs", run(compiled("hip/endless"), way, status=3))

    def test_a_program_may_end_with_work_that_has_hardly_begun(self):
        self.assertNotIn("corrupted", run(compiled("hip/endless"), "pending", status=3))

    def test_two_devices(self):
        self.check("hip/two_devices", options=("--devices", "2"))

    def test_runtime_calls(self):
        self.check("hip/runtime_calls")
        self.check("hip/runtime_calls", options=("--devices", "2"))

    def test_two_processes(self):
        self.check("hip/two_processes")
        # Without a card the parent ends at its first call, and its child with it: who waits for both is told so.
        libraries = TREE / "usr/lib/x86_64-linux-gnu"
        alone = subprocess.run([libraries / "ld-linux-x86-64.so.2", "--library-path", libraries, compiled("hip/two_processes")],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual(alone.returncode, 1)
        self.assertIn("hipMalloc(", alone.stderr)

    def test_image_filter(self):
        self.check_picture("hip/image_filter", (321, 203))

    def test_assertion(self):
        text = run(compiled("hip/assertion"), status=None)
        self.assertIn("assertions that hold: all results are right", text)
        self.assertIn("Device-side assertion `by[i] != 0' failed", text)
        self.assertIn("the kernel called a trap (s_trap 2: llvm.trap, abort or a failed assertion)", text)
        self.assertNotIn("an assertion that fails", text)

    def test_fault(self):
        # With HIP 7 a fault is an error of the next call.
        told = {"told": "hipDeviceSynchronize(): an illegal memory access was encountered"} if HIP >= 7 else {}
        self.check_fault("hip/fault", r"store\(int\*\)", **told)


class OpenCl(Example):
    def test_vector_add(self):
        text = self.check("opencl/vector_add")
        for group in range(3):
            self.assertIn(f"group {group} of 196", text)

    def test_matrix_product(self):
        self.check("opencl/matrix_product")

    def test_macros_of_opencl_c(self):
        if HIP < 6 and not (TREE / "opencl_headers.yaml").exists() or HIP == 6:
            self.skipTest("the compiler's header is not where it looks for it")
        program = compiled("opencl/matrix_product")
        for options in ("-DLOCAL_FENCE=CLK_LOCAL_MEM_FENCE", "-DLOCAL_FENCE=CLK_LOCAL_MEM_FENCE -Werror"):
            self.assertIn("all results are right", run(program, environment={"AMD_OCL_BUILD_OPTIONS_APPEND": options}))

    def test_events(self):
        self.check("opencl/events")

    def test_shared_memory(self):
        self.assertIn("fine-grain buffers", self.check("opencl/shared_memory"))

    def test_image_filter(self):
        self.check_picture("opencl/image_filter", (203, 151))

    def test_fault(self):
        self.check_fault("opencl/fault", "store")


class Reports(unittest.TestCase):
    """What `lockstep exec` tells of a program's dispatches."""

    def lines(self, option, program, *arguments, **more):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lines.json"
            run(program, *arguments, options=(option, path, *more.pop("options", ())), **more)
            return [json.loads(line) for line in path.read_text().splitlines()]

    def test_log(self):
        lines = self.lines("--log", compiled("hip/matrix_product"))
        kernel = next(line for line in lines if line.get("symbol") == "_Z8multiplyPKfS0_Pfi")
        self.assertEqual(kernel["kernel"], "multiply(float const*, float const*, float*, int)")
        self.assertEqual((kernel["grid"], kernel["group"]), ([128, 128, 1], [16, 16, 1]))
        self.assertEqual((kernel["work_groups"], kernel["waves"], kernel["lds_bytes"]), (64, 512, 2048))
        self.assertEqual([(a["kind"], a["size"]) for a in kernel["arguments"]],
                         [("global_buffer", 8)] * 3 + [("by_value", 4)])
        self.assertEqual(kernel["arguments"][3]["value"], "0x80")
        self.assertGreater(kernel["wave_instructions"], 512 * 100)
        self.assertEqual([line["number"] for line in lines], list(range(1, len(lines) + 1)))

    def test_a_translation_is_counted_once(self):
        lines = self.lines("--log", compiled("hip/graph"), options=("--engine", "translator"))
        seconds = [line["translation_seconds"] for line in lines if "add_one" in line["kernel"]]
        self.assertGreater(len(seconds), 2)
        self.assertEqual([number for number, value in enumerate(seconds) if value > 0], [0])

    def test_what_one_process_translated_others_load(self):
        with tempfile.TemporaryDirectory() as folder:
            def counted():
                (statistics,) = self.lines("--stats", compiled("hip/graph"), options=("--engine", "translator"),
                                           environment={"XDG_CACHE_HOME": folder})
                return statistics["translated"], statistics["loaded_from_cache"]
            translated, loaded = counted()
            self.assertEqual((translated > 0, loaded), (True, 0))
            self.assertEqual(counted(), (0, translated))

    def test_log_of_several_devices_and_processes(self):
        lines = self.lines("--log", compiled("hip/two_devices"), options=("--devices", "2"))
        self.assertEqual({line["device"] for line in lines}, {0, 1})
        lines = self.lines("--log", compiled("hip/two_processes"))
        self.assertEqual(len({line["process"] for line in lines if "add_one" in line["kernel"]}), 1)

    def test_a_fault_of_many_waves_is_told_before_the_program_ends(self):
        # The second wave told the runtime, which ended the program, while the first one's line was looked up.
        text = run(compiled("hip/fault", "-g"), 100000, options=("--threads", "4"), status=None)
        self.assertRegex(text, r"lane 0, in kernel 'store\(int\*\)' \+ 0x[0-9a-f]+, at .*fault\.hip:5\n")

    def test_log_of_a_fault_names_its_line(self):
        lines = self.lines("--log", compiled("hip/fault", "-g"), status=None)
        fault = next(line["fault"] for line in lines if "fault" in line)
        self.assertEqual((fault["lane"], fault["wave"], fault["group"]), (0, 0, [0, 0, 0]))
        self.assertRegex(fault["place"], r"kernel 'store\(int\*\)' \+ 0x[0-9a-f]+, at .*fault\.hip:5$")
        self.assertIn("global_store_b32", fault["instruction"])

    def test_statistics(self):
        program = compiled("hip/vector_add")
        (line,) = self.lines("--stats", program)
        add = next(kernel for kernel in line["kernels"] if kernel["kernel"].startswith("add(float const*"))
        self.assertEqual((add["dispatches"], add["work_groups"], add["faults"]), (1, 391, 0))
        self.assertEqual(line["dispatches"], sum(kernel["dispatches"] for kernel in line["kernels"]))
        self.assertRegex(run(program, options=("--stats", "-")), r"\n +1 .* add\(float const\*, float const\*, float\*, int\)\n")
        (line,) = self.lines("--stats", program, options=("--engine", "translator"))
        add = next(kernel for kernel in line["kernels"] if kernel["kernel"].startswith("add(float const*"))
        self.assertEqual(add["translated_wave_instructions"], add["wave_instructions"])
        self.assertLessEqual({exit["reason"] for exit in add["exits"]}, {"access", "budget"})

    def test_machine_around_the_instructions(self):
        program = compiled("hip/matrix_product")
        text = run(program, options=("--results", "random:7", "--caches", "incoherent", "--rules", "warn"))
        self.assertIn("all results are right", text)
        self.assertIn("lockstep: rules: none was broken", text)
        lines = self.lines("--log", program, options=("--results", "late", "--engine", "translator"))
        self.assertTrue(all("because of" in line["note"] for line in lines))

    def test_order_changes_nothing_of_what_is_right(self):
        for name in ("hip/matrix_product", "hip/image_filter", "hip/cooperative", "hip/streams"):
            for order in ("backward", "random:7"):
                with self.subTest(name=name, order=order), tempfile.TemporaryDirectory() as folder:
                    picture = (pathlib.Path(folder) / "picture.png",) if "image" in name else ()
                    self.assertIn("all results are right", run(compiled(name), *picture, options=("--order", order)))

    def test_fidelity(self):
        self.assertIn("fidelity: every executed instruction is exact",
                      run(compiled("hip/vector_add"), options=("--fidelity",)))
        text = run(compiled("hip/vector_add"), options=("--fidelity", "--rules", "warn", "--results", "late"))
        self.assertIn("fidelity: every executed instruction is exact", text)
        self.assertIn("rules: none was broken", text)

    def mistake(self, name, *checks, **more):
        return run(compiled("hip/mistakes", "-g"), name, options=("--check", *(checks or ("all",))), **more)

    def line_of_mistake(self, name):
        lines = (pathlib.Path(SOURCES) / "examples/hip/mistakes.hip").read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if f"// {name}: " in line)

    def test_checkers_say_nothing_of_what_is_right(self):
        self.assertIn("check: nothing was found", self.mistake("none"))
        for program in ("hip/memory", "hip/functions", "opencl/matrix_product"):
            self.assertIn("check: nothing was found", run(compiled(program), options=("--check", "memory,barriers")))

    def test_a_process_whose_allocations_are_followed_gives_memory_to_another_one(self):
        self.assertIn("all results are right", run(compiled("hip/two_processes"), options=("--check", "memory")))

    def test_checkers_say_nothing_of_what_the_device_libraries_do(self):
        # malloc() and free(), whose memory goes from wave to wave, the kernel that prepares their heap, and grid.sync().
        for program in ("hip/memory", "hip/functions", "hip/cooperative"):
            self.assertIn("check: nothing was found", run(compiled(program), options=("--check", "waits,races")))

    def test_checkers_tell_of_kernel_and_line(self):
        for name, kernel, checker, text in (
                ("race", "race(float const*, float*, int)", "races", "nothing orders the two"),
                ("outside", "outside(float const*, float*)", "memory", "bytes behind the end of an allocation of 4000 bytes"),
                ("wait", "wait(float const*, float*, int)", "waits", "put s_waitcnt vmcnt(0) between them")):
            for checks in ("all", checker):
                told = self.mistake(name, checks)
                self.assertIn(f"check: {checker} (error)", told)
                self.assertIn(text, told)
                self.assertRegex(told, re.escape(f"kernel '{kernel}'") + rf" .*mistakes\.hip:{self.line_of_mistake(name)}\n")
                self.assertIn("the kernel has ended", told)

    def test_checkers_tell_of_inlined_functions(self):
        lines = (pathlib.Path(SOURCES) / "examples/hip/mistakes.hip").read_text().splitlines()
        caller = next(number for number, line in enumerate(lines, 1) if "// inlined" in line)
        self.assertRegex(self.mistake("outside", "memory"),
                         rf"mistakes\.hip:{self.line_of_mistake('outside')}\n    inlined into outside.* at .*mistakes\.hip:{caller}\n")
        program = compiled("hip/mistakes", "-g")
        found, = {json.dumps(finding["inlined_into"])
                  for line in self.lines("--log", program, "outside", options=("--check", "memory")) for finding in line.get("findings", ())}
        frame, = json.loads(found)
        self.assertEqual((frame["line"], pathlib.Path(frame["file"]).name), (caller, "mistakes.hip"))

    def test_the_memory_checker_knows_what_was_freed(self):
        told = self.mistake("freed", "memory", status=None)
        self.assertIn("0 bytes into an allocation of 4000 bytes, which has been freed", told)
        self.assertRegex(told, rf"kernel 'fill\(float\*\)' .*mistakes\.hip:{self.line_of_mistake('freed')}\n")

    def test_plugins_follow_the_program(self):
        plugin = pathlib.Path(LOCKSTEP).parent.parent / "examples/plugin/libaccess_histogram.so"
        told = run(compiled("hip/mistakes", "-g"), "none", options=("--plugin", plugin))
        self.assertRegex(told, r"check: access-histogram \(note\): what the dispatch does to device memory of \d+ bytes\n"
                               r"  kernel '.*mistakes\.hip:")
        told = run("rocminfo", options=("--plugin", f"{plugin}:magic"), status=None)
        self.assertIn("no device: plug-in", told)
        self.assertIn("its arguments are 'mix' and 'out=FILE'", told)

    def test_a_dump_runs_again(self):
        with tempfile.TemporaryDirectory() as folder:
            waits = {"AMD_SERIALIZE_KERNEL": "3"}
            for program, kernel in (("hip/vector_add", "add(float"), ("hip/cooperative", "greet"), ("opencl/vector_add", "add")):
                run(compiled(program), options=("--dump", kernel, "--dump-folder", folder), environment=waits)
                path, = pathlib.Path(folder).iterdir()
                for options in ((), ("--engine", "translator"), ("--results", "late")):
                    again = subprocess.run([LOCKSTEP, "run", path, *options], capture_output=True, text=True, timeout=300)
                    if kernel == "greet":
                        self.assertIn("hello 42 from group 1, work-item 1", again.stdout)
                    self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
                    self.assertIn("memory: as the program saw it", again.stdout)
                path.unlink()

    def test_settings_that_are_none(self):
        for name, value in (("LOCKSTEP_RESULTS", "random:x"), ("LOCKSTEP_RULES", "some"), ("LOCKSTEP_CACHES", "2"), ("LOCKSTEP_ORDER", "up"),
                            ("LOCKSTEP_FIDELITY", "yes"), ("LOCKSTEP_CHECK", "race"), ("LOCKSTEP_LOG", "/nowhere/file")):
            text = run("rocminfo", status=None, environment={name: value})
            self.assertIn("lockstep: no device:", text)
            self.assertIn(value, text)


if __name__ == "__main__":
    if not (TREE / ".complete").exists():
        print(f"skipped: rocm: no ROCm runtime in {TREE} (make rocm)")
        sys.exit(77)
    unittest.main(verbosity=2)
