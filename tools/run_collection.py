#!/usr/bin/env python3
"""Builds programs of HeCBench whole, by their own makefiles, with AMD's runtime (make rocm), runs them under `lockstep exec`
and says what became of each:

    git clone https://github.com/zjin-lcf/HeCBench
    tools/run_collection.py HeCBench/src --every 3

Numbers in a program's arguments that are larger than --largest become that; a program that does not like it is run with
its own. What a program says of its results counts: `passed` and `failed` are by its words, `ran` has no verdict of its own,
`stopped` was not at its end after --seconds, `no data` lacks a file
that it reads. ROCM names the runtime's tree (build/rocm), LOCKSTEP the program `lockstep`.
The last line is what docs/compatibility.md has."""
import argparse
import collections
import os
import pathlib
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import time

SOURCES = pathlib.Path(__file__).resolve().parent.parent
# As hipcc is called: with -c or not, with sources and objects. The rest is what tools/hipcc.sh knows of this machine.
COMPILER = """#!/bin/bash
set -eu
tree=$(realpath "$ROCM")
libraries=$tree/usr/lib/x86_64-linux-gnu
for bitcode in {"$tree",%(sources)s/build/rocm}/usr/lib/llvm-1?/lib/clang/*/amdgcn/bitcode; do [ -d "$bitcode" ] && break; done
device=(--offload-arch=gfx1100 --rocm-path="$tree/usr" --rocm-device-lib-path="$bitcode" -idirafter "$tree/usr/include")
arguments=() sources=0 links=1
for argument; do
  case $argument in
    -c) links=0; arguments+=(-c) ;;
    *.cu | *.hip | *.cpp | *.cc) sources=1; arguments+=(-x hip "$argument" -x none) ;;
    --offload-arch=*) ;;
    *) arguments+=("$argument") ;;
  esac
done
((sources)) && arguments=("${device[@]}" -mcode-object-version="${CODE_OBJECT_VERSION:-5}" "${arguments[@]}")
((links)) && arguments+=(-L"$libraries" -lamdhip64 -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs)
exec clang++-19 -w "${arguments[@]}"
"""
GOOD = re.compile(r"\bpass(ed)?\b|\bsuccess(ful|fully)?\b|\bcorrect(ly)?\b|\bverified\b|\bmatch(es)?\b|\bok\b", re.I)
BAD = re.compile(r"\bfail(ed|s|ure)?\b|\bmismatch(es)?\b|\bincorrect\b|\bwrong\b|not match|unsuccessful|\berrors? at\b", re.I)
MISSING = re.compile(r"no such file|(unable|failed|cannot|could not) (to )?(open|read|load|find)", re.I)


def finished(command, folder, seconds, environment):
    """Exit code (None: it was stopped) and what was written."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        output.seek(0)
        return code, output.read(1 << 20).decode(errors="replace")


def reduced(words, largest):
    return [str(largest) if word.isdecimal() and int(word) > largest else word for word in words]


def verdict(code, text):
    if code is None:
        return "stopped"
    if code != 0 or BAD.search(text):
        return "failed"
    return "passed" if GOOD.search(text) else "ran"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="programs, without -hip; all if none is named")
    parser.add_argument("--every", type=int, default=1, help="every Nth")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first of them")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--largest", type=int, default=1024)
    parser.add_argument("--verbose", action="store_true", help="what a program that failed wrote")
    o = parser.parse_args()
    environment = {**os.environ, "ROCM": os.environ.get("ROCM", str(SOURCES / "build/rocm"))}
    folders = sorted(p for p in o.folder.glob("*-hip") if (p / "Makefile").is_file())
    folders = [p for p in folders if p.name.removesuffix("-hip") in o.names] if o.names else folders[o.first::o.every]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        compiler = pathlib.Path(temporary) / "hipcc"
        compiler.write_text(COMPILER % {"sources": shlex.quote(str(SOURCES))})
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        for folder in folders:
            name, begin = folder.name.removesuffix("-hip"), time.monotonic()
            make = ["make", f"CC={compiler}"]
            code, text = finished([*make, "-B"], folder, 300, environment)
            if code != 0:
                counts["not built"] += 1
                why = re.search(r"error: (.*)", text)
                print(f"{name}: not built: {why[1][:110] if why else text.strip().splitlines()[-1:]}", flush=True)
                continue
            _, plan = finished([*make, "-n", "run"], folder, 60, environment)
            lines = [line for line in plan.splitlines() if re.match(r"\s*(\./|\S*/)?[\w./-]+", line) and "./" in line
                     and not line.lstrip().startswith(str(compiler))]
            try:
                words = shlex.split(lines[0].split("&&")[-1].split("|")[0].split(">")[0]) if lines else ["./main"]
            except ValueError:  # a command in several lines
                words = ["./main"]
            tries = [reduced(words, o.largest)]
            if tries[0] != words:
                tries.append(words)
            for command in tries:
                code, text = finished([SOURCES / "tools/rocm_exec.sh", "--", *command], folder, o.seconds, environment)
                result = verdict(code, text)
                if result != "failed":
                    break
            # Files of git-lfs and dvc, and what a script downloads.
            if result == "failed" and (MISSING.search(text) or
                                       any("/" in word and not (folder / word).exists() for word in words[1:])):
                result = "no data"
            counts[result] += 1
            print(f"{name}: {result}{f' (exit code {code})' if code else ''}, {time.monotonic() - begin:.0f} s: "
                  f"{' '.join(command)}", flush=True)
            if o.verbose and result == "failed":
                print("    " + "\n    ".join(text.strip().splitlines()[-12:]), flush=True)
    print(f"\n{sum(counts.values())} programs: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))


if __name__ == "__main__":
    main()
