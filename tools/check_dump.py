#!/usr/bin/env python3
"""Runs dumps of dispatches (docs/dumps.md) with fewer work-groups, under checkers: for kernels that take too long as a whole.

Usage: tools/check_dump.py [--groups N] [--lockstep PROGRAM] [--limit SECONDS] DUMP... [-- OPTIONS OF lockstep run]

The first N work-groups (2 if not said) in x are run, and all in y and z; what the others did is not compared. Options of
`lockstep run` may say what else to do; without any it is `--check all`. Exit code 1: a checker found something, or a run failed.

A kernel that waits for all groups of its grid, or that is told the grid's size by an argument and shares its work out by that,
does something else with fewer of them.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

MAGIC = b"LSDUMP1\n"
HEADER = struct.Struct("<IIQ")
DESCRIPTION, CHANGED_MEMORY, END = 3, 4, 5


def cut(data, groups):
    """The dump with so many groups, and what the dispatch is then. What it left in memory is that of all groups: it goes."""
    if not data.startswith(MAGIC):
        raise ValueError("is no dump of a dispatch")
    parts, description, at = [MAGIC], None, len(MAGIC)
    while at < len(data):
        kind, zero, size = HEADER.unpack_from(data, at)
        at += HEADER.size
        body, at = data[at:at + size], at + size
        if len(body) != size:
            raise ValueError("is cut off")
        if kind == DESCRIPTION:
            description = json.loads(body)
            description["grid"][0] = min(description["grid"][0], groups * description["group"][0])
            body = json.dumps(description).encode()
        if kind not in (CHANGED_MEMORY, END):
            parts.append(HEADER.pack(kind, zero, len(body)) + body)
    if description is None:
        raise ValueError("has no description")
    return b"".join(parts), description


def main():
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1:]
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dumps", nargs="+", metavar="DUMP", type=pathlib.Path)
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--lockstep", default=here / "build/release/cli/lockstep", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=600, help="seconds for each")
    wanted = parser.parse_args(arguments)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for dump in wanted.dumps:
            small = pathlib.Path(folder) / dump.name
            try:
                data, description = cut(dump.read_bytes(), wanted.groups)
            except (OSError, ValueError) as error:
                print(f"{dump}: {error}")
                failures += 1
                continue
            small.write_bytes(data)
            print(f"{dump.name}: {description['kernel']}, {description['grid'][0] // description['group'][0]} work-groups in x",
                  flush=True)
            command = [wanted.lockstep, "run", small, *(options or ["--check", "all"])]
            try:
                result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=wanted.limit)
            except subprocess.TimeoutExpired:
                print(f"  not done in {wanted.limit:.0f} s")
                failures += 1
                continue
            failures += result.returncode != 0
            print("".join(f"  {line}\n" for line in result.stdout.splitlines()), end="", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
