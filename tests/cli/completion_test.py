#!/usr/bin/env python3
"""Completion, as the shells themselves do it. Those that are not installed are skipped by name.

Usage: completion_test.py LOCKSTEP"""
import errno
import os
import pty
import select
import shutil
import signal
import subprocess
import time
import unittest

from case import LOCKSTEP, SOURCES, Case

SCRIPTS = SOURCES / "cli" / "completions"
ENVIRONMENT = dict(os.environ, PATH=f"{os.path.dirname(LOCKSTEP)}:{os.environ['PATH']}", TERM="dumb")


def needs(shell):
    return unittest.skipUnless(shutil.which(shell), f"{shell} is not installed")


class Completion(Case):
    def check(self, completed):
        """`completed(words)`: what the last of the words may become."""
        self.assertEqual(completed("di"), {"disasm"})
        self.assertTrue({"run", "info", "cache", "exec"} <= completed(""))
        self.assertEqual(completed("run", "--gr"), {"--grid", "--groups"})
        self.assertEqual(completed("disasm", "--kern"), {"--kernel"})
        self.assertEqual(completed("run", "--device", "navi3"), {"navi31", "navi32", "navi33"})
        self.assertEqual(completed("run", "--engine", "t"), {"translator"})
        self.assertEqual(completed("run", "--wave", "6"), {"64"})
        self.assertEqual(completed("run", "--out", "kern"), {"kernel.cl"})

    def setUp(self):
        (self.path / "kernel.cl").touch()

    def test_bash(self):
        def completed(*words):
            quoted = " ".join(f"'{w}'" for w in (LOCKSTEP, *words))
            # Where the script has nothing, bash takes files (complete -o default).
            text = (f"source '{SCRIPTS / 'lockstep.bash'}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _lockstep; "
                    f"((${{#COMPREPLY[@]}})) || mapfile -t COMPREPLY < <(compgen -f -- '{words[-1]}'); "
                    "printf '%s\\n' \"${COMPREPLY[@]}\"")
            out = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, cwd=self.path)
            self.assertEqual(out.stderr, "")
            return set(out.stdout.split())

        self.check(completed)

    @needs("fish")
    def test_fish(self):
        environment = dict(ENVIRONMENT, HOME=str(self.path), XDG_CONFIG_HOME=str(self.path / "config"),
                           XDG_DATA_HOME=str(self.path / "data"))

        def completed(*words):
            line = " ".join(("lockstep", *words))
            out = subprocess.run(["fish", "-N", "-c", f"source '{SCRIPTS / 'lockstep.fish'}'; complete -C '{line}'"],
                                 capture_output=True, text=True, check=True, cwd=self.path, env=environment, timeout=60)
            self.assertEqual(out.stderr, "")
            return {text.split("\t")[0] for text in out.stdout.splitlines()}

        self.check(completed)

    @needs("zsh")
    def test_zsh(self):
        def completed(*words):
            """In a terminal, as zsh completes nowhere else: Tab, and what it has found is in the functions' hands."""
            (self.path / "rc").write_text(f"""
PS1='ready>'
fpath=('{SCRIPTS}' $fpath)
autoload -U compinit
compinit -D -u
# Each match once, whatever is shown of it.
compadd() {{
  local -a found
  builtin compadd -O found "$@"
  print -rl -- "${{(@)found}}" >> '{self.path}/found'
  builtin compadd "$@"
}}
done-completing() {{ zle complete-word; print -r -- end >> '{self.path}/found'; exit }}
zle -N done-completing
bindkey '^X' done-completing
""")
            (self.path / "found").unlink(missing_ok=True)
            process, terminal = pty.fork()
            if process == 0:
                os.chdir(self.path)
                os.execvpe("zsh", ["zsh", "-f", "-i"], ENVIRONMENT)
            os.write(terminal, b"source ./rc\n")
            text, sent, deadline = "", False, time.monotonic() + 60
            try:
                while select.select([terminal], [], [], max(deadline - time.monotonic(), 0))[0]:
                    text += os.read(terminal, 1 << 16).decode(errors="replace")
                    if not sent and "ready>" in text:
                        os.write(terminal, " ".join(("lockstep", *words)).encode() + b"\x18")
                        sent = True
                os.kill(process, signal.SIGKILL)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)  # it has ended
            os.close(terminal)
            os.waitpid(process, 0)
            self.assertTrue((self.path / "found").exists(), text)
            found = (self.path / "found").read_text().splitlines()
            self.assertEqual(found[-1], "end", text)
            return set(found[:-1]) - {""}

        self.check(completed)


if __name__ == "__main__":
    unittest.main()
