#!/usr/bin/env python3
"""What the pages say: links lead somewhere, options exist, and the commands of docs/running.md print what stands there.

Usage: docs_test.py LOCKSTEP"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LOCKSTEP = os.path.abspath(sys.argv.pop(1))
SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*SOURCES.glob("*.md"), *SOURCES.glob("docs/*.md"), *SOURCES.glob("examples/**/*.md")])
COMMANDS = ("run", "check", "info", "disasm", "devices", "cache", "doctor", "isa", "exec")
# What clang takes, in the middle of our own.
COMPILERS = re.compile(r"-(D|U|I|O|W|cl-|std=|include|isystem|f[a-z]|m[a-z])")
ENVIRONMENT = dict(os.environ, PATH=f"{os.path.dirname(LOCKSTEP)}:{os.environ['PATH']}")


def blocks(text):
    """Language, contents and the line before, of each piece of code."""
    for match in re.finditer(r"(?:^([^\n]*)\n\n?)?^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        yield match[2], match[3], match[1] or ""


def anchors(text):
    """As GitHub makes them of headings."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading)).strip().lower().replace(" ", "-")


def dead_links(page):
    text = page.read_text()
    prose = re.sub(r"`[^`\n]*`", "code", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{page.name}: {target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{page.name}: {target}: no such heading"


def mentioned(text):
    """Commands of lockstep with the options that are given to them: in code, and in `code` of a sentence."""
    code = [body.replace("\\\n", " ") for language, body, _ in blocks(text) if language in ("", "sh", "bash", "console")]
    code += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    for piece in code:
        for command, rest in re.findall(r"\blockstep (\w+)\b([^\n|;&#]*)", piece):
            if command not in COMMANDS:
                continue
            rest = rest.split(" -- ")[0]  # what follows is another program's
            yield command, re.findall(r"(?:^|[\s\[(])(--?[a-zA-Z][\w-]*)", re.sub(r"'[^']*'", "", rest))


def unknown_options(page, known):
    for command, options in mentioned(page.read_text()):
        for option in options:
            if option not in known[command] and not COMPILERS.match(option):
                yield f"{page.name}: lockstep {command} {option}"


class Docs(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.known = {}
        for command in COMMANDS:
            text = subprocess.run([LOCKSTEP, command, "--help"], capture_output=True, text=True, check=True).stdout
            cls.known[command] = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))

    def test_links(self):
        self.assertEqual([link for page in PAGES for link in dead_links(page)], [])

    def test_options(self):
        self.assertEqual([option for page in PAGES for option in unknown_options(page, self.known)], [])

    def test_this_test(self):
        """It finds what it is for."""
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("# A `b` c\n[x](absent.md) [y](page.md#no) [z](page.md#a-b-c) [w](#a-b-c)\n`lockstep run --absent`\n"
                            "```sh\nlockstep info --grid 5\nlockstep exec --log x -- ls --all\nlockstep run k.cl -DN -I x\n```\n")
            self.assertEqual(list(dead_links(page)), ["page.md: absent.md: no such file", "page.md: page.md#no: no such heading"])
            self.assertEqual(list(unknown_options(page, self.known)),
                             ["page.md: lockstep info --grid", "page.md: lockstep run --absent"])

    def test_what_running_shows(self):
        shown = 0
        with tempfile.TemporaryDirectory() as folder:
            said = ""
            for language, body, before in blocks((SOURCES / "docs" / "running.md").read_text()):
                if language == "sh":
                    run = subprocess.run(["bash", "-e", "-c", body], capture_output=True, text=True, cwd=folder, env=ENVIRONMENT)
                    said = run.stdout + run.stderr
                    self.assertEqual(run.returncode, 0, body + said)
                elif language == "text":
                    self.assertIn(body, said)
                    shown += 1
                else:
                    name = re.fullmatch(r"`([\w.]+)`:", before)
                    self.assertTrue(name, f"no file name before {body}")
                    (pathlib.Path(folder) / name[1]).write_text(body)
        self.assertGreaterEqual(shown, 5)


if __name__ == "__main__":
    unittest.main()
