#!/usr/bin/env python3
"""What checkers cost in longer runs: the kernels of tools/compare_speed.py with each of them, as a multiple of the run without.

Usage: tools/checker_costs.py PROGRAM[,PROGRAM] [--runs N] [--kernels NAME,...] [CHECKER ...]

PROGRAM is a `lockstep` program; of several each is measured in turn, against its own run without checkers. The best of N
runs (3 if not said) counts. Of a run counts the program's own time of the dispatch or the processor time of the whole
process, whichever is less: in the first one there may be others' turns, in the second one there is its start.
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare_speed  # noqa: E402

CHECKERS = ["barriers", "memory", "races", "uninitialised", "waits", "legality", "all"]


def seconds(program, code, arguments, checker):
    before = os.times()
    command = [program, "run", code, "--engine", "interpreter", "--threads", "1", *arguments]
    result = subprocess.run(command + (["--check", checker] if checker else []), capture_output=True, text=True)
    after = os.times()
    found = compare_speed.SUMMARY.search(result.stderr)
    if not found:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return min(float(found.group(1)), processor)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("checkers", nargs="*")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kernels", default=",".join(compare_speed.KERNELS))
    wanted = parser.parse_intermixed_args()
    programs, kernels = wanted.programs.split(","), wanted.kernels.split(",")
    checkers = wanted.checkers or CHECKERS
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in kernels:
            arguments = compare_speed.KERNELS[name]
            code = compare_speed.code_object(name, arguments, programs[-1], pathlib.Path(folder))
            best = {}
            for _ in range(wanted.runs):
                for program in programs:
                    for checker in [None, *checkers]:
                        time = seconds(program, code, arguments[1:], checker)
                        best[program, checker] = min(time, best.get((program, checker), math.inf))
            for program in programs:
                for checker in checkers:
                    ratios.setdefault((checker, program), []).append(best[program, checker] / best[program, None])
    print(f"{'':<16}" + "".join(f"{name:>12}" for name in kernels) + "        mean")
    for checker in checkers:
        for program in programs:
            row = ratios[checker, program]
            mean = math.exp(sum(map(math.log, row)) / len(row))
            print(f"{checker:<16}" + "".join(f"{ratio:12.2f}" for ratio in row) + f"{mean:12.2f}")


if __name__ == "__main__":
    main()
