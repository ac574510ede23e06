#!/usr/bin/env python3
"""Draws docs/check.svg, the README's picture of what `lockstep check` says of a kernel with a mistake:

    tools/make_report_picture.py build/release/cli/lockstep
"""
import html
import pathlib
import re
import subprocess
import sys
import tempfile

PICTURE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "check.svg"
# The loop reads what other waves added in the round before, and no barrier stands between.
KERNEL = """kernel void sum(global const float* in, global float* out) {
  local float part[256];
  uint id = get_local_id(0);
  part[id] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 128; step > 0; step /= 2)
    if (id < step) part[id] += part[id + step];
  if (id == 0) out[get_group_id(0)] = part[0];
}
"""
ARGUMENTS = ["sum.cl", "--grid", "1024", "--block", "256", "in=buf:f32[1024]=random:1", "out=buf:f32[4]"]
COLOURS = {"1": "#ffffff", "31": "#ff7b72", "33": "#e3b341", "36": "#79c0ff", "2": "#8b949e"}
CELL, LINE, MARGIN = 7.8, 18, 14


def spans(line):
    """The line's pieces with the colours of a terminal's escape sequences."""
    colour = None
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            codes = [code for code in part[2:-1].split(";") if code in COLOURS]
            colour = COLOURS[codes[-1]] if codes else None
        elif part:
            yield part, colour


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "sum.cl").write_text(KERNEL)
        command = [program, "check", *ARGUMENTS]
        shown = subprocess.run(["script", "-qec", " ".join(f"'{word}'" for word in command), "/dev/null"], cwd=folder,
                               capture_output=True, text=True, check=False).stdout.replace(folder + "/", "")
    lines = ["$ lockstep check " + " ".join(ARGUMENTS), *shown.replace("\r", "").rstrip("\n").split("\n")]
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width, height = MARGIN * 2 + CELL * max(map(len, plain)), MARGIN * 2 + LINE * len(lines)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">',
           f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0d1117"/>',
           '<g font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="13" fill="#c9d1d9" xml:space="preserve">']
    for number, line in enumerate(lines):
        text = "".join(f'<tspan fill="{colour}">{html.escape(part)}</tspan>' if colour else html.escape(part)
                       for part, colour in spans(line))
        svg.append(f'<text x="{MARGIN}" y="{MARGIN + LINE * number + 13}">{text}</text>')
    PICTURE.write_text("\n".join([*svg, "</g>", "</svg>", ""]))


if __name__ == "__main__":
    main()
