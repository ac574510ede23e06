#!/usr/bin/env python3
"""Builds programs of HeCBench or rocm-examples whole, by their own makefiles, with AMD's runtime (make rocm), runs them under
`lockstep exec` and says what became of each:

    git clone https://github.com/zjin-lcf/HeCBench
    tools/run_collection.py HeCBench/src --every 3 --results hecbench.json
    git clone https://github.com/ROCm/rocm-examples
    tools/run_collection.py rocm-examples/HIP-Basic

Numbers in a program's arguments that are larger than --largest become that; a program that does not like it is run with
its own. What a program says of its results counts: `passed` and `failed` are by its words, `ran` has no verdict of its own,
`stopped` was not at its end after --seconds, `no data` lacks a file that it reads. With --results each program's record is
kept in that file as soon as it is known, and a later call leaves out the programs that are in it, unless they are named: a
collection can be run in pieces. ROCM names the runtime's tree (build/rocm), LOCKSTEP the program `lockstep`.
The last line is what docs/compatibility.md has."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

SOURCES = pathlib.Path(__file__).resolve().parent.parent
# As hipcc is called: with -c or not, with sources and objects, for -O3 if nothing else is said. The rest is what tools/hipcc.sh knows of this machine.
COMPILER = """#!/bin/bash
set -eu
tree=$(realpath "$ROCM")
libraries=$tree/usr/lib/x86_64-linux-gnu
for bitcode in {"$tree",%(sources)s/build/rocm}/usr/lib/llvm-1?/lib/clang/*/amdgcn/bitcode; do [ -d "$bitcode" ] && break; done
device=(--offload-arch=gfx1100 --rocm-path="$tree/usr" --rocm-device-lib-path="$bitcode" -idirafter "$tree/usr/include")
arguments=() sources=0 links=1 level=-O3
for argument; do
  case $argument in
    -c | --emit-static-lib | --cuda-device-only) links=0; arguments+=("$argument") ;;
    -O*) level=; arguments+=("$argument") ;;
    --genco) links=0; arguments+=(--cuda-device-only) ;;
    *.cu | *.hip | *.cpp | *.cc) sources=1; arguments+=(-x hip "$argument" -x none) ;;
    --offload-arch=*) ;;
    *) arguments+=("$argument") ;;
  esac
done
((sources)) && arguments=("${device[@]}" -mcode-object-version="${CODE_OBJECT_VERSION:-5}" $level "${arguments[@]}")
((links)) && arguments+=(-L"$libraries" -lamdhip64 -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs)
exec clang++-19 -w "${arguments[@]}"
"""
GOOD = re.compile(r"\bpass(ed)?\b|\bsuccess(ful|fully)?\b|\bcorrect(ly)?\b|\bverified\b|\bmatch(es)?\b|\bok\b", re.I)
BAD = re.compile(r"\bfail(ed|s|ure)?\b|\bmismatch(es)?\b|\bincorrect\b|\bwrong\b|not match|unsuccessful|\berrors? at\b", re.I)
MISSING = re.compile(r"no such file|(unable|failed|cannot|could not) (to )?(open|read|load|find)", re.I)
# What makefiles of rocm-examples call beside hipcc, and the card's model alone: this machine's LLVM does not know all of theirs.
TOOLS = {"CLANG": "clang-19 -nogpulib", "LLVM_MC": "llvm-mc-19", "LLVM_DIS": "llvm-dis-19",
         "CLANG_OFFLOAD_BUNDLER": "clang-offload-bundler-19", "HIP_ARCHITECTURES": "gfx1100"}


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


def makefile_programs(folder):
    """The collection's programs by name, each with its folder and the name of what its makefile builds (None: see `make run`)."""
    benchmarks = {path.parent.name.removesuffix("-hip"): (path.parent, None) for path in sorted(folder.glob("*-hip/Makefile"))}
    if benchmarks:
        return benchmarks
    examples = {}
    for path in sorted(folder.rglob("Makefile")):
        built = re.search(r"^EXAMPLE *:= *(\S+)", path.read_text(errors="replace"), re.M)
        if built:
            examples[str(path.parent.relative_to(folder))] = (path.parent, built[1])
    return examples


def command_of(folder, make, compiler, environment):
    """What `make run` would start, as words."""
    _, plan = finished([*make, "-n", "run"], folder, 60, environment)
    lines = [line for line in plan.replace("\\\n", " ").splitlines() if re.match(r"\s*(\./|\S*/)?[\w./-]+", line) and "./" in line
             and not line.lstrip().startswith(str(compiler))]
    try:
        return shlex.split(lines[0].split("&&")[-1].split("|")[0].split(">")[0]) if lines else ["./main"]
    except ValueError:  # a part of a shell's loop
        return ["./main"]


def record(folder, built, compiler, options, environment):
    """Builds and runs one program: what became of it."""
    begin = time.monotonic()
    make = ["make", f"CC={compiler}"]
    if built:
        tree = environment["ROCM"] + "/usr"
        make += [f"HIPCXX={compiler}", f"ROCM_INSTALL_DIR={tree}", *map("=".join, TOOLS.items()),
                 f"LDFLAGS=-L{tree}/lib/x86_64-linux-gnu -Wl,--unresolved-symbols=ignore-in-shared-libs"]
    code, text = finished([*make, "-B"], folder, 300, environment)
    if code != 0:
        why = re.search(r"error: (.*)", text)
        return {"result": "not built", "why": why[1][:160] if why else "".join(text.strip().splitlines()[-1:])[:160]}
    words = [f"./{built}"] if built else command_of(folder, make, compiler, environment)
    tries = [reduced(words, options.largest)]
    if tries[0] != words:
        tries.append(words)
    for command in tries:
        code, text = finished([SOURCES / "tools/rocm_exec.sh", "--", *command], folder, options.seconds, environment)
        result = verdict(code, text)
        if result != "failed":
            break
    # Files of git-lfs and dvc, and what a script downloads.
    if result == "failed" and (MISSING.search(text) or
                               any("/" in word and not (folder / word).exists() for word in words[1:])):
        result = "no data"
    became = {"result": result, "command": " ".join(command), "seconds": round(time.monotonic() - begin)}
    if code:
        became["exit"] = code
    if result in ("failed", "no data"):
        became["wrote"] = text.strip().splitlines()[-12:]
    return became


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="programs, without -hip; all if none is named")
    parser.add_argument("--every", type=int, default=1, help="every Nth")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first of them")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--largest", type=int, default=1024)
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--results", type=pathlib.Path, help="records of earlier calls, which this one adds to")
    parser.add_argument("--verbose", action="store_true", help="what a program that failed wrote")
    o = parser.parse_args()
    environment = {**os.environ, "ROCM": os.path.realpath(os.environ.get("ROCM", SOURCES / "build/rocm"))}
    programs = makefile_programs(o.folder)
    unknown = set(o.names) - set(programs)
    if unknown:
        parser.error(f"no such program in {o.folder}: {', '.join(sorted(unknown))}")
    records = json.loads(o.results.read_text()) if o.results and o.results.exists() else {}
    wanted = o.names or [name for name in list(programs)[o.first::o.every] if name not in records]
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        compiler = pathlib.Path(temporary) / "hipcc"
        compiler.write_text(COMPILER % {"sources": shlex.quote(str(SOURCES))})
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)

        def one(name):
            became = record(*programs[name], compiler, o, environment)
            rest = " ".join(f"{key} {became[key]}" for key in ("exit", "seconds", "command", "why") if key in became)
            with lock:
                print(f"{name}: {became['result']}: {rest}", flush=True)
                if o.verbose and became["result"] == "failed":
                    print("    " + "\n    ".join(became["wrote"]), flush=True)
                records[name] = became
                if o.results:
                    kept = o.results.with_suffix(".new")
                    kept.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
                    kept.replace(o.results)

        for done in [pool.submit(one, name) for name in wanted]:
            done.result()
    counts = collections.Counter(became["result"] for became in records.values())
    print(f"\n{sum(counts.values())} programs: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))


if __name__ == "__main__":
    main()
