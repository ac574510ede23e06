#!/usr/bin/env python3
"""Processes under `lockstep exec`: what they see of the card, and what is left of them. Usage: exec_test.py LOCKSTEP

Needs no ROCm runtime. LOCKSTEP_KILLED is how many processes are killed (20; 1000 takes minutes), LOCKSTEP_HOSTILE how many
hostile calls each of nine processes makes (2000), from seed LOCKSTEP_HOSTILE_SEED (1) on."""
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

LOCKSTEP = sys.argv.pop(1)
HOSTILE = os.environ.get("LOCKSTEP_HOSTILE", "2000")
HOSTILE_SEED = os.environ.get("LOCKSTEP_HOSTILE_SEED", "1")
KILLED = int(os.environ.get("LOCKSTEP_KILLED", "20"))
CHECK_DUMP = pathlib.Path(__file__).resolve().parents[2] / "tools/check_dump.py"
NODES = "/sys/devices/virtual/kfd/kfd/topology/nodes"

# Opens the devices and asks for memory, an event and a queue's worth of ioctls, for ever.
USES_THE_CARD = """
import ctypes, fcntl, mmap, os, struct, sys
kfd = os.open("/dev/kfd", os.O_RDWR)
gpu = int(open("%s/1/gpu_id").read())
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
bytes_ = 1 << 24
place = libc.mmap(None, bytes_, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
# alloc_memory_of_gpu: va, size, handle, mmap_offset, gpu_id, flags (VRAM, public, writable)
allocate = bytearray(struct.pack("QQQQII", place, bytes_, 0, 0, gpu, 1 | 1 << 29 | 1 << 31))
fcntl.ioctl(kfd, 0xC0284B16, allocate)
ctypes.memset(place, 7, bytes_)
print("ready", flush=True)
while True:
    fcntl.ioctl(kfd, 0x80084B01, bytearray(8))
""" % NODES


def run(code, **more):
    return subprocess.run([LOCKSTEP, "exec", "--", sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=120, **more)


class OwnDriver(unittest.TestCase):
    """Programs without a runtime."""
    def errors_of(self, program, *options):
        program = pathlib.Path(__file__).parent / program
        result = subprocess.run([LOCKSTEP, "exec", *options, "--", sys.executable, program], capture_output=True, text=True,
                                timeout=300)
        self.assertEqual((result.returncode, result.stdout), (0, "all results are right\n"), result.stderr)
        return result.stderr

    def test_kernels_copies_and_events(self):
        self.assertRegex(self.errors_of("own_driver.py"),
                         r"\Alockstep: SDMA queue \d+, dword \d+: op: operation 255 [^\n]*\n\Z")

    def test_one_way_or_another(self):
        self.assertRegex(self.errors_of("own_driver_ways.py"),
                         r"\Alockstep: no device memory at 0x\w+: the program has memory of its own there\n"
                         r"lockstep: PM4 queue \d+: [^\n]*: write of 4 bytes at 0x1234000: [^\n]*\nlockstep:   lane 0\n\Z")

    def test_packets_of_both_engines(self):
        self.assertEqual(self.errors_of("own_driver_packets.py"), "")

    def test_two_devices_and_two_processes(self):
        self.assertEqual(self.errors_of("own_driver_devices.py", "--devices", "2"), "")

    def test_commands_by_the_render_node(self):
        self.assertEqual(self.errors_of("own_driver_commands.py"), "")

    def test_functions_of_the_c_library_itself(self):
        # As foreign functions are looked up; and RTLD_NEXT is one behind the caller's library, not ours.
        result = run("""
import ctypes, os
for name in (None, "libc.so.6"):
    libc = ctypes.CDLL(name)
    node, version = libc.open(b"/dev/kfd", os.O_RDWR), (ctypes.c_uint32 * 2)()
    print(libc.ioctl(node, ctypes.c_ulong(0x80084b01), version), list(version))
own = ctypes.CDLL(None)
own.dlopen.restype, own.dlopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
own.dlsym.restype, own.dlsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
own.dlerror.restype = ctypes.c_char_p
c, m = own.dlopen(b"libc.so.6", 1), own.dlopen(b"libm.so.6", 1)
print(own.dlsym(c, b"ioctl") == own.dlsym(None, b"ioctl"), own.dlsym(c, b"getpid") == own.dlsym(None, b"getpid") != None,
      own.dlsym(m, b"cos") != None, own.dlerror(), own.dlsym(c, b"no_such_function"), b"no_such_function" in own.dlerror())
""")
        self.assertEqual(result.stdout.splitlines(), ["0 [1, 17]"] * 2 + ["True True True None None True"], result.stderr)


# Of x86-64, for syscall().
NUMBERS = {"read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "lseek": 8, "mmap": 9, "ioctl": 16, "pread64": 17, "pwrite64": 18,
           "readv": 19, "writev": 20, "access": 21, "dup": 32, "dup2": 33, "getpid": 39, "fcntl": 72, "ftruncate": 77, "readlink": 89, "statfs": 137,
           "fstatfs": 138, "openat": 257, "fstatat": 262, "readlinkat": 267, "faccessat": 269, "fallocate": 285, "dup3": 292, "preadv": 295, "pwritev": 296,
           "preadv2": 327, "pwritev2": 328, "statx": 332, "close_range": 436, "openat2": 437, "faccessat2": 439}


@unittest.skipUnless(platform.machine() == "x86_64", "numbers are of x86-64")
class SystemCalls(unittest.TestCase):
    """Calls by number, through the C library's syscall()."""

    def run_by_number(self, program):
        result = run(f"numbers = {NUMBERS}" """
import ctypes, mmap, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(name, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(numbers[name]), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return result if result != -1 else -ctypes.get_errno()
room, other = ctypes.create_string_buffer(512), ctypes.create_string_buffer(512)
""" + program)
        self.assertEqual(result.stderr, "")
        return result.stdout.splitlines()

    def test_nodes_are_opened_asked_and_closed(self):
        self.assertEqual(self.run_by_number("""
how = struct.pack("QQQ", os.O_RDWR | os.O_CLOEXEC, 0, 0)
folder = call("openat", -100, b"/dev/dri", 0)
nodes = [call("open", b"/dev/kfd", os.O_RDWR), call("openat", -100, b"/dev/kfd", os.O_RDWR), call("openat2", -100, b"/dev/kfd", how, 24)]
nodes += [call("dup", nodes[0]), call("dup2", nodes[0], 90), call("dup3", nodes[0], 91, 0), call("fcntl", nodes[0], 0, 92)]
version = (ctypes.c_uint32 * 2)()
for node in nodes:
    print(call("ioctl", node, 0x80084b01, version), list(version), oct(os.fstat(node).st_mode), os.get_inheritable(node))
print(call("close", nodes[0]), call("ioctl", nodes[0], 0x80084b01, version))
print(call("close_range", 91, 92, 0), call("ioctl", 91, 0x80084b01, version), call("ioctl", 92, 0x80084b01, version))
print(call("openat2", -100, b"/dev/kfd", how, 8), call("openat2", -100, b"/dev/kfd", ctypes.c_void_p(8), 24), call("openat", folder, b"renderD9", 0))
print(call("openat2", -100, b"/dev/null", how, 24) > 2, call("getpid") == os.getpid())
"""), [f"0 [1, 17] 0o20666 {inheritable}" for inheritable in (True, True, False, True, True, True, True)]
            + ["0 -9", "0 -9 -9", "-22 -14 -2", "True True"])

    def test_memory_of_a_device_is_mapped(self):
        # The page of registers of the device, as ROCr maps it: an allocation tells its place.
        self.assertEqual(self.run_by_number("""
kfd, render = call("open", b"/dev/kfd", os.O_RDWR), call("open", b"/dev/dri/renderD128", os.O_RDWR)
apertures = ctypes.create_string_buffer(64)
asked = ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(apertures), 1, 0))
print(call("ioctl", kfd, 0xc0104b14, asked))
gpu = struct.unpack_from("I", apertures, 48)[0]
print(call("ioctl", kfd, 0x40084b15, struct.pack("II", render, gpu)))
place = call("mmap", 0, 8192, 0, 0x22, -1, 0)
alloc = ctypes.create_string_buffer(struct.pack("QQQQII", place, 8192, 0, 0, gpu, 0x80000000 | 1))
print(call("ioctl", kfd, 0xc0284b16, alloc))
offset = struct.unpack_from("Q", alloc, 24)[0]
print(call("mmap", place, 8192, 3, 0x11, render, offset) == place, call("mmap", 0, 4096, 3, 1, render, 1 << 46))
ctypes.memset(place, 5, 8192)
again = call("mmap", 0, 8192, 1, 1, render, offset)
print(ctypes.string_at(again + 8000, 4))
"""), ["0", "0", "0", "True -22", "b'\\x05\\x05\\x05\\x05'"])

    def test_files_are_what_the_functions_say(self):
        self.assertEqual(self.run_by_number("""
node, file, link = b"/dev/kfd", b"/sys/class/kfd/kfd/topology/nodes/1/properties", b"/sys/class/drm/renderD128"
def same(name, *arguments):
    room.raw = other.raw = bytes(512)
    expected = getattr(libc, name)(*(other if a is room else a for a in arguments))
    expected = expected if expected != -1 else -ctypes.get_errno()
    return call(name, *arguments) == expected and room.raw == other.raw
for path in (node, file, link, b"/sys/class/kfd/kfd/topology/nodes/9", b"/etc/passwd", b""):
    opened = os.open(path, os.O_RDONLY) if path and os.path.isfile(path) or path == node else 0
    print(all((same("stat", path, room), same("lstat", path, room), same("fstatat", -100, path, room, 0), same("statx", -100, path, 0, 0x7ff, room),
               same("fstat", opened, room), same("statfs", path, room), same("fstatfs", opened, room), same("access", path, 4), same("access", path, 1),
               same("faccessat", -100, path, 4, 0), same("readlink", path, room, 99), same("readlinkat", -100, path, room, 99))),
          call("faccessat2", -100, path, 4, 0) == call("access", path, 4))
print(call("open", file, 0) > 2, call("read", call("open", file, 0), room, 4), room.raw[:4])
"""), ["True True"] * 6 + ["True 4 b'cpu_'"])

    def test_nodes_have_no_contents(self):
        self.assertEqual(self.run_by_number("""
kfd, null = call("open", b"/dev/kfd", os.O_RDWR), call("open", b"/dev/null", os.O_RDWR)
part = struct.pack("QQ", ctypes.addressof(room), 64)
print([call(name, kfd, room, 64, 1 << 21) for name in ("read", "write", "pread64", "pwrite64")])
print([call(name, kfd, part, 1, 1 << 21, 0, 0) for name in ("readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2")])
print(call("lseek", kfd, 0, 1), call("ftruncate", kfd, 1), call("fallocate", kfd, 0, 0, 1))
print(call("write", null, room, 64), call("read", null, room, 64), call("writev", null, part, 1), call("ftruncate", null, 1))
"""), [str([-22] * 4), str([-22] * 6), "-29 -22 -19", "64 0 64 -22"])


class Hostile(unittest.TestCase):
    """Calls with whatever pointers, descriptors and numbers chance brings."""
    PROGRAM = pathlib.Path(__file__).parent / "hostile_program.py"

    def run_program(self, before, what):
        return subprocess.run([*before, sys.executable, self.PROGRAM, what, HOSTILE_SEED, HOSTILE], capture_output=True,
                              text=True, timeout=1200)

    def test_calls_about_other_files_return_what_they_return_without(self):
        plain, under_exec = self.run_program((), "calls"), self.run_program((LOCKSTEP, "exec", "--"), "calls")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(under_exec.returncode, 0, under_exec.stderr)
        self.assertEqual(len(plain.stdout.splitlines()), int(HOSTILE))
        self.assertEqual(plain.stdout.splitlines(), under_exec.stdout.splitlines())

    def test_calls_about_devices_are_answered_or_refused(self):
        result = self.run_program((LOCKSTEP, "exec", "--"), "devices")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr[-2000:])

    def test_bad_pointers_are_errors_of_the_call(self):
        # Also where the call is made by its number.
        for by_number in (False, True):
            with self.subTest(by_number=by_number):
                self.bad_pointers(by_number)

    def bad_pointers(self, by_number):
        result = run(f"by_number = {by_number}; numbers = {NUMBERS}" """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
node, folder = b"/dev/kfd", b"/sys/class/kfd/kfd/topology/nodes/0"
kfd, bad, room = os.open(node, os.O_RDWR), ctypes.c_void_p(-4096), ctypes.create_string_buffer(512)
def error(name, *arguments):
    ctypes.set_errno(0)
    call = getattr(libc, name) if not by_number else lambda *arguments: libc.syscall(numbers[name], *arguments)
    return call(*arguments) == -1 and ctypes.get_errno()
for path in (ctypes.c_void_p(7), bad, None):
    print(*{error("open", path, 0), error("openat", -100, path, 0), error("stat", path, room), error("lstat", path, room),
            error("statx", -100, path, 0, 0x7ff, room), error("fstatat", -100, path, room, 0), error("access", path, 0),
            error("faccessat", -100, path, 0, 0), error("readlink", path, room, 512), error("statfs", path, room)})
for path in (node, folder, b"/dev/null"):
    print(*{error("stat", path, bad), error("lstat", path, None), error("statx", -100, path, 0, 0x7ff, bad),
            error("fstatat", -100, path, bad, 0)})
print(error("fstat", kfd, bad), error("fstat", os.open(folder, 0), bad), error("readlink", b"/sys/class/drm/card0", bad, 512),
      error("statx", kfd, b"", 0x1000, 0x7ff, bad), error("ioctl", kfd, ctypes.c_ulong(0x80084b01), bad))
print(error("statx", kfd, b"", 0x1000, 0x7ff, room), error("statx", kfd, b"", 0, 0x7ff, room) == errno.ENOENT,
      error("fstatat", kfd, None, room, 0) == errno.EFAULT, error("openat", os.open(folder, 0), b"", 0) == errno.ENOENT)
""")
        fault = "14"
        self.assertEqual(result.stdout.splitlines(), [fault] * 6 + [" ".join([fault] * 5), "False True True True"], result.stderr)

    def test_nodes_are_found_by_any_way_to_them(self):
        result = run("""
import ctypes, os
folder = os.open("/dev/dri", os.O_RDONLY)
for node in (os.open("renderD128", os.O_RDWR, dir_fd=folder), os.open("/dev//dri/../kfd", os.O_RDWR)):
    print(oct(os.fstat(node).st_mode))
print(oct(os.stat("card0", dir_fd=folder).st_mode), os.access("/dev/./kfd", os.R_OK | os.W_OK), os.access("/dev/kfd", os.X_OK))
print(open("/dev/kfd", "rb", buffering=0).fileno() > 2)
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = libc.fopen(b"/dev/dri/renderD128", b"r+")
print(oct(os.fstat(libc.fileno(ctypes.c_void_p(file))).st_mode))
""")
        self.assertEqual(result.stdout.split(), ["0o20666", "0o20666", "0o20666", "True", "False", "True", "0o20666"], result.stderr)

    def test_a_descriptor_is_a_devices_no_longer_than_it_is_open(self):
        # Calls by which the C library closes without close(), and another file that gets the number.
        result = run("""
import ctypes, fcntl, os, socket, termios
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
def closed_by_a_stream(node):
    libc.fclose(ctypes.c_void_p(libc.fdopen(node, b"r+")))
for close in (closed_by_a_stream, lambda node: libc.close_range(node, node, 0), lambda node: libc.syscall(3, node)):
    node = os.open("/dev/dri/renderD128", os.O_RDWR)
    close(node)
    other, _ = socket.socketpair()
    print(other.fileno() == node, oct(os.fstat(node).st_mode), fcntl.ioctl(other, termios.FIONREAD, bytes(4)))
    other.close()
""")
        self.assertEqual(result.stdout.splitlines(), ["True 0o140777 b'\\x00\\x00\\x00\\x00'"] * 3, result.stderr)

    def test_nodes_are_no_terminals_and_map_nothing_that_nobody_has(self):
        result = run("""
import ctypes, errno, fcntl, mmap, os, termios
for path in ("/dev/kfd", "/dev/dri/renderD128"):
    node = os.open(path, os.O_RDWR)
    print(os.isatty(node))
    for offset in (0, 1 << 20, 1 << 44, 1 << 46):
        try:
            mmap.mmap(node, 4096, offset=offset)
        except OSError as error:
            print(error.errno == errno.EINVAL)
""")
        self.assertEqual(result.stdout.split(), (["False"] + ["True"] * 4) * 2, result.stderr)
        self.assertEqual(result.stderr, "")


class Descriptors(unittest.TestCase):
    """What programs do with descriptors as on a card, where the driver has none of its own."""

    def test_programs_that_close_everything_open_devices_again(self):
        # Devices are used, everything is closed in each way that there is, and a kernel of the same process runs behind it.
        for close in ("libc.closefrom(3)", "libc.close_range(3, 0xffffffff, 0)", "libc.close_range(3, 0xffffffff, 2)",
                      "[libc.close(number) for number in range(3, 4096)]",
                      "[print(libc.dup2(1, number), end=' ') for number in (768, 769, 770) if libc.fcntl(number, 1) >= 0]"):
            # The flag 2 gives the thread a table of its own, which the driver's threads do not see closed.
            result = run(f"""
import ctypes, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
first = os.open("/dev/kfd", os.O_RDWR)
fcntl.ioctl(first, 0x80084B01, bytearray(8))
os.open("/dev/dri/renderD128", os.O_RDWR)
keep = os.dup(1)
{close}
try:
    fcntl.ioctl(first, 0x80084B01, bytearray(8))
    print("open")
except OSError as error:
    print(error.errno)
""" + RUNS_A_KERNEL)
            # EBADF (9) of what was closed; dup2() onto a number of the driver's is refused, and nothing else is closed by it.
            words = result.stdout.split()
            self.assertEqual(words[-1], "True", (close, result.stdout, result.stderr))
            self.assertEqual(words[-2], "open" if "dup2" in close else "9", close)
            if "dup2" in close:
                self.assertGreater(len(words), 2)
                self.assertEqual(set(words[:-2]), {"-1"})

    def test_a_program_may_close_what_it_was_started_with(self):
        result = run("""
import ctypes, os
os.open("/dev/kfd", os.O_RDWR)
ctypes.CDLL(None).closefrom(-5)
try:
    os.fstat(1)
except OSError as error:
    os._exit(error.errno)
""")
        self.assertEqual((result.returncode, result.stdout), (9, ""), result.stderr)

    def test_ranges_are_closed_up_to_their_ends(self):
        result = run("""
import ctypes, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
fcntl.ioctl(os.open("/dev/kfd", os.O_RDWR), 0x80084B01, bytearray(8))
os.open("/dev/dri/renderD128", os.O_RDWR)
own = [number for number in range(600, 1024) if libc.fcntl(number, 1) >= 0]
files = [fcntl.fcntl(1, fcntl.F_DUPFD, number) for number in (500, own[0] + 100, 1000)]
def open_ones():
    return [libc.fcntl(file, 1) >= 0 for file in files]
print(libc.close_range(501, 999, 0), open_ones(), [libc.fcntl(number, 1) >= 0 for number in own] == [True] * len(own))
print(libc.close_range(500, 499, 0), ctypes.get_errno(), open_ones())
print(libc.close_range(own[0], own[0], 0), libc.close(own[0]), ctypes.get_errno(), open_ones())
print(libc.close_range(500, 1000, 0), open_ones())
""")
        self.assertEqual(result.stdout.splitlines(), [
            "0 [True, False, True] True", "-1 22 [True, False, True]", "0 -1 9 [True, False, True]",
            "0 [False, False, False]"], result.stderr)

    def test_nodes_are_not_read_or_written(self):
        # What each call answers on Linux; the memory of the devices, which begins behind the first 2 MiB, stays what it is.
        result = run("""
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
libc.lseek.restype = ctypes.c_long
libc.lseek.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int]
text = ctypes.create_string_buffer(b"x" * 64)
class Part(ctypes.Structure):
    _fields_ = [("place", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
part = Part(ctypes.addressof(text), 64)
at = ctypes.c_long(2 << 20)
calls = {name: lambda node, call=getattr(libc, name): call(node, text, ctypes.c_size_t(64)) for name in ("read", "write")}
calls |= {name: lambda node, call=getattr(libc, name): call(node, text, ctypes.c_size_t(64), at)
          for name in ("pread", "pread64", "pwrite", "pwrite64")}
calls |= {name: lambda node, call=getattr(libc, name): call(node, ctypes.byref(part), 1) for name in ("readv", "writev")}
calls |= {name: lambda node, call=getattr(libc, name): call(node, ctypes.byref(part), 1, at)
          for name in ("preadv", "preadv64", "pwritev", "pwritev64")}
calls |= {name: lambda node, call=getattr(libc, name): call(node, ctypes.byref(part), 1, at, 0)
          for name in ("preadv2", "preadv64v2", "pwritev2", "pwritev64v2")}
calls["__read_chk"] = lambda node: libc.__read_chk(node, text, ctypes.c_size_t(64), ctypes.c_size_t(65))
for name in ("__pread_chk", "__pread64_chk"):
    calls[name] = lambda node, call=getattr(libc, name): call(node, text, ctypes.c_size_t(64), at, ctypes.c_size_t(65))
for name in ("ftruncate", "ftruncate64"):
    calls[name] = lambda node, call=getattr(libc, name): call(node, ctypes.c_long(0))
for name in ("fallocate", "fallocate64"):
    calls[name] = lambda node, call=getattr(libc, name): call(node, 3, ctypes.c_long(0), ctypes.c_long(4096))
calls["lseek"] = lambda node: libc.lseek(node, 100, 0)
for path, flags in (("/dev/kfd", os.O_RDWR), ("/dev/dri/renderD128", os.O_RDWR | os.O_NONBLOCK)):
    node = os.open(path, flags)
    if flags & os.O_NONBLOCK:
        os.set_blocking(node, False)
    for name, call in calls.items():
        ctypes.set_errno(0)
        result = call(node)
        print(path[5:8], name, result, errno.errorcode.get(ctypes.get_errno(), "-"))
    os.close(node)
print(text.raw == b"x" * 64 + bytes(1))
# Of other files they are what they were.
file = os.memfd_create("a file")
part.bytes = 7
print(libc.write(file, b"abcdefg", ctypes.c_size_t(7)), libc.lseek(file, 1, 0), libc.pwrite(file, b"XY", ctypes.c_size_t(2), ctypes.c_long(3)),
      os.read(file, 100), os.pread(file, 3, 2), os.writev(file, [b"h", b"ij"]), os.preadv(file, [bytearray(4)], 6), os.ftruncate(file, 4),
      os.lseek(file, 0, 2))
""")
        lines = result.stdout.splitlines()
        self.assertEqual(lines[-2:], ["True", "7 1 2 b'bcXYfg' b'cXY' 3 4 None 4"], result.stderr)
        answers = [line.split() for line in lines[:-2]]
        self.assertEqual(len(answers), 2 * 24)
        for node, name, result, error in answers:
            reads = "read" in name
            expected = {"ftruncate": "EINVAL", "ftruncate64": "EINVAL", "fallocate": "ENODEV", "fallocate64": "ENODEV",
                        "lseek": "ESPIPE" if node == "kfd" else "-"}.get(name, "EAGAIN" if reads and node == "dri" else "EINVAL")
            self.assertEqual((result, error), ("0" if expected == "-" else "-1", expected), (node, name))


class Files(unittest.TestCase):
    """Files and folders that are nowhere on the host."""

    def output(self, code):
        result = run("import os\nNODES = %r\n" % NODES + code)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.split()

    def test_folders_are_listed(self):
        self.assertEqual(self.output("print(*sorted(os.listdir(NODES)))"), ["0", "1"])
        self.assertEqual(self.output("print(*sorted(e.name for e in os.scandir(NODES + '/1') if e.is_dir()))"),
                         ["caches", "io_links", "mem_banks"])
        self.assertIn("renderD128", self.output("print(*os.listdir('/dev/dri'))"))

    def test_folders_are_walked_by_descriptor(self):
        self.assertGreater(int(self.output("print(sum(len(f) for _, _, f in os.walk(NODES)))")[0]), 8)
        self.assertGreater(int(self.output("print(sum(len(f) for _, _, f, _ in os.fwalk(NODES)))")[0]), 8)
        self.assertEqual(self.output("d = os.open(NODES, os.O_RDONLY)\n"
                                     "f = os.open('0/gpu_id', os.O_RDONLY, dir_fd=d)\nprint(os.read(f, 9).decode())"),
                         ["0"])

    def test_a_device_is_found_from_the_root(self):
        # As libudev does it: a descriptor for each folder, links by their texts, a last look at the file system.
        self.assertEqual(self.output("""
import ctypes
def walk(path):
    here, rest, done = os.open("/", os.O_PATH | os.O_DIRECTORY), path.split("/"), []
    while rest:
        name = rest.pop(0)
        if not name:
            continue
        child = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=here)
        if os.path.stat.S_ISLNK(os.fstat(child).st_mode):
            text = os.readlink(name, dir_fd=here)
            assert text == os.readlink("", dir_fd=child)
            rest[:0] = text.split("/")
            continue
        done = done[:-1] if name == ".." else done + [name]
        here = child
    return here, "/" + "/".join(done)
place, path = walk("/sys/bus/pci/devices/0000:03:00.0")
assert os.access("uevent", os.F_OK, dir_fd=place)
kind = (ctypes.c_long * 64)()
assert ctypes.CDLL(None).fstatfs(os.open("/proc/self/fd/%d" % place, os.O_PATH), kind) == 0
again, _ = walk("/sys/class/drm/renderD128/device")
print(path, hex(kind[0]), os.fstat(again).st_ino == os.fstat(place).st_ino)
try:
    os.open("/sys/bus/pci/devices/0000:03:00.0", os.O_RDONLY | os.O_NOFOLLOW)
except OSError as error:
    print(error.errno == __import__("errno").ELOOP)
"""), ["/sys/devices/pci0000:00/0000:00:1e.7/0000:03:00.0", "0x62656572", "True", "True"])

    def test_files_are_read_and_never_written(self):
        self.assertEqual(self.output("print(open(NODES + '/../generation_id').read())"), ["2"])
        self.assertEqual(self.output("print(open('/sys/class/kfd/kfd/topology//generation_id').read())"), ["2"])
        self.assertEqual(self.output("print(os.stat(NODES + '/0/gpu_id').st_size, os.path.isdir(NODES + '/0'), "
                                     "os.access(NODES, os.R_OK), os.access(NODES, os.W_OK))"),
                         ["2", "True", "True", "False"])
        for code, error in (("open(NODES + '/0/gpu_id', 'w')", "PermissionError"),
                            ("open(NODES + '/7/gpu_id')", "FileNotFoundError"),
                            ("open(NODES)", "IsADirectoryError"), ("os.listdir(NODES + '/0/gpu_id')", "NotADirectory"),
                            ("os.stat('/sys/module/amdgpu/nothing')", "FileNotFoundError")):
            result = run("import os\nNODES = %r\n" % NODES + code)
            self.assertIn(error, result.stderr, code)

    def test_the_class_of_graphics_devices_leads_to_the_device_on_its_bus(self):
        slot = "0000:03:00.0"
        self.assertEqual(self.output("print(*sorted(os.listdir('/sys/class/drm')))"), ["card0", "renderD128", "version"])
        self.assertEqual(self.output("""
link = '/sys/class/drm/card0'
print(os.path.islink(link), os.path.islink(link + '/vendor'), [e.is_symlink() for e in os.scandir('/sys/class/drm')].count(True))
print(os.path.basename(os.path.dirname(os.path.dirname(os.readlink(link)))))
where = os.path.realpath(link + '/device')
print(os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link))) == where + '/drm/card0')
print(os.path.basename(os.readlink(link + '/device/subsystem')), os.path.basename(os.path.realpath(link + '/device/driver')))
for way in ('/sys/dev/char/226:0/device', '/sys/dev/char/226:128/device/drm/card0/device', '/sys/bus/pci/devices/%(slot)s',
            '/sys/class/pci_bus/0000:03/../../%(slot)s', '/sys/bus/pci/drivers/amdgpu/%(slot)s/drm/../'):
    print(open(way + '/device').read().strip(), os.stat(way).st_ino == os.stat(where).st_ino)
""" % {"slot": slot}), ["True", "False", "2", slot, "True", "pci", "amdgpu"] + ["0x744c", "True"] * 5)
        self.assertEqual(self.output("import re\nprint(os.major(os.stat('/dev/dri/card0').st_rdev), "
                                     "os.minor(os.fstat(os.open('/dev/dri/card0', os.O_RDWR)).st_rdev))"), ["226", "0"])

    def test_the_bus_has_the_hosts_devices_too(self):
        folder = "/sys/bus/pci/devices"
        hosts = os.listdir(folder) if os.path.isdir(folder) else []
        for listed in ("os.listdir(%r)", "[e.name for e in os.scandir(%r)]"):
            self.assertEqual(sorted(self.output(f"print(*{listed % folder})")), sorted({*hosts, "0000:03:00.0"}))
        self.assertEqual(self.output(f"print(open('{folder}/0000:03:00.0/config', 'rb').read(4).hex())"), ["02104c74"])
        for name in hosts[:1]:
            vendor = pathlib.Path(folder, name, "vendor").read_text().split()
            self.assertEqual(self.output(f"print(open('{folder}/{name}/vendor').read())"), vendor)
            self.assertEqual(self.output(f"d = os.open('{folder}', os.O_RDONLY)\nprint(*(os.read(os.open(n + '/vendor', "
                                         f"os.O_RDONLY, dir_fd=d), 9).decode() for n in ('{name}', '0000:03:00.0')))"),
                             vendor + ["0x1002"])

    def test_memory_that_is_used_is_told(self):
        self.assertEqual(self.output(USES_THE_CARD.split("print")[0] + """
for device in ("/sys/class/drm/card0/device", "/sys/dev/char/226:128/device"):
    print(open(device + "/mem_info_vram_used").read())
"""), [str(1 << 24)] * 2)

    def test_the_hosts_files_stay(self):
        self.assertEqual(self.output("print(len(os.listdir('/proc/self')) > 5, os.path.exists('/sys/devices/system'))"),
                         ["True", "True"])


class Requests(unittest.TestCase):
    """The table of ioctls in docs/rocm.md against the headers of the kernel and against what is answered."""

    def test_the_table_is_complete_and_true(self):
        kfd = dict(re.findall(r"#define (AMDKFD_IOC_\w+)\s*\\?\s*AMDKFD_IOW?R?\((0x\w+)", self.header("linux/kfd_ioctl.h")))
        drm = self.header("libdrm/amdgpu_drm.h")
        render = {f"DRM_IOCTL_{name}": hex(0x40 + int(number, 16))
                  for name, number in re.findall(r"#define DRM_(AMDGPU_\w+)\s+(0x\w+)", drm)
                  if f"DRM_IOCTL_{name}" in drm}
        self.assertGreater(len(kfd), 30)
        self.assertGreater(len(render), 10)
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "rocm.md").read_text()
        table = dict(re.findall(r"^\| `((?:AMDKFD|DRM)_IOC\w+)` \| (answered|refused) \|", page, re.MULTILINE))
        # Older and newer headers have fewer and more of them.
        self.assertEqual(sorted((kfd | render).keys() - table.keys()), [])
        requests = [(name, "/dev/kfd", 0x4B, number) for name, number in kfd.items()]
        requests += [(name, "/dev/dri/renderD128", 0x64, number) for name, number in render.items()]
        code = f"""
import fcntl, os
for name, path, kind, number in {requests!r}:
    file = os.open(path, os.O_RDWR)
    try:
        fcntl.ioctl(file, 3 << 30 | 512 << 16 | kind << 8 | int(number, 16), bytearray(512))
    except OSError:
        pass
    os.close(file)
"""
        result = run(code)
        self.assertEqual(result.returncode, 0, result.stderr)
        refused = set(re.findall(r"does not answer (\w+) ", result.stderr))
        self.assertNotIn("does not know", result.stderr)
        for name, *_ in requests:
            self.assertEqual(table[name], "refused" if name in refused else "answered", name)

    def header(self, name):
        return pathlib.Path("/usr/include", name).read_text()


# Runs a kernel by a ring of its own: out[i] = 3 * in[i] + i, of 64 work-items.
#   s_load_b128 s[4:7], s[0:1], 0x0         v_lshlrev_b32_e32 v1, 2, v0    s_waitcnt lgkmcnt(0)
#   global_load_b32 v2, v1, s[4:5]          s_waitcnt vmcnt(0)             v_mad_u32_u24 v2, v2, 3, v0
#   global_store_b32 v1, v2, s[6:7]         s_endpgm
RUNS_A_KERNEL = """
import ctypes, fcntl, mmap, os, struct, time
code = bytes.fromhex("000108f4000000f88200023007fc89bf000052dc01000402f70389bf02000bd60207010400006adc010206000000b0bf")
descriptor = struct.pack("<IIIIq20xIIIHH4x", 0, 0, 16, 0, 256, 0, 0x%x, 0x84, 0x408, 0)
kfd = os.open("/dev/kfd", os.O_RDWR)
gpu = int(open("%s/1/gpu_id").read())
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
bytes_ = 1 << 16
at = libc.mmap(None, bytes_, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
memory = bytearray(struct.pack("QQQQII", at, bytes_, 0, 0, gpu, 2 | 1 << 29 | 1 << 30 | 1 << 31))
fcntl.ioctl(kfd, 0xC0284B16, memory)  # allocate: GTT, public, executable, writable
ids = ctypes.c_uint32(gpu)
fcntl.ioctl(kfd, 0xC0184B18, bytearray(struct.pack("QQII", struct.unpack_from("Q", memory, 16)[0],
                                                   ctypes.addressof(ids), 1, 0)))
def put(offset, data):
    ctypes.memmove(at + offset, data, len(data))
queue, ring, kernel, arguments, signal, source, result = (4096 * n for n in range(7))
put(kernel, descriptor)
put(kernel + 256, code)
put(arguments, struct.pack("QQ", at + source, at + result))
put(signal, struct.pack("qq", 1, 1))
put(source, struct.pack("64I", *range(100, 164)))
put(ring, struct.pack("64H", *[1] * 64))
# ring, write and read position, doorbell, size, gpu, AQL, 100 percent, priority, id, and no memory to save waves in
create = bytearray(struct.pack("QQQQIIIIIIQQQII", at + ring, at + queue + 56, at + queue + 128, 0, 4096, gpu, 2, 100, 7, 0,
                               0, 0, 0, 0, 0))
fcntl.ioctl(kfd, 0xC0584B02, create)
place, = struct.unpack_from("Q", create, 24)
doorbells = libc.mmap(None, 8192, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, kfd, place // 8192 * 8192)
put(ring + 2, struct.pack("<HHHHHIIIIIQQQQ", 1, 64, 1, 1, 0, 64, 1, 1, 0, 0, at + kernel, at + arguments, 0, at + signal))
put(queue + 56, struct.pack("Q", 1))
put(ring, struct.pack("H", 2))
ctypes.c_uint64.from_address(doorbells + place %% 8192).value = 0
end = time.monotonic() + 100
while ctypes.c_int64.from_address(at + signal + 8).value != 0 and time.monotonic() < end:
    time.sleep(0.001)
print(struct.unpack("64I", ctypes.string_at(at + result, 256)) == tuple(3 * (100 + i) + i for i in range(64)))
""" % (0x60ac0000, NODES)


class Order(unittest.TestCase):
    """Which wave of a program's dispatches is first (`lockstep exec --order`)."""

    # v_mov_b32 v1, 0 for the address: all lanes of both waves store there, and the last one's number is left.
    RACE = RUNS_A_KERNEL.replace("82000230", "8002027e") + "print(ctypes.c_uint32.from_address(at + result).value - 300)\n"

    def left(self, *options, **environment):
        result = subprocess.run([LOCKSTEP, "exec", *options, "--", sys.executable, "-c", self.RACE], capture_output=True,
                                text=True, timeout=120, env=os.environ | environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return int(result.stdout.split()[1])

    def test_a_race_shows_it(self):
        for engine in ("interpreter", "translator"):
            self.assertEqual(self.left("--engine", engine), 63)
            self.assertEqual(self.left("--engine", engine, "--order", "forward"), 63)
            self.assertEqual(self.left("--engine", engine, "--order", "backward"), 31)
            seeds = [self.left("--engine", engine, "--order", f"random:{seed}") for seed in range(8)]
            self.assertEqual(set(seeds), {31, 63})
            self.assertEqual(seeds[5], self.left("--engine", engine, "--order", "random:5"))

    def test_it_comes_by_the_environment(self):
        self.assertEqual(self.left(LOCKSTEP_ORDER="backward"), 31)
        self.assertEqual(self.left("--order", "forward", LOCKSTEP_ORDER="backward"), 63)
        for bad in ("up", "random:", "random:x", "random:-1", "random:99999999999999999999"):
            result = subprocess.run([LOCKSTEP, "exec", "--", sys.executable, "-c", "open('/dev/kfd')"], capture_output=True,
                                    text=True, timeout=60, env=os.environ | {"LOCKSTEP_ORDER": bad})
            self.assertIn("LOCKSTEP_ORDER is '" + bad + "'", result.stderr)
            self.assertNotEqual(result.returncode, 0)


class Checks(unittest.TestCase):
    """What checkers find in a program's dispatches."""

    def check(self, names, change=("", ""), *options):
        result = subprocess.run([LOCKSTEP, "exec", "--check", names, *options, "--", sys.executable, "-c",
                                 RUNS_A_KERNEL.replace(*change)], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def test_nothing_is_found_in_a_good_kernel(self):
        self.assertEqual(self.check("all"), "lockstep: check: nothing was found\n")

    def test_each_finding_is_told_with_its_place(self):
        # v_mov_b32 v1, 0 for the address: all lanes of both waves store there.
        everywhere = ("82000230", "8002027e")
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            text = self.check("races,memory", everywhere, "--log", log)
            self.assertIn("lockstep: check: races (error): ", text)
            self.assertIn("another wave of the work-group", text)
            self.assertIn("first in work-group (0, 0, 0)", text)
            line, = map(json.loads, log.read_text().splitlines())
            self.assertEqual({finding["checker"] for finding in line["findings"]}, {"races"})
            self.assertTrue(all(finding["place"] for finding in line["findings"]))
        # s_nop 0 for s_waitcnt lgkmcnt(0)
        text = self.check("waits,legality", ("07fc89bf", "000080bf"))
        self.assertIn("lockstep: check: waits (error): ", text)
        # The load's result is not there: v2 was never written.
        text = self.check("uninitialised", ("000052dc01000402", "000080bf000080bf"))
        self.assertIn("lockstep: check: uninitialised (error): ", text)

    def test_names_that_are_none(self):
        result = subprocess.run([LOCKSTEP, "exec", "--check", "race", "--", "true"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("race", result.stderr)


class Dumps(unittest.TestCase):
    """Dispatches that are written to files, and run again."""

    def run_again(self, path, *options):
        return subprocess.run([LOCKSTEP, "run", path, *options], capture_output=True, text=True, timeout=120)

    def test_a_dispatch_is_dumped_and_run_again(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([LOCKSTEP, "exec", "--dump", "1", "--dump-folder", folder, "--", sys.executable, "-c",
                                     RUNS_A_KERNEL], capture_output=True, text=True, timeout=120)
            self.assertEqual(result.stdout.split(), ["True"], result.stderr)
            path, = pathlib.Path(folder).iterdir()
            self.assertIn(str(path), result.stderr)
            for options in ((), ("--engine", "translator"), ("--results", "late"), ("--rules", "fault"), ("--fidelity",),
                            ("--device", "navi33"), ("--order", "backward"), ("--order", "random:3")):
                again = self.run_again(path, *options)
                self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
                self.assertIn("memory: as the program saw it", again.stdout)
                self.assertIn("1 work-groups, 2 waves, 16 wave-instructions", again.stderr)
            info = subprocess.run([LOCKSTEP, "info", path], capture_output=True, text=True, timeout=60)
            self.assertEqual(info.returncode, 0, info.stderr)
            self.assertIn("64 x 1 x 1 work-items", info.stdout)
            self.assertIn("64 KiB rwx memory of the host for devices", info.stdout)
            self.assertIn("16 wave-instructions", info.stdout)
            data = path.read_bytes()
            for options, message in ((("--kernel", "k"), "says itself"), (("--out", "0=x.npy"), "says itself"),
                                     (("--block", "64"), "says itself")):
                refused = self.run_again(path, *options)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn(message, refused.stderr)
            # Of a larger grid its first group.
            grid = b'"grid": [\n  64,'
            self.assertEqual(data.count(grid), 1)
            path.write_bytes(data.replace(grid, grid.replace(b"64", b"99")))
            checked = subprocess.run([CHECK_DUMP, "--lockstep", LOCKSTEP, "--groups", "1", path], capture_output=True, text=True,
                                     timeout=120)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            self.assertIn("1 work-groups, 2 waves, 16 wave-instructions", checked.stdout)
            self.assertIn("nothing was found", checked.stdout)
            path.write_bytes(data[:-16])
            cut = self.run_again(path)
            self.assertEqual(cut.returncode, 2)
            self.assertIn("ends without its last section", cut.stderr)

    def test_wrong_options_are_refused(self):
        result = subprocess.run([LOCKSTEP, "exec", "--dump", "1", "--dump-folder", "/nowhere", "--", "true"],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn("/nowhere", result.stderr)


class Libraries(unittest.TestCase):
    """What stands beside a copy of `lockstep`. The loader would only warn, and start the program without a card."""
    NAMES = ("liblockstep_exec.so", "liblockstep_driver.so")

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.build = pathlib.Path(LOCKSTEP).resolve().parents[1]
        self.root = pathlib.Path(temporary.name)

    def run_with(self, root, **libraries):
        """Those that are not named, by their first words, are the build's."""
        (root / "cli").mkdir(parents=True, exist_ok=True)
        (root / "host").mkdir(exist_ok=True)
        shutil.copy(LOCKSTEP, root / "cli/lockstep")
        for name in self.NAMES:
            (root / "host" / name).unlink(missing_ok=True)
            contents = libraries.get(name.removeprefix("liblockstep_").removesuffix(".so"))
            if contents is None:
                (root / "host" / name).symlink_to(self.build / "host" / name)
            else:
                (root / "host" / name).write_bytes(contents)
        return subprocess.run([root / "cli/lockstep", "exec", "--", sys.executable, "-c", f"print(open('{NODES}/1/gpu_id').read())"],
                              capture_output=True, text=True, timeout=60)

    def test_whole_ones_are_taken(self):
        result = self.run_with(self.root)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertGreater(int(result.stdout), 0)

    def test_the_damaged_are_refused_before_the_program_starts(self):
        for name in self.NAMES:
            whole = (self.build / "host" / name).read_bytes()
            # e_type, e_machine, and the class of 32 bits
            relocatable = whole[:16] + struct.pack("<H", 1) + whole[18:]
            for_arm = whole[:18] + struct.pack("<H", 183) + whole[20:]
            cut = [(whole[:length], f"is cut off after {length} bytes")
                   for length in (20, 63, 64, 200, len(whole) // 2, len(whole) - 1)]
            # Without sections the parts that are loaded tell it.
            stripped = whole[:40] + bytes(8) + whole[48:58] + bytes(6) + whole[64:]
            cut.append((stripped[:len(whole) // 4], f"is cut off after {len(whole) // 4} bytes"))
            for contents, said in [(b"", "is empty"), (b"\x7fEL", "is not an ELF file"), (b"#!/bin/sh\n" * 9, "is not an ELF file"),
                                   (relocatable, "is not a shared object"), (for_arm, "is for machine 183, not for x86-64 (62)"),
                                   *cut]:
                with self.subTest(library=name, said=said, bytes=len(contents)):
                    result = self.run_with(self.root, **{name.removeprefix("liblockstep_").removesuffix(".so"): contents})
                    self.assertEqual((result.returncode, result.stdout), (2, ""))
                    self.assertEqual(result.stderr, f"error: {self.root.resolve()}/host/{name} {said} (build all, or install again)\n")

    def test_one_that_is_missing_is_told(self):
        self.run_with(self.root)
        (self.root / "host/liblockstep_driver.so").unlink()
        result = subprocess.run([self.root / "cli/lockstep", "exec", "--", "true"], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn("liblockstep_driver.so cannot be read: No such file or directory (build all", result.stderr)

    def test_a_folder_that_the_loader_takes_for_two_is_refused(self):
        for name in ("with a space", "with:colon"):
            result = self.run_with(self.root / name)
            self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
            self.assertIn(name, result.stderr)
            self.assertIn("can hold no path with a space or a colon", result.stderr)


class Ends(unittest.TestCase):
    def shared_memory(self):
        return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()

    def test_nothing_is_left_of_the_killed(self):
        chance = random.Random(1)
        before = self.shared_memory()
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TMPDIR": folder, "XDG_RUNTIME_DIR": folder, "HOME": folder}
            ready = 0
            for first in range(0, KILLED, 4):
                group = []
                for _ in range(min(4, KILLED - first)):
                    # Each in a session of its own: whoever is in it when the program is gone, is left of it.
                    group.append(subprocess.Popen([LOCKSTEP, "exec", "--", sys.executable, "-c", USES_THE_CARD],
                                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                                  env=environment, start_new_session=True))
                time.sleep(chance.random() * 0.7)
                for process in group:
                    # Some are let come to where they use the card.
                    if chance.random() < 0.3 and process.stdout.readline() == b"ready\n":
                        ready += 1
                    os.kill(process.pid, chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                    self.assertLess(process.wait(timeout=60), 0)
                    process.stdout.close()
                    self.assertEqual(self.session(process.pid), [])
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
            self.assertGreater(ready, 0)
        self.assertEqual(self.shared_memory() - before, set())

    def test_a_signal_before_the_program_begins_ends_it(self):
        # The start waits where it looks at the libraries, until the test writes one.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                (root / "cli").mkdir()
                (root / "host").mkdir()
                shutil.copy(LOCKSTEP, root / "cli/lockstep")
                for name in Libraries.NAMES:
                    os.mkfifo(root / "host" / name)
                process = subprocess.Popen([root / "cli/lockstep", "exec", "--", "true"], stderr=subprocess.PIPE,
                                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                asleep = 0
                while asleep < 5:
                    time.sleep(0.02)
                    self.assertIsNone(process.poll(), "it did not wait")
                    state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
                    asleep = asleep + 1 if state == "S" else 0
                os.kill(process.pid, number)
                _, said = process.communicate(timeout=60)
                self.assertEqual((process.returncode, said), (-number, b""))

    def test_what_the_program_ignores_is_what_it_would_without(self):
        command = ["grep", "SigIgn", "/proc/self/status"]
        for ignored in ([], [signal.SIGPIPE], [signal.SIGXFSZ, signal.SIGTERM]):
            def ignore():
                for number in ignored:
                    signal.signal(number, signal.SIG_IGN)
            plain, under = (subprocess.run(before + command, capture_output=True, text=True, timeout=60, preexec_fn=ignore)
                            for before in ([], [LOCKSTEP, "exec", "--"]))
            self.assertEqual(plain.returncode, 0)
            self.assertEqual(under.stdout, plain.stdout)

    def session(self, leader):
        """Processes that are left of a session."""
        left = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                left.append(entry.name)
        return left

    def test_eight_at_once(self):
        group = [subprocess.Popen([LOCKSTEP, "exec", "--", sys.executable, "-c", USES_THE_CARD],
                                  stdout=subprocess.PIPE) for _ in range(8)]
        try:
            for process in group:
                self.assertEqual(process.stdout.readline(), b"ready\n")
        finally:
            for process in group:
                process.kill()
                process.wait()
                process.stdout.close()

    def test_the_handler_of_faults_is_the_drivers_from_the_first_look_at_devices(self):
        # Without it memory that a program takes away from a running kernel ends the process. Handlers of the
        # program's come behind it, whether they were there before or come later.
        result = run("""
import fcntl, os, signal
def caught():
    line = next(l for l in open('/proc/self/status') if l.startswith('SigCgt'))
    return [number for number in (signal.SIGSEGV, signal.SIGBUS) if int(line.split()[1], 16) >> (number - 1) & 1]
print(caught() == [])
kfd = os.open('/dev/kfd', os.O_RDWR)
fcntl.ioctl(kfd, 0x80084b01, bytearray(8))
print(len(caught()))
signal.signal(signal.SIGSEGV, signal.SIG_DFL)
print(len(caught()))
""")
        self.assertEqual(result.stdout.split(), ["True", "2", "2"], result.stderr)

    def test_a_fault_of_the_programs_own_ends_it(self):
        # Not the interposer's signal(), by which the driver's handler would only set what stands behind it, for ever.
        looked = "import ctypes, fcntl, mmap, os, signal\nfcntl.ioctl(os.open('/dev/kfd', os.O_RDWR), 0x80084b01, bytearray(8))\n"
        mapped = "at = ctypes.CDLL(None).mmap\nat.restype = ctypes.c_void_p\n" \
                 "ctypes.memset(at(None, 4096, 3, 1, os.memfd_create('empty'), 0), 0, 1)\n"
        for what, number in (("ctypes.string_at(8)", signal.SIGSEGV), (mapped, signal.SIGBUS),
                             ("os.kill(os.getpid(), signal.SIGSEGV)", signal.SIGSEGV),
                             ("os.kill(os.getpid(), signal.SIGBUS)", signal.SIGBUS)):
            with self.subTest(what=what):
                result = subprocess.run([LOCKSTEP, "exec", "--", sys.executable, "-c", looked + what], capture_output=True,
                                        text=True, timeout=60)
                self.assertEqual(result.returncode, -number, result.stderr)

    def test_a_fork_of_one_that_has_only_looked_has_devices_of_its_own(self):
        # The second child's parent has had a queue.
        result = run("""
import fcntl, os
CODE = %r
def in_a_child(code):
    child = os.fork()
    if child == 0:
        try:
            exec(code, {})
        except OSError as error:
            print("error", error.errno, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
fcntl.ioctl(os.open("/dev/kfd", os.O_RDWR), 0x80084B01, bytearray(8))
in_a_child(CODE + "import sys; sys.stdout.flush()")
exec(CODE + "import sys; sys.stdout.flush()", {})
in_a_child(CODE)
""" % RUNS_A_KERNEL)
        self.assertEqual(result.stdout.split()[:2], ["True", "True"], result.stderr)
        self.assertRegex(result.stdout, r"error \d+")
        self.assertIn("no device: a process that was forked from one that has used devices", result.stderr)

    def test_a_fork_of_one_that_has_given_the_render_node_commands_has_no_device(self):
        # Threads of the parent process them. To have a context alone is to have looked.
        result = run("""
import ctypes, fcntl, os, struct
def context():
    node, arguments = os.open("/dev/dri/renderD128", os.O_RDWR), bytearray(struct.pack("4I", 1, 0, 0, 0))
    fcntl.ioctl(node, 0xC0106442, arguments)
    return node, struct.unpack("4I", arguments)[0]
def in_a_child():
    if os.fork() == 0:
        try:
            print("context", context()[1], flush=True)
        except OSError as error:
            print("error", error.errno, flush=True)
        os._exit(0)
    os.wait()
node, number = context()
in_a_child()
buffer = ctypes.create_string_buffer(struct.pack("2IQ4I", 0, 0, 0, 0, 1, 0, 0))  # of no commands, on the compute engine
chunk = ctypes.create_string_buffer(struct.pack("2IQ", 1, 8, ctypes.addressof(buffer)))
chunks = ctypes.create_string_buffer(struct.pack("Q", ctypes.addressof(chunk)))
fcntl.ioctl(node, 0xC0186444, bytearray(struct.pack("4IQ", number, 0, 1, 0, ctypes.addressof(chunks))))
in_a_child()
context()
print("the parent goes on")
""")
        self.assertRegex(result.stdout, r"^context \d+\nerror \d+\nthe parent goes on$", result.stderr)
        self.assertIn("no device: a process that was forked from one that has used devices", result.stderr)

    def test_a_program_that_never_looks_loads_no_driver(self):
        result = run("print(any('lockstep_driver' in line for line in open('/proc/self/maps')))")
        self.assertEqual(result.stdout.split(), ["False"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
