"""What tests of the program `lockstep` share: their first argument is the program."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LOCKSTEP = os.path.abspath(sys.argv.pop(1))
SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent
DONE, FAULTED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class Case(unittest.TestCase):
    """Runs in an empty folder of its own, `path`."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def lockstep(self, *arguments, status=DONE, stdin="", says=(), env=None):
        result = subprocess.run([LOCKSTEP, *arguments], input=stdin, capture_output=True, text=True, cwd=self.path,
                                timeout=120, env=env)
        everything = result.stdout + result.stderr
        self.assertEqual(result.returncode, status, everything)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, everything)
        return result
