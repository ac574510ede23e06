#!/usr/bin/env python3
"""What `lockstep` says of kernels that go wrong or may: faults, findings, rules, traps, late results.

Usage: checks_test.py LOCKSTEP LOCKSTEP-KCC PLUG-IN"""
import json
import os
import subprocess
import unittest

from case import BAD_INPUT, FAULTED, LOCKSTEP
from kernel_case import PLUGIN, KernelCase


class Checks(KernelCase):
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

    def test_order(self):
        # The last wave that stores leaves its work-item's number, of 256 in four groups.
        (self.path / "last.cl").write_text(
            "__kernel void last(__global int* x) { if (get_local_id(0) % 32 == 0) *x = get_global_id(0); }\n")
        last = ("run", "last.cl", "--grid", "256", "--block", "64", "-w", "32", "-j", "1", "x=buf:i32[1]", "-p", "x")
        for engine in ("interpreter", "translator"):
            work = (*last, "--engine", engine)
            self.lockstep(*work, says="\n224\n")
            self.lockstep(*work, "--order", "forward", says="\n224\n")
            self.lockstep(*work, "--order", "backward", says="\n0\n")
        seen = set()
        for seed in range(8):
            first, second = (self.lockstep(*last, "--order", f"random:{seed}").stdout for _ in "12")
            self.assertEqual(first, second)
            seen.add(first)
        self.assertGreater(len(seen), 2)
        self.lockstep(*last, "--order", "random", "--engine", "translator", says="because of --order random")
        for bad in ("random:", "random:x", "random:-1", "up"):
            self.lockstep(*last, "--order", bad, status=BAD_INPUT,
                          says="none of forward, backward, random and random:SEED")
        self.lockstep(*last, "--order", "backward", "--check", "races", status=1, says="another")
        self.saxpy("--grid", "64", *self.GOOD, "--order", "random:5", "-p", "y", says="1 3 5 7")

    def test_jobs_take_the_options_of_each_dispatch(self):
        # The last group that stores leaves its number, twice; and a load that nobody waits for.
        (self.path / "two.s").write_text(
            "v_mov_b32 v1, s2\ns_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v2, 0\ns_waitcnt lgkmcnt(0)\n"
            "global_store_b32 v2, v1, s[4:5]\nv_mov_b32 v3, 7\nglobal_load_b32 v3, v2, s[4:5] offset:8\n"
            "global_store_b32 v2, v3, s[4:5] offset:4\ns_endpgm\n")
        step = '[[step]]\nkernel = ""\ngroups = 4\nblock = 32\nargs = ["same:x"]\n[[step]]\nprint = "x"\n'
        (self.path / "two.toml").write_text('code = "two.s"\nwave = 32\nthreads = 1\nbuffers = { x = "u32[3]=5" }\n' + step * 2)
        job = ("run", "two.toml", "-q")
        def left(*options, **more):
            return self.lockstep(*job, *options, **more).stdout.replace("x: u32[3]\n", "")
        for engine in ("interpreter", "translator"):
            self.assertEqual(left("--engine", engine), "3 5 5\n" * 2)
            self.assertEqual(left("--engine", engine, "--order", "forward"), "3 5 5\n" * 2)
            self.assertEqual(left("--engine", engine, "--order", "backward"), "0 5 5\n" * 2)
        self.assertGreater(len({left("--order", f"random:{seed}") for seed in range(8)}), 2)
        self.assertEqual(left("--order", "random:3"), left("--order", "random:3"))
        self.assertEqual(left("--results", "late"), "3 7 5\n" * 2)
        text = self.lockstep(*job, "--results", "late", "--rules", "warn").stdout
        self.assertEqual(text.count("global_store_b32 reads v3 before global_load_b32"), 2)
        text = self.lockstep(*job, "--check", "races", "-j", "1", status=1).stdout
        self.assertEqual(text.count("x: u32[3]"), 2)
        self.assertIn("another work-group", text)
        text = self.lockstep(*job, "--fidelity").stdout
        self.assertEqual(text.count("every executed instruction is exact"), 2)
        for options, why in ((("--lds", "64"), "a job says itself"), (("--wave", "32"), "a job says itself"),
                             (("--instruction-limit", "9"), "a job says itself"), (("--grid", "4"), "a job says itself"),
                             (("--print-limit", "1"), "a job says itself"), (("--skip-traps",), "traps are of one dispatch"),
                             (("--check", "races", "--report", "f"), "--report and --format are of one dispatch")):
            self.lockstep(*job, *options, status=BAD_INPUT, says=why)
        self.lockstep(*job, "--order", "up", status=BAD_INPUT, says="none of forward, backward, random and random:SEED")

    @unittest.skipIf(os.environ.get("LOCKSTEP_SANITIZED"), "a sanitizer's runtime would have to be in the program, too")
    def test_observers_of_exec_go_together(self):
        for option, value in (("--rules", "warn"), ("--results", "late"), ("--caches", "incoherent")):
            self.lockstep("exec", "--fidelity", option, value, "--", "true")


if __name__ == "__main__":
    unittest.main()
