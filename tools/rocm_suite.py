#!/usr/bin/env python3
"""Runs a suite of ROCm test programs, unmodified, under `lockstep exec`, one after the other, and keeps their table.

  tools/rocm_suite.py rocrand [PROGRAM...]       runs them; what is known of the others stays in the table
  tools/rocm_suite.py rocblas --filter '*gemv*'  some of its tests (GoogleTest's filter), as a row of their own
  tools/rocm_suite.py rocblas4 --every 400 --functions 'gemm.*'   each 400th of its quick tests of these functions
  tools/rocm_suite.py tensile f32 i8             all of rocBLAS's kernels for products of matrices of these types
  tools/rocm_suite.py ggml ADD MUL_MAT           operators of the tensor library, a row each
  tools/rocm_suite.py rocrand --page             writes the tables into docs/rocm-suites.md

The programs are those of Debian's packages that tools/rocm_runtime.sh has unpacked. LOCKSTEP names the program `lockstep`,
ROCM another tree than the suite's own. The table is docs/suites/NAME.json, by row: tests, how many passed, seconds,
processor seconds, and, of the devices (`lockstep exec --stats`): dispatches, seconds in kernels, seconds in translation,
wave-instructions. A row whose time was up has what had passed by then, and nothing of the devices. The exit code is 1 if a
test failed or has not been reached."""
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
# The suite's tree below build/, the folder of its programs there, and what a program's name begins with.
SUITES = {
    "rocrand": ("rocm", "usr/libexec/rocm/librocrand1-tests", "test_"),
    "rocprim": ("rocm", "usr/libexec/rocm/librocprim-tests", "test_"),
    "rocthrust": ("rocm", "usr/libexec/rocm/librocthrust-tests", "test_thrust_"),
    "hipcub": ("rocm", "usr/libexec/rocm/libhipcub-tests", "test_hipcub_"),
    "hiprand": ("rocm", "usr/libexec/rocm/libhiprand1-tests", "test_"),
    "rocblas": ("rocm", "usr/libexec/rocm/librocblas0-tests", "rocblas-test"),
    "hipblas": ("rocm", "usr/libexec/rocm/libhipblas0-tests", "hipblas-test"),
    "rocsparse": ("rocm", "usr/libexec/rocm/librocsparse0-tests", "rocsparse-test"),
    "hipsparse": ("rocm", "usr/libexec/rocm/libhipsparse0-tests", "hipsparse-test"),
    "rocsolver": ("rocm", "usr/libexec/rocm/librocsolver0-tests", "rocsolver-test"),
    "rocfft": ("rocm", "usr/libexec/rocm/librocfft0-tests", "rocfft-test"),
    "hipsolver": ("rocm", "usr/libexec/rocm/libhipsolver0-tests", "hipsolver-test"),
    "hipfft": ("rocm", "usr/libexec/rocm/libhipfft0-tests", "hipfft-test"),
    "rocblas4": ("rocm-forky", "usr/libexec/rocm/librocblas4-tests", "rocblas-test"),
    "rocsparse1": ("rocm-forky", "usr/libexec/rocm/librocsparse1-tests", "rocsparse-test"),
    "rocsolver6": ("rocm-forky", "usr/libexec/rocm/librocsolver0-tests", "rocsolver-test"),
    "clblast": ("rocm", "usr/bin", "clblast_test_x"),
    "tensile": ("rocm-forky", None, None),
    "ggml": ("rocm-forky", "usr/libexec/x86_64-linux-gnu/ggml", "test-backend-ops"),
}
# What a suite's program looks for beside itself, which is where the tree's loader stands.
DATA = {
    "rocblas": "usr/share/rocblas/*/test/rocblas_gtest.data",
    "rocsparse": "usr/share/rocsparse/*/test/rocsparse_test.data",
    "rocblas4": "usr/share/librocblas4-tests/data/rocblas_gtest.data",
    "rocsparse1": "usr/share/librocsparse1-tests/data/rocsparse_test.data",
}
TYPES = ("f32", "f64", "c32", "c64", "i8", "f16", "hpa", "hss", "bf16", "bss")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def totals(path):
    """Of a program's statistics: what its devices did, over all of its processes. Nothing of one that was stopped."""
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    names = ("dispatches", "kernel_seconds", "translation_seconds", "wave_instructions")
    return {name: round(sum(record[name] for record in records), 1) for name in names if records}


def google_test_counts(text):
    """What GoogleTest printed, also when it did not come to its end."""
    found = re.search(r"\[==========\] Running (\d+) test", text)
    return {"tests": int(found.group(1)) if found else 0,
            "passed": len(re.findall(r"^\[       OK \]", text, re.MULTILINE)),
            "skipped": len(re.findall(r"^\[  SKIPPED \] \S+ \(", text, re.MULTILINE))}


def operator_counts(text):
    """What test-backend-ops printed for one operator. It says which tests the card's back end itself does not offer."""
    results = re.findall(r"^  [A-Z][A-Z0-9_]*\(.*\): *(?:\[.*\] *)*(OK|FAIL|not supported.*)$", text, re.MULTILINE)
    return {"tests": len(results), "passed": results.count("OK"),
            "skipped": sum(result.startswith("not supported") for result in results)}


def thrust_counts(text):
    """What the programs of rocThrust printed, which have a framework of their own."""
    begin = re.search(r"^Running (\d+) unit tests", text, re.MULTILINE)
    end = re.search(r"^Totals: .* and (\d+) passes", text, re.MULTILINE)
    return {"tests": int(begin.group(1)) if begin else 0, "passed": int(end.group(1)) if end else 0, "skipped": 0}


def clblast_counts(text):
    """What a program of CLBlast printed for each precision; it has a framework of its own."""
    def sum_of(what):
        return sum(int(count) for count in re.findall(rf"^ *(\d+) test\(s\) {what}", text, re.MULTILINE))
    return {"tests": sum_of("(?:passed|skipped|failed)"), "passed": sum_of("passed"), "skipped": sum_of("skipped")}


def product_counts(text):
    """What examples/hip/library_product.hip printed: a line for each of the library's kernels."""
    found = re.search(r"(\d+) solutions$", text, re.MULTILINE)
    return {"tests": int(found.group(1)) if found else 0, "passed": len(re.findall(r": right$", text, re.MULTILINE)),
            "skipped": len(re.findall(r": refused", text, re.MULTILINE))}


def sample(data, every, category, functions, path):
    """Writes each `every`th test of each of the functions, of what a library's test program reads."""
    data = memoryview(data.read_bytes())
    # The file begins with a signature, a record of numbers that shows the layout, and the signature again in other letters.
    signature = bytes(data[:64]).split(b"\0")[0]
    size = re.search(re.escape(signature), bytes(data[len(signature) + 1:8192]), re.IGNORECASE).start()
    begin, found = size + 2 * (len(signature) + 1), {}
    fields = (0, 128) if size < 600 else (539, 667)
    with open(path, "wb") as out:
        out.write(data[:begin])
        for at in range(begin, len(data), size):
            function, of = (bytes(data[at + field:at + field + 64]).split(b"\0")[0].decode() for field in fields)
            if of != category or not re.fullmatch(functions, function):
                continue
            found[function] = found.get(function, -1) + 1
            if found[function] % every == every // 2:
                out.write(data[at:at + size])


def run(tree, program, arguments, limit, counts, folder):
    """What a program of the suite did: one row of the table."""
    with tempfile.TemporaryDirectory() as scratch:
        statistics = pathlib.Path(scratch) / "statistics"
        before, begin = processor_seconds(), time.monotonic()
        try:
            result = subprocess.run([SOURCES / "tools" / "rocm_exec.sh", "--stats", statistics, "--", program, *arguments],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                    timeout=limit, cwd=folder or scratch,
                                    env={**os.environ, "ROCM": str(tree), "GTEST_LISTENER": "PASS_LINE_IN_LOG"})
            text, code = result.stdout, result.returncode
        except subprocess.TimeoutExpired as expired:
            text, code = (expired.stdout or b"").decode(errors="replace"), None
        row = {"seconds": round(time.monotonic() - begin, 1),
               "processor_seconds": round(processor_seconds() - before, 1)}
        row.update(totals(statistics))
    text = ESCAPES.sub("", text)
    row.update(counts(text))
    if not row["skipped"]:
        del row["skipped"]
    failures = [line for line in text.splitlines()
                if re.match(r"\[  FAILED  \]|.*: (\[.*\] *)*FAIL$|lockstep: |Memory access fault", line)]
    if code is None:
        row["time_limit"] = limit
    elif code != 0 or failures:
        row["exit"] = code
    if failures or code:
        row["failures"] = failures[:20] or text.splitlines()[-5:]
    return row


def operators(tree, program):
    """What test-backend-ops can test."""
    text = subprocess.run([SOURCES / "tools" / "rocm_exec.sh", "--", program, "--list-ops"], check=True, capture_output=True,
                          text=True, env={**os.environ, "ROCM": str(tree)}).stdout
    return re.findall(r"^  ([A-Z][A-Z0-9_]*)$", text, re.MULTILINE)


def page(name, rows):
    """The table as Markdown, the longest programs first."""
    def seconds(row, key):
        return f"{row[key]:.1f}" if key in row else ""
    def whole(row, key):
        return f"{row[key]:,}" if key in row else ""
    def millions(row):
        return f"{row['wave_instructions'] / 1e6:,.0f} M" if "wave_instructions" in row else ""
    lines = ["| program | tests | passed | seconds | processor | in kernels | translation | dispatches | wave-instructions |",
             "|---|---|---|---|---|---|---|---|---|"]
    total = {}
    for program, row in sorted(rows.items(), key=lambda item: -item[1]["seconds"]):
        for key, value in row.items():
            if isinstance(value, (int, float)):
                total[key] = total.get(key, 0) + value
        remarks = ([f"{row['skipped']} skipped"] if "skipped" in row else []) + (
            [f"stopped after {row['time_limit']:g} s"] if "time_limit" in row else [])
        passed = f"{row['passed']}" + (f" ({', '.join(remarks)})" if remarks else "")
        lines.append(f"| {program if '`' in program else f'`{program}`'} | {row['tests']} | {passed} | {seconds(row, 'seconds')} | "
                     f"{seconds(row, 'processor_seconds')} | {seconds(row, 'kernel_seconds')} | "
                     f"{seconds(row, 'translation_seconds')} | {whole(row, 'dispatches')} | {millions(row)} |")
    if len(rows) == 1:
        return "\n".join(lines) + "\n"
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
    parser.add_argument("--filter", help="only these tests (GoogleTest's filter)")
    parser.add_argument("--every", type=int, help="of rocBLAS and rocSPARSE: only each such test of a function")
    parser.add_argument("--category", default="quick", help="with --every: of these tests")
    parser.add_argument("--functions", default=".*", help="with --every: of these functions (a regular expression)")
    options = parser.parse_args()
    if options.page:
        write_pages()
        return 0
    tree_name, folder, prefix = SUITES[options.suite]
    tree = pathlib.Path(os.environ.get("ROCM", SOURCES / "build" / tree_name))
    programs = sorted(path for path in (tree / folder).glob(prefix + "*") if os.access(path, os.X_OK)) if folder else []
    scratch = tempfile.TemporaryDirectory()
    # By row: program, its arguments, who counts its results, and the folder in which it runs (a scratch one).
    runs = {}
    if options.suite == "ggml" and programs:
        # Back ends are looked for in the folder where the program runs. An operator's results stand on lines of their own.
        back_ends = tree / "usr/lib/x86_64-linux-gnu/ggml/backends0"
        for name in options.program or operators(tree, programs[0]):
            runs[name] = (programs[0], ["test", "-b", "ROCm0", "-o", name], operator_counts, back_ends)
    elif options.suite == "tensile":
        program = pathlib.Path(scratch.name) / "library_product"
        subprocess.run([SOURCES / "tools" / "hipcc.sh", SOURCES / "examples" / "hip" / "library_product.hip", program],
                       check=True, env={**os.environ, "ROCM": str(tree)})
        for name in options.program or TYPES:
            for operations in ("NN", "NT", "TN", "TT"):
                runs[f"{name} {operations}"] = (program, [name, operations, "144", "80", "72"], product_counts, None)
    elif options.suite == "clblast":
        for path in programs:
            if not options.program or path.name in options.program:
                runs[path.name] = (path, ["-platform", "0", "-device", "0"], clblast_counts, None)
    elif options.every:
        for path in programs:
            data = pathlib.Path(scratch.name) / "tests.data"
            sample(next(tree.glob(DATA[options.suite])), options.every, options.category, options.functions, data)
            name = f"{path.name}, each {options.every}th of {options.category}, `{options.functions}`"
            filters = [f"--gtest_filter={options.filter}"] if options.filter else []
            runs[name] = (path, ["--data", str(data), *filters], google_test_counts, None)
    else:
        counts = thrust_counts if options.suite == "rocthrust" else google_test_counts
        for path in programs:
            name = path.name + (f" {options.filter}" if options.filter else "")
            if not options.program or path.name in options.program:
                runs[name] = (path, [f"--gtest_filter={options.filter}"] if options.filter else [], counts, None)
    if not runs:
        sys.exit(f"no such program in {tree / folder} (`make rocm` fetches them)")
    for path in tree.glob(DATA.get(options.suite, "none")):
        beside = tree / "usr/lib/x86_64-linux-gnu" / path.name
        if not beside.exists():
            beside.symlink_to(path)
    table = SOURCES / "docs" / "suites" / f"{options.suite}.json"
    bad = 0
    for name, (program, arguments, counts, where) in runs.items():
        row = run(tree, program, arguments, options.limit, counts, where)
        bad += row["passed"] + row.get("skipped", 0) != row["tests"] or "exit" in row or "time_limit" in row
        print(f"{name}: {row}", flush=True)
        rows = json.loads(table.read_text()) if table.exists() else {}
        rows[name] = row
        table.parent.mkdir(exist_ok=True)
        table.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
