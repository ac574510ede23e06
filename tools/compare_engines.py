#!/usr/bin/env python3
"""Compares `--engine auto` with the interpreter and the translator alone, on four kernels, each in runs of three lengths.

Usage: tools/compare_engines.py LOCKSTEP [ROUNDS [THREADS]]   (a `lockstep` program; 5 rounds on one thread if not said)

The times are those of the whole program on the wall clock, code objects compiled before: `auto` and the translator start with nothing
kept (a cache of their own), `again` is auto with what the run before it has kept. The least of all rounds counts, and rounds take the
engines in turns. Wanted is that auto takes at most 5 % more than the better engine in runs of more than a second, and at most 10 ms
more than the interpreter in shorter ones. Exit code 1 if it does not. Wants a machine that nobody else uses.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from compare_speed import KERNELS, code_object

# What of KERNELS' arguments makes a run longer: name, values.
LENGTHS = {
    "mandelbrot": ("limit=", ["8", "256", "8192"]),
    "sgemm": ("k=", ["8", "512", "512*8"]),
    "n-body": ("count=", ["64", "1024", "8192"]),
    "hash": ("rounds=", ["4", "200", "20000"]),
}
KINDS = {"interpreter": "interpreter", "translator": "translator", "auto": "auto", "again": "auto"}
LONG = 1.0  # seconds


def arguments_of(name, length):
    """The kernel's arguments for a run of that length; sgemm becomes longer by a larger matrix beyond its first two lengths."""
    arguments = KERNELS[name][1:]
    variable, values = LENGTHS[name]
    value = values[length]
    if "*" in value:  # 8 times the work: twice the size
        return [a.replace("512,512", "1024,1024").replace("262144", "1048576").replace("=512", "=1024") for a in arguments]
    return [variable + value if a.startswith(variable) else a for a in arguments]


def seconds(program, code, arguments, engine, cache, threads):
    begin = time.perf_counter()
    result = subprocess.run([program, "run", code, "--engine", engine, "--threads", str(threads), "--quiet", *arguments],
                            capture_output=True, text=True, env=os.environ | {"XDG_CACHE_HOME": str(cache)})
    taken = time.perf_counter() - begin
    if result.returncode != 0:
        sys.exit(f"{program} run {' '.join(map(str, arguments))}: {result.stderr}")
    return taken


def measure(program, code, arguments, rounds, threads, folder):
    least = dict.fromkeys(KINDS, float("inf"))
    for _ in range(rounds):
        for kind, engine in KINDS.items():
            cache = folder / ("cache_of_auto" if engine == "auto" else f"cache_of_{engine}")
            if kind != "again":
                shutil.rmtree(cache, ignore_errors=True)
            least[kind] = min(least[kind], seconds(program, code, arguments, engine, cache, threads))
    return least


def verdict(least):
    """What is wrong with how long auto took; empty if nothing is."""
    better = min(least["interpreter"], least["translator"])
    if better > LONG:
        return "" if least["auto"] <= better * 1.05 else f"auto takes {least['auto'] / better:.2f} of the better engine"
    late = least["auto"] - least["interpreter"]
    return "" if late <= 0.010 else f"auto takes {late * 1e3:.0f} ms more than the interpreter"


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    program = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"{'kernel':<12}" + "".join(f"{kind:>15}" for kind in KINDS), flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        for name in KERNELS:
            code = code_object(name, KERNELS[name], program, folder)
            for length in range(3):
                least = measure(program, code, arguments_of(name, length), rounds, threads, folder)
                wrong = verdict(least)
                failed |= bool(wrong)
                print(f"{name:<12}" + "".join(f"{value * 1e3:12.1f} ms" for value in least.values()) + "  " + wrong, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
