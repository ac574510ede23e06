#!/usr/bin/env python3
"""Compiles the device code of a collection of other people's programs and says what does not, and why:

    git clone https://github.com/zjin-lcf/HeCBench
    tools/compatibility.py build/release/cli/lockstep HeCBench/src --match '*-hip/*.cu' --every 6
    git clone https://github.com/ROCm/rocm-examples
    tools/compatibility.py build/release/cli/lockstep rocm-examples -I rocm-examples/Common --match '*.hip'

The figures of docs/compatibility.md are its last lines. --every N takes every Nth file, in the order of their names.
"""
import argparse
import collections
import fnmatch
import re
import subprocess
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockstep")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--match", action="append", default=[], help="pattern of paths; may be repeated")
    parser.add_argument("--leave", action="append", default=[], help="pattern of paths that are left away")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("-I", dest="includes", action="append", default=[])
    parser.add_argument("flags", nargs="*", help="more flags, behind --")
    o = parser.parse_args()

    def chosen(path):
        name = path.relative_to(o.folder).as_posix()
        return any(fnmatch.fnmatch(name, m) for m in o.match or ["*"]) and not any(fnmatch.fnmatch(name, m) for m in o.leave)

    files = sorted(path for path in o.folder.rglob("*") if path.is_file() and chosen(path))[::o.every]
    reasons = collections.Counter()
    good = 0
    for path in files:
        # Headers stand beside a program, in its include folder, and of HeCBench beside its CUDA twin.
        near = [path.parent, path.parent / "include", path.parent.parent, path.parent.parent / "include",
                Path(str(path.parent).removesuffix("-hip") + "-cuda")]
        flags = [f"-I{folder}" for folder in [*near, *o.includes] if Path(folder).is_dir()]
        run = subprocess.run([o.lockstep, "info", str(path), *flags, *o.flags], capture_output=True, text=True)
        errors = re.findall(r"error: (.*)", run.stderr + run.stdout)
        if run.returncode == 0:
            good += 1
            continue
        missing = re.match(r"'([^']+)' file not found", errors[0]) if errors else None
        reason = f"needs {missing[1]}" if missing else errors[0][:100] if errors else f"exit code {run.returncode}"
        reasons[reason] += 1
        print(f"{path.relative_to(o.folder)}: {reason}")
    print(f"\n{good} of {len(files)} files compile")
    for reason, count in reasons.most_common():
        print(f"{count:4} {reason}")


if __name__ == "__main__":
    main()
