#!/usr/bin/env python3
"""Compares the interpreter of two builds on mandelbrot, sgemm, n-body and hash: pairs of runs, one of each build in turn.

Usage: tools/compare_speed.py OLD NEW [PAIRS [THREADS]]   (two `lockstep` programs; 15 pairs on one thread if not said)

Prints for each kernel the median time of both, the median of the pairs' ratios (below 1 the new build is faster) and
the interval that holds the true median in 95 of 100 such measurements. Who runs first changes from pair to pair: the
second of two equal programs can be a few per cent slower. Each run takes its time from the program's own summary, so
compiling and loading do not count.
"""
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
KERNELS = {
    "mandelbrot": ["mandelbrot/mandelbrot.cl", "--kernel", "mandelbrot_iterations", "--grid", "1024,1024", "--block",
                   "16,16", "out=buf:u32[1048576]", "width=1024", "height=1024", "left=-2.2", "top=-1.2",
                   "step_x=0.003", "step_y=0.0024", "limit=256"],
    "sgemm": ["sgemm_tiled/sgemm_tiled.cl", "--grid", "512,512", "--block", "16,16", "a=buf:f32[262144]=random:1",
              "b=buf:f32[262144]=random:2", "c=buf:f32[262144]", "n=512", "k=512"],
    "n-body": ["nbody/nbody.cl", "--grid", "8192", "--block", "128", "bodies=buf:f32[32768]=random:3",
               "acceleration=buf:f32[32768]", "count=8192", "softening=0.01"],
    "hash": ["hash64/hash64.cl", "--grid", "65536", "--block", "256", "out=buf:u64[65536]", "seed=1", "rounds=1000"],
}
SUMMARY = re.compile(r"wave-instructions in ([0-9.]+) s")


def code_object(name, arguments, program, folder):
    """The kernel compiled once, by the compiler driver beside the new program, so that both builds run the same bytes."""
    target = folder / f"{name}.co"
    compiler = pathlib.Path(program).resolve().parent.parent / "toolchain" / "lockstep-kcc"
    subprocess.run([compiler, EXAMPLES / arguments[0], "-o", target, "-O3"], check=True)
    return target


def seconds(program, code, arguments, threads):
    result = subprocess.run([program, "run", code, "--engine", "interpreter", "--threads", str(threads), *arguments], capture_output=True, text=True)
    found = SUMMARY.search(result.stderr)
    if result.returncode != 0 or not found:
        sys.exit(f"{program} run {' '.join(map(str, arguments))}: {result.stderr}")
    return float(found.group(1))


def median_interval(values):
    """Bounds of the median that need no assumption on the noise: order statistics by the binomial distribution."""
    ordered, count = sorted(values), len(values)
    below = 0.0
    for rank in range(count):
        below += math.comb(count, rank) / 2**count
        if below > 0.025:
            return ordered[max(rank - 1, 0)], ordered[min(count - rank, count - 1)]
    return ordered[0], ordered[-1]


def pair(index, run_old, run_new):
    if index % 2:
        new = run_new()
        return run_old(), new
    return run_old(), run_new()


def main():
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    old, new = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    print(f"{'kernel':<12} {'old':>10} {'new':>10}   new / old: median (95 % interval), best of each")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in KERNELS.items():
            code = code_object(name, arguments, new, pathlib.Path(folder))
            times = [pair(index, lambda: seconds(old, code, arguments[1:], threads),
                          lambda: seconds(new, code, arguments[1:], threads)) for index in range(pairs)]
            olds, news = zip(*times)
            ratios = [b / a for a, b in times]
            low, high = median_interval(ratios)
            print(f"{name:<12} {statistics.median(olds) * 1e3:7.1f} ms {statistics.median(news) * 1e3:7.1f} ms   "
                  f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}), {min(news) / min(olds):.3f}", flush=True)


if __name__ == "__main__":
    main()
