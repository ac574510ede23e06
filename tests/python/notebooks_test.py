#!/usr/bin/env python3
"""Runs the cells of notebooks, and has what a cell ends with shown as Jupyter does. Needs no Jupyter."""
import ast
import contextlib
import io
import json
import sys
import traceback

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit(77)


class Printer:
    """What _repr_pretty_ gets from IPython, as far as the package uses it."""

    def text(self, text):
        print(text)


def show(value):
    if hasattr(value, "_repr_pretty_"):
        value._repr_pretty_(Printer(), False)
    elif value is not None:
        print(repr(value))


def run(path):
    with open(path) as file:
        cells = ["".join(cell["source"]) for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    if not cells:
        raise ValueError("has no cells with code")
    names = {"__name__": "__main__"}
    printed = []
    for number, text in enumerate(cells, 1):
        tree = ast.parse(text, f"{path}, code cell {number}")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(tree, f"{path}, code cell {number}", "exec"), names)
            if last:
                show(eval(compile(ast.Expression(last.value), f"{path}, code cell {number}", "eval"), names))
        printed.append(out.getvalue())
    if not "".join(printed):
        raise ValueError("shows nothing")
    return "".join(printed)


def main():
    failed = False
    for path in sys.argv[1:]:
        try:
            print(f"== {path}\n{run(path)}")
        except Exception:
            traceback.print_exc()
            failed = True
    return 1 if failed or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
