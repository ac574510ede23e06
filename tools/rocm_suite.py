#!/usr/bin/env python3
"""Runs a suite of ROCm test programs, unmodified, under `lockstep exec`, one after the other, and keeps their table.

  tools/rocm_suite.py rocrand [PROGRAM...]       runs them; what is known of the others stays in the table
  tools/rocm_suite.py rocrand --page             writes the table into docs/rocm-suites.md

The programs are those of Debian's packages that tools/rocm_runtime.sh has unpacked (GoogleTest). LOCKSTEP names the
program `lockstep`, ROCM the tree (build/rocm). The table is docs/suites/NAME.json, by program: tests, how many passed,
seconds, processor seconds, and, of the devices (`lockstep exec --stats`): dispatches, seconds in kernels, seconds in
translation, wave-instructions. The exit code is 1 if a test failed."""
import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

SOURCES = pathlib.Path(__file__).resolve().parent.parent
TREE = pathlib.Path(os.environ.get("ROCM", SOURCES / "build" / "rocm"))
# Folder of the suite's programs in the tree, and what a program's name begins with.
SUITES = {
    "rocrand": ("usr/libexec/rocm/librocrand1-tests", "test_"),
    "rocprim": ("usr/libexec/rocm/librocprim-tests", "test_"),
}


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def totals(path):
    """Of a program's statistics: what its devices did, over all of its processes."""
    sums = {"dispatches": 0, "kernel_seconds": 0.0, "translation_seconds": 0.0, "wave_instructions": 0}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["event"] != "statistics":
            continue
        for name in sums:
            sums[name] += record[name]
    return sums


def run(program, arguments, limit):
    """What a program of the suite did: one row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        statistics = pathlib.Path(folder) / "statistics"
        before, begin = processor_seconds(), time.monotonic()
        try:
            result = subprocess.run([SOURCES / "tools" / "rocm_exec.sh", "--stats", statistics, "--", program, *arguments],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                    timeout=limit, cwd=folder)
            text, code = result.stdout, result.returncode
        except subprocess.TimeoutExpired as expired:
            text, code = (expired.stdout or b"").decode(errors="replace"), f"no end within {limit} s"
        row = {"seconds": round(time.monotonic() - begin, 1),
               "processor_seconds": round(processor_seconds() - before, 1)}
        if statistics.exists():
            row.update({name: round(value, 1) for name, value in totals(statistics).items()})
    def count(pattern):
        found = re.search(pattern, text)
        return int(found.group(1)) if found else 0
    row["tests"] = count(r"\[==========\] Running (\d+) test")
    row["passed"] = count(r"\[  PASSED  \] (\d+) test")
    skipped = count(r"\[  SKIPPED \] (\d+) test")
    if skipped:
        row["skipped"] = skipped
    failures = [line for line in text.splitlines() if re.match(r"\[  FAILED  \]|lockstep: |Memory access fault", line)]
    if code != 0 or failures:
        row["exit"] = code
        row["failures"] = failures[:20] or text.splitlines()[-5:]
    return row


def page(name, rows):
    """The table as Markdown, the longest programs first."""
    def seconds(row, key):
        return f"{row[key]:.1f}" if key in row else ""
    lines = ["| program | tests | passed | seconds | processor | in kernels | translation | dispatches | wave-instructions |",
             "|---|---|---|---|---|---|---|---|---|"]
    total = {}
    for program, row in sorted(rows.items(), key=lambda item: -item[1]["seconds"]):
        for key, value in row.items():
            if isinstance(value, (int, float)):
                total[key] = total.get(key, 0) + value
        passed = f"{row['passed']}" + (f" ({row['skipped']} skipped)" if "skipped" in row else "")
        lines.append(f"| `{program}` | {row['tests']} | {passed} | {seconds(row, 'seconds')} | "
                     f"{seconds(row, 'processor_seconds')} | {seconds(row, 'kernel_seconds')} | "
                     f"{seconds(row, 'translation_seconds')} | {row.get('dispatches', ''):,} | "
                     f"{row.get('wave_instructions', 0) / 1e6:,.0f} M |")
    lines.append(f"| all {len(rows)} | {total['tests']} | {total['passed']} | {total['seconds']:.1f} | "
                 f"{total['processor_seconds']:.1f} | {total.get('kernel_seconds', 0):.1f} | "
                 f"{total.get('translation_seconds', 0):.1f} | {total.get('dispatches', 0):,} | "
                 f"{total.get('wave_instructions', 0) / 1e6:,.0f} M |")
    return "\n".join(lines) + "\n"


def write_pages():
    """Puts the tables into the page, between the marks of each suite."""
    path = SOURCES / "docs" / "rocm-suites.md"
    text = path.read_text()
    for name in SUITES:
        table = SOURCES / "docs" / "suites" / f"{name}.json"
        if not table.exists():
            continue
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        if begin not in text:
            sys.exit(f"{path} has no marks for {name}: add the lines {begin.strip()} and {end.strip()}")
        before, rest = text.split(begin)
        text = before + begin + page(name, json.loads(table.read_text())) + end + rest.split(end)[1]
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("program", nargs="*", help="only these")
    parser.add_argument("--page", action="store_true", help="writes the tables into docs/rocm-suites.md, runs nothing")
    parser.add_argument("--limit", type=float, default=3600, help="seconds that a program may take")
    parser.add_argument("--filter", help="only these tests (GoogleTest's filter); the table is not kept then")
    options = parser.parse_args()
    if options.page:
        write_pages()
        return 0
    folder, prefix = SUITES[options.suite]
    programs = sorted(path for path in (TREE / folder).glob(prefix + "*") if os.access(path, os.X_OK))
    if options.program:
        programs = [path for path in programs if path.name in options.program]
    if not programs:
        sys.exit(f"no such program in {TREE / folder} (`make rocm` fetches them)")
    table = SOURCES / "docs" / "suites" / f"{options.suite}.json"
    rows = json.loads(table.read_text()) if table.exists() else {}
    bad = 0
    for program in programs:
        row = run(program, [f"--gtest_filter={options.filter}"] if options.filter else [], options.limit)
        bad += row["passed"] + row.get("skipped", 0) != row["tests"] or "exit" in row
        print(f"{program.name}: {row}", flush=True)
        if options.filter:
            continue
        rows[program.name] = row
        table.parent.mkdir(exist_ok=True)
        table.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
