#!/usr/bin/env python3
"""What becomes of `lockstep` when its streams, its files or its user end it: never anything but its exit codes.

Usage: streams_test.py LOCKSTEP LOCKSTEP-KCC PLUG-IN"""
import errno
import os
import pathlib
import pty
import resource
import signal
import struct
import subprocess
import time
import unittest

from case import BAD_INPUT, DONE, FAULTED, INTERRUPTED, LOCKSTEP
from kernel_case import KernelCase


class Streams(KernelCase):
    TALKERS = (["--help"], ["--version"], ["run", "--help"], ["devices"], ["isa"], ["isa", "--json"], ["info", "saxpy.cl"],
               ["disasm", "saxpy.cl"], ["disasm", "--hex"], ["run", "saxpy.cl", "--grid", "64", *KernelCase.GOOD, "-p", "y"])

    def stdin_for(self, arguments):
        return "0x01,0x05,0x0a,0x06\n" if "--hex" in arguments else ""

    def test_full_standard_output(self):
        for arguments in self.TALKERS:
            with open("/dev/full", "w") as full:
                process = self.start(*arguments, stdin=subprocess.PIPE, stdout=full)
                _, err = process.communicate(self.stdin_for(arguments), timeout=120)
            self.assertEqual(process.returncode, BAD_INPUT, (arguments, err))
            self.assertIn("error: cannot write to the standard output: No space left on device", err)
        # A file that was asked for is written all the same.
        with open("/dev/full", "w") as full:
            self.end(self.start("run", "saxpy.co", "--grid", "64", *self.GOOD, "-p", "y", "-o", "y=full.raw", stdout=full),
                     BAD_INPUT)
        self.assertEqual((self.path / "full.raw").read_bytes(), struct.pack("<64f", *(2 * i + 1 for i in range(64))))

    def test_full_or_closed_standard_error(self):
        close = lambda: os.close(2)
        full = open("/dev/full", "w")
        self.addCleanup(full.close)
        for streams in ({"stderr": full}, {"stderr": None, "preexec_fn": close}):
            run = lambda *a: self.start(*a, stdout=subprocess.DEVNULL, **streams)
            self.end(run("run", "saxpy.co", "--grid", "64", *self.GOOD), DONE)
            self.end(run("run", "saxpy.cl", "--grid", "64", "u32:64", "f32:2", "buf:f32[1]", "buf:f32[64]"), FAULTED)
            self.end(run("run", "absent.co"), BAD_INPUT)
            self.end(run("run", "--nonsense"), BAD_INPUT)
            self.end(run("--help"), DONE)

    def test_closed_standard_output(self):
        for arguments in self.TALKERS:
            process = self.start(*arguments, stdin=subprocess.PIPE, preexec_fn=lambda: os.close(1))
            _, err = process.communicate(self.stdin_for(arguments), timeout=120)
            self.assertEqual(process.returncode, BAD_INPUT, (arguments, err))
            self.assertIn("cannot write to the standard output", err)
        # No file gets the number of a stream, and what is written to it: all three are closed.
        quiet = self.start("run", "saxpy.cl", "--grid", "64", *self.GOOD, "-p", "y", "-o", "y=closed.raw", stderr=None,
                           preexec_fn=lambda: os.closerange(0, 3))
        self.end(quiet, BAD_INPUT)
        self.assertEqual((self.path / "closed.raw").read_bytes(), struct.pack("<64f", *(2 * i + 1 for i in range(64))))
        self.end(self.start("run", "saxpy.cl", "--grid", "64", *self.GOOD, preexec_fn=lambda: os.close(1)), DONE)
        err = self.end(self.start("disasm", "--hex", preexec_fn=lambda: os.close(0)), BAD_INPUT)
        self.assertIn("the standard input: cannot be read", err)

    def test_reader_that_goes_away(self):
        for arguments in (["isa", "--json"], ["disasm", "saxpy.cl"], ["--help"]):
            read, write = os.pipe()
            os.close(read)
            process = self.start(*arguments, stdout=write)
            os.close(write)
            self.assertEqual(self.end(process, BAD_INPUT), "", arguments)

    # Outputs are written whole or not at all.

    def folder_with_old(self, name, contents=b"old"):
        folder = self.path / name
        folder.mkdir()
        (folder / "y.raw").write_bytes(contents)
        return folder

    def test_output_takes_the_place_of_the_old_file(self):
        folder = self.folder_with_old("replaced")
        (folder / "y.raw").chmod(0o640)
        (folder / "link.raw").symlink_to("y.raw")
        (folder / "dangling.raw").symlink_to("new.raw")
        for name in ("link.raw", "dangling.raw", "other.raw"):
            self.saxpy("--grid", "64", *self.GOOD, "-o", f"y={folder / name}")
        self.assertEqual(sorted(p.name for p in folder.iterdir()),
                         ["dangling.raw", "link.raw", "new.raw", "other.raw", "y.raw"])
        self.assertTrue((folder / "link.raw").is_symlink() and (folder / "dangling.raw").is_symlink())
        self.assertEqual((folder / "y.raw").stat().st_mode & 0o777, 0o640)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual((folder / "other.raw").stat().st_mode & 0o777, 0o666 & ~umask)
        for path in folder.iterdir():
            self.assertEqual(len(path.read_bytes()), 256)
        # What is no file has no place to take.
        self.saxpy("--grid", "64", *self.GOOD, "-o", "y=/dev/null")
        self.saxpy("--grid", "64", *self.GOOD, "-o", "y=/dev/full", status=BAD_INPUT, says="No space left")
        self.saxpy("--grid", "64", *self.GOOD, "-o", f"y={folder}", status=BAD_INPUT, says="Is a directory")

    def test_full_disk_leaves_the_old_file(self):
        folder = self.folder_with_old("full")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        self.code_object(".amdhsa_kernarg_size 8\n")
        for name, buffer in (("y.raw", "buf:f32[64]=1"), ("y.npy", "buf:f32[64]=1"), ("y.png", "buf:u8[64x64]=random")):
            (folder / name).write_bytes(b"old")
            process = self.start("run", "object.co", "--grid", "32", buffer, "-o", f"0={folder / name}",
                                 stdout=subprocess.PIPE, preexec_fn=limit)
            err = self.end(process, BAD_INPUT)
            self.assertIn(name + ":", err)
            self.assertEqual((folder / name).read_bytes(), b"old")
        self.assertEqual(sorted(p.name for p in folder.iterdir()), ["y.npy", "y.png", "y.raw"])

    # Ctrl-C, wherever the program is: each of these waits for ever.

    def interrupt(self, process, ready, number=signal.SIGINT):
        while not ready():
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(timeout=120)
        if process.stdin:
            process.stdin.close()
        with process.stderr:
            return process.stderr.read()

    def catches(self, process, number):
        for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) >> (number - 1) & 1
        return 0

    def waiting(self, process, number):
        """It sleeps in a system call, and has its handler by now. Whatever it waits for, a signal ends that."""
        def ready():
            state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            return state == "S" and self.catches(process, number)
        return ready

    def test_interrupt_of_input(self):
        os.mkfifo(self.path / "silent")
        os.mkfifo(self.path / "silent.npy")
        for arguments in (["info", "silent"], ["run", "silent", "--grid", "1"], ["disasm", "silent"],
                          ["run", "saxpy.cl", "--grid", "64", *self.GOOD[:3], "buf:silent.npy"],
                          ["run", "saxpy.cl", "--grid", "64", *self.GOOD, "-o", "y=silent"], ["disasm", "--hex"]):
            for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                process = self.start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                err = self.interrupt(process, self.waiting(process, number), number)
                self.assertEqual(process.returncode, code, (arguments, err))
                self.assertIn("interrupted", err)

    def test_interrupt_of_a_compilation(self):
        temporary = self.path / "temporary"
        temporary.mkdir()
        compiler = self.path / "slow-clang"
        compiler.write_text('#!/bin/sh\n[ "$1" = -dumpversion ] && exec echo 19.1.0\ntouch "$TMPDIR/running"\nexec sleep 1000\n')
        compiler.chmod(0o755)
        environment = dict(os.environ, LOCKSTEP_CLANG=str(compiler), TMPDIR=str(temporary))
        for arguments in (["info", "saxpy.cl"], ["run", "saxpy.cl", "--grid", "64", *self.GOOD], ["disasm", "two.cl"]):
            process = self.start(*arguments, stdout=subprocess.DEVNULL, env=environment)
            err = self.interrupt(process, lambda: list(temporary.glob("lockstep-*/running")))
            self.assertEqual(process.returncode, INTERRUPTED, err)
            self.assertIn("interrupted", err)
            self.assertEqual(list(temporary.iterdir()), [])

    def test_ignored_interrupts_stay_ignored(self):
        process = self.start("disasm", "--hex", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        while not self.catches(process, signal.SIGINT):
            time.sleep(0.05)
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate("0x01,0x05,0x0a,0x06\n", timeout=60)
        self.assertEqual((process.returncode, out), (DONE, "v_add_f32_e32 v5, v1, v2\n"), err)

    def test_interrupt(self):
        """On a terminal, whose progress line tells that the kernel runs."""
        main, terminal = pty.openpty()
        process = subprocess.Popen([LOCKSTEP, "run", "two.cl", "-k", "spin", "--grid", "64", "--block", "32", "buf:u32[1]",
                                    "-o", "0=never.raw"], cwd=self.path, stderr=terminal)
        os.close(terminal)
        text, running = "", False
        try:
            while block := os.read(main, 1 << 16):
                text += block.decode()
                if not running and "instructions/s" in text:
                    running = True
                    process.send_signal(signal.SIGINT)
        except OSError as error:
            self.assertEqual(error.errno, errno.EIO)  # nobody has the terminal any more
        os.close(main)
        self.assertEqual(process.wait(timeout=60), INTERRUPTED, text)
        self.assertTrue(running, text)
        self.assertIn("0/2 work-groups", text)
        self.assertIn("\r", text)
        self.assertIn("interrupted: 0 of 2 work-groups", text)
        self.assertFalse((self.path / "never.raw").exists())


if __name__ == "__main__":
    unittest.main()
