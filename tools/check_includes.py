#!/usr/bin/env python3
"""Checks the direction of includes: a folder may include itself and what its lockstep_library() line names in DEPENDS
(a folder that builds its target by hand: what it links).

The rule is docs/architecture.md's table of folders. Tests, fuzz targets, benchmarks and examples may include anything;
headers for device code (include/) belong to another compilation.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FREE = {"tests", "fuzz", "bench", "examples", "docs", "tools", "cmake"}
LIBRARY = re.compile(r"lockstep_library\(\s*([\w/]+)([^)]*)\)", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def declared_dependencies():
    """Folder -> set of folders that it declares."""
    result = {}
    for listing in ROOT.glob("**/CMakeLists.txt"):
        if "build" in listing.relative_to(ROOT).parts:
            continue
        text = re.sub(r"#.*", "", listing.read_text())
        for name, rest in LIBRARY.findall(text):
            found = re.search(r"DEPENDS([\w/\s]*?)(?:SOURCES|LIBRARIES|$)", rest, re.S)
            result[name] = set(found.group(1).split()) if found else set()
        folder = str(listing.parent.relative_to(ROOT))
        if folder not in result and "add_library(" in text or "add_executable(" in text:
            linked = re.findall(r"\blockstep_(\w+)", text)
            result.setdefault(folder, set()).update(linked, [name.replace("_", "/") for name in linked])
    return result


def folder_of(path, folders):
    """The most specific known folder that holds the path."""
    candidates = [f for f in folders if path == f or path.startswith(f + "/")]
    return max(candidates, key=len) if candidates else None


def main():
    allowed = declared_dependencies()
    files = subprocess.run(["git", "ls-files", "*.h", "*.hpp", "*.cpp", "*.inc"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    problems = []
    for file in files:
        parts = file.split("/")
        if parts[0] in FREE or "include" in parts[1:-1]:
            continue
        home = folder_of(file, allowed)
        if home is None:
            problems.append(f"{file}: its folder has no lockstep_library() line")
            continue
        for included in INCLUDE.findall((ROOT / file).read_text()):
            target = folder_of(included, allowed)
            if target is None:
                # The installed headers of api/ are named as users name them.
                if not included.startswith("llvm/") and not included.startswith("lockstep"):
                    problems.append(f'{file}: "{included}" is not a path from the root')
                continue
            if target != home and target not in allowed[home]:
                problems.append(f"{file}: {home}/ may not include {included} "
                                f"(allowed: {', '.join(sorted(allowed[home])) or 'nothing'})")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"include direction: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
