#!/usr/bin/env python3
"""Compiles the device code of a collection of other people's programs and says what does not, and why:

    git clone https://github.com/zjin-lcf/HeCBench
    tools/compatibility.py build/release/cli/lockstep HeCBench/src --match '*-hip/*.cu'
    git clone https://github.com/ROCm/rocm-examples
    tools/compatibility.py build/release/cli/lockstep rocm-examples -I rocm-examples/Common --match '*.hip'

The figures of docs/compatibility.md are its last lines. --every N takes every Nth file, in the order of their names. Files
that others of their folder include are parts of those. -D, -I and -std of a Makefile beside a file are given, too.
"""
import argparse
import collections
import fnmatch
import re
import subprocess
import sys
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockstep")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--match", action="append", default=[], help="pattern of paths; may be repeated")
    parser.add_argument("--leave", action="append", default=[], help="pattern of paths that are left away")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("-I", dest="includes", action="append", default=[])
    own, flags = sys.argv[1:], []
    if "--" in own:
        own, flags = own[:own.index("--")], own[own.index("--") + 1:]
    parser.epilog = "more flags of lockstep info: behind --"
    o = parser.parse_args(own)

    def chosen(path):
        name = path.relative_to(o.folder).as_posix()
        return any(fnmatch.fnmatch(name, m) for m in o.match or ["*"]) and not any(fnmatch.fnmatch(name, m) for m in o.leave)

    # Quick enough for thousands of files, and what is not UTF-8 has no matter.
    def text(path):
        return path.read_text(errors="replace")

    def is_part(path):
        include = re.compile(rf'#\s*include\s*[<"](?:[^<">]*/)?{re.escape(path.name)}[">]')
        return any(include.search(text(other)) for other in path.parent.iterdir()
                   if other != path and other.suffix in (".cu", ".hip", ".cpp", ".h", ".hpp", ".cuh"))

    def flags_of_makefile(path):
        for folder in (path.parent, path.parent.parent):
            if (folder / "Makefile").is_file():
                found = re.findall(r"(?<=\s)(-D\w+(?:=[\w.]+)?|-I[\w./+-]+|-std=[\w+]+)(?=\s)", text(folder / "Makefile"))
                return [f"-I{folder / flag[2:]}" if flag.startswith("-I") else flag for flag in dict.fromkeys(found)]
        return []

    all_files = sorted(path for path in o.folder.rglob("*") if path.is_file() and chosen(path))[::o.every]
    files = [path for path in all_files if not is_part(path)]
    reasons = collections.Counter()
    good = 0
    for path in files:
        # Headers stand beside a program, in its include folder, and of HeCBench beside its CUDA twin.
        near = [path.parent, path.parent / "include", path.parent.parent, path.parent.parent / "include",
                Path(str(path.parent).removesuffix("-hip") + "-cuda")]
        includes = [f"-I{folder}" for folder in [*near, *o.includes] if Path(folder).is_dir()]
        run = subprocess.run([o.lockstep, "info", str(path), *includes, *flags_of_makefile(path), *flags],
                             capture_output=True, text=True)
        errors = re.findall(r"error: (.*)", run.stderr + run.stdout)
        if run.returncode == 0:
            good += 1
            continue
        missing = re.match(r"'([^']+)' file not found", errors[0]) if errors else None
        reason = f"needs {missing[1]}" if missing else errors[0][:100] if errors else f"exit code {run.returncode}"
        reasons[reason] += 1
        print(f"{path.relative_to(o.folder)}: {reason}")
    print(f"\n{good} of {len(files)} files compile; {len(all_files) - len(files)} are parts of others")
    for reason, count in reasons.most_common():
        print(f"{count:4} {reason}")


if __name__ == "__main__":
    main()
