#!/usr/bin/env python3
"""Programs of ROCm, unmodified, on an emulated card. Usage: rocm_test.py LOCKSTEP SOURCES BUILD

Exit code 77 (skipped) where the runtime is not there: `make rocm` fetches it."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

LOCKSTEP, SOURCES, BUILD = sys.argv[1:4]
del sys.argv[1:4]
TREE = pathlib.Path(os.environ.get("ROCM", pathlib.Path(SOURCES) / "build" / "rocm"))
ENVIRONMENT = {**os.environ, "LOCKSTEP": LOCKSTEP, "ROCM": str(TREE)}


def run(*program, options=(), status=0, environment=None, seconds=300):
    """What a program of the runtime's tree prints."""
    result = subprocess.run([f"{SOURCES}/tools/rocm_exec.sh", *options, "--", *map(str, program)],
                            capture_output=True, text=True, timeout=seconds, env={**ENVIRONMENT, **(environment or {})})
    if status is not None and result.returncode != status:
        raise AssertionError(f"{program}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout + result.stderr


def compiled(name):
    """The program of an example, compiled when it is older than its source."""
    source = pathlib.Path(SOURCES) / "examples" / "hip" / f"{name}.hip"
    program = pathlib.Path(BUILD) / f"hip_{name}"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([f"{SOURCES}/tools/hipcc.sh", source, program], check=True, env=ENVIRONMENT)
    return program


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

    def test_bad_settings_are_told(self):
        text = run("rocminfo", status=None, environment={"LOCKSTEP_DEVICE": "/nowhere.toml"})
        self.assertIn("no device", text)


class Hip(unittest.TestCase):
    def check(self, name, **more):
        text = run(compiled(name), **more)
        self.assertIn("all results are right", text)
        return text

    def test_vector_add(self):
        self.assertIn("AMD Radeon RX 7900 XTX (gfx1100), 48 compute units", self.check("vector_add"))

    def test_vector_add_interpreted(self):
        self.check("vector_add", options=("--engine", "interpreter"))

    def test_matrix_product(self):
        self.check("matrix_product")

    def test_streams(self):
        self.check("streams")

    def test_memory(self):
        self.check("memory")

    def test_copies_by_kernels(self):
        self.check("memory", environment={"HSA_ENABLE_SDMA": "0"})

    def test_graph(self):
        self.check("graph")

    def test_cooperative(self):
        self.assertEqual(self.check("cooperative").count("hello 42 from group"), 4)

    def test_runtime_compiled(self):
        self.check("runtime_compiled")

    def test_two_devices(self):
        self.check("two_devices", options=("--devices", "2"))

    def test_two_processes(self):
        self.check("two_processes")

    def test_fault(self):
        text = run(compiled("fault"), status=None)
        self.assertIn("Memory access fault by GPU node-1", text)
        self.assertIn("write of 4 bytes at 0x1234567000", text)


if __name__ == "__main__":
    if not (TREE / ".complete").exists():
        print(f"skipped: rocm: no ROCm runtime in {TREE} (make rocm)")
        sys.exit(77)
    unittest.main(verbosity=2)
