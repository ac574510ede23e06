#!/usr/bin/env python3
"""Man pages from --help, so that they say what this version does: make_man_pages.py LOCKSTEP FOLDER"""
import re
import subprocess
import sys
from pathlib import Path


def escaped(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def page(name, summary, text, version, others):
    lines = [f'.TH {name.upper()} 1 "" "lockstep {version}" "User Commands"', ".SH NAME",
             f"{escaped(name)} \\- {escaped(summary)}", ".SH DESCRIPTION", ".nf"]
    lines += [escaped(line) for line in text.strip().splitlines()]
    lines.append(".fi")
    if others:
        lines += [".SH SEE ALSO", ", ".join(f"\\fB{escaped(other)}\\fR(1)" for other in others)]
    return "\n".join(lines) + "\n"


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])

    def said(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    version = said("--version").split()[1]
    text = said("--help")
    commands = dict(re.findall(r"^  ([a-z]+) {2,}(.*)$", text[text.index("Subcommands:"):], re.MULTILINE))
    if not commands:
        sys.exit("error: --help lists no subcommands")
    folder.mkdir(parents=True, exist_ok=True)
    names = {command: f"lockstep-{command}" for command in commands}
    (folder / "lockstep.1").write_text(page("lockstep", "an AMD RDNA 3 GPU in software", text, version, names.values()))
    for command, summary in commands.items():
        (folder / f"{names[command]}.1").write_text(
            page(names[command], summary, said(command, "--help"), version, ["lockstep"]))


if __name__ == "__main__":
    main()
