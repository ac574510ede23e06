#!/usr/bin/env python3
"""What the way to the emulated card costs, beside what it is compared to: bench/hip/launch.py [LAUNCH] [MEASURE...]

LAUNCH is bench/hip/launch.hip, compiled by tools/hipcc.sh (default: it is compiled below build/). Measures: start launch
rest work many copy idle. Wants a machine with two processors that nobody else uses."""
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parents[2]
LOCKSTEP = HERE / "build" / "release" / "cli" / "lockstep"
MUST = {"launch_median": 10, "launch_after_20_ms_median": 40, "launches_a_second": 150_000, "to_device_over_memcpy": 1.5,
        "from_device_over_memcpy": 1.5, "start_over_plain": 20, "idle_10_s": 10}


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def tell(name, value, unit):
    bound = MUST.get(name)
    note = "" if bound is None else f"   (at {'least' if unit == '/s' else 'most'} {bound})"
    print(f"{name:32} {value:>12} {unit}{note}")


def start():
    # In turns: what the machine does meanwhile falls on both.
    plain, under = [], []
    for _ in range(21):
        plain.append(seconds(["true"]))
        under.append(seconds([LOCKSTEP, "exec", "--", "true"]))
    difference = statistics.median(u - p for u, p in zip(under, plain))
    tell("start_over_plain", f"{difference * 1000:.1f}", "ms")


def main():
    arguments = sys.argv[1:]
    measures = [a for a in arguments if a in ("start", "launch", "rest", "work", "many", "copy", "idle")]
    programs = [a for a in arguments if a not in measures]
    measures = measures or ["start", "launch", "rest", "many", "copy", "idle"]
    if programs:
        program = programs[0]
    else:
        program = HERE / "build" / "hip_launch"
        subprocess.run([HERE / "tools" / "hipcc.sh", HERE / "bench" / "hip" / "launch.hip", program], check=True)
    for measure in measures:
        if measure == "start":
            start()
            continue
        result = subprocess.run([HERE / "tools" / "rocm_exec.sh", "--", program, measure], capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{program} {measure}: exit code {result.returncode}\n{result.stderr}")
        for line in result.stdout.splitlines():
            name, value, *unit = line.split()
            tell(name, value, " ".join(unit))


main()
