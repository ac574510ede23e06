#!/usr/bin/env python3
"""A program that gives the C library whatever pointers, paths, descriptors, requests and offsets chance brings.

  hostile_program.py calls SEED COUNT     calls about files of the host; prints what each returned. Under `lockstep exec`
                                          it must be what it is without
  hostile_program.py devices SEED COUNT   calls about the devices and their files, COUNT in each of some children;
                                          exits with 1, and says why, if one ends by a signal, waits for ever, or is
                                          told something else than an error where it gave no memory
"""
import ctypes
import errno
import mmap
import os
import random
import signal
import sys

PAGE = 4096
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.readlink.restype = libc.readlinkat.restype = ctypes.c_ssize_t
libc.opendir.restype = libc.fopen.restype = ctypes.c_void_p
HOSTS = ["/", "/dev/null", "/dev", "/etc/passwd", "/etc/passwd/", "/nowhere/file", "", ".", "..", "nothing", "/proc/self/exe",
         "/sys", "/sys/class", "/dev/kf", "/dev/kfd0", "/devices", "/usr/share", "/proc/self/fd/0", "//tmp//.", "/" + "a" * 300,
         "/" + "b/" * 2040, "c" * 4095, "d" * 4096, "/sys/" + "../sys/" * 700]
NODE = "/sys/devices/virtual/kfd/kfd/topology/nodes/1"
OURS = ["/dev/kfd", "/dev/dri/renderD128", "/dev//dri/../kfd", "/dev/dri", "/dev/dri/card0", NODE, NODE + "/gpu_id",
        "/sys/class/drm/card0", "/sys/class/drm/card0/device/vendor"]
CONTROL, RENDER = 0x4B, 0x64  # types of ioctls: 'K' and 'd'
SYNC_WAITS = {0xc3: 1, 0xca: 2}  # DRM_IOCTL_SYNCOBJ_WAIT and _TIMELINE_WAIT: which word says how long


class Memory:
    """Pages that can be written, read, or neither; texts that end, and that run into what is not there."""

    def __init__(self, chance):
        self.chance = chance
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.base = libc.mmap(None, 16 * PAGE, 3, flags, -1, 0)
        libc.munmap(self.base + 15 * PAGE, PAGE)
        for page, rights in ((3, 0), (6, 1), (11, 0)):
            libc.mmap(self.base + page * PAGE, PAGE, rights, flags | 0x10, -1, 0)  # MAP_FIXED

    def bad(self):
        return self.chance.choice([0, 1, 8, PAGE - 1, self.base + 3 * PAGE, self.base + 3 * PAGE + 77, self.base + 15 * PAGE,
                                   1 << 47, (1 << 47) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - PAGE, 0x123456789])

    def text(self, path, good=False):
        """Where a path stands; rarely, unless it must be good, without its end, or nowhere."""
        data = path.encode() + b"\0"
        kind = 3 if good else self.chance.randrange(8)
        if kind == 0:
            return self.bad()
        if kind == 1 and len(path) < PAGE:  # the last byte of a page, and nothing behind it
            place = self.base + 3 * PAGE - len(data) + (self.chance.random() < 0.5)
            ctypes.memmove(place, data, self.base + 3 * PAGE - place)
            return place
        if kind == 2 and len(path) < PAGE:  # from one page to the next
            place = self.base + 8 * PAGE - len(data) // 2
        else:
            place = self.base + self.chance.randrange(256)
        ctypes.memmove(place, data, len(data))
        return place

    def result(self, room=256):
        """Where something may be written to: (address, whether it can)."""
        kind = self.chance.randrange(6)
        if kind == 0:
            return self.bad(), False
        if kind == 1:  # read only
            return self.base + 6 * PAGE + self.chance.randrange(64), False
        if kind == 2:  # it begins, and is not all there
            return self.base + 11 * PAGE - self.chance.randrange(1, 64), room < 64 and None
        return self.base + 12 * PAGE + self.chance.randrange(128), True


def call(name, *arguments):
    """What a function of the C library returned, and errno if that was an error."""
    ctypes.set_errno(0)
    result = getattr(libc, name)(*[ctypes.c_void_p(a) if isinstance(a, int) and abs(a) >= 1 << 31 else a for a in arguments])
    if name in ("opendir", "fopen"):
        result = -1 if result is None else result
    return result, ctypes.get_errno() if result == -1 else 0


def about_files(chance, memory, paths, folders):
    """One call: its name, its arguments in words, its result, whether what it was given to write to can be written."""
    path, folder = chance.choice(paths), chance.choice(folders)
    place, there = memory.result()
    flags = chance.choice([0, 0, 0x100, 0x1000, 0x1100, 0x800])  # AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_NO_AUTOMOUNT
    kind = chance.choice(["open", "openat", "stat", "lstat", "fstatat", "statx", "fstat", "statfs", "fstatfs", "access",
                          "faccessat", "readlink", "readlinkat", "opendir", "fopen"])
    text = memory.text(path, kind == "opendir")  # the library itself reads that one
    how = chance.choice([0, 0, os.O_PATH, os.O_DIRECTORY, os.O_NOFOLLOW, os.O_CLOEXEC])
    room = chance.choice([0, 1, 5, 200, 1 << 31])
    mode = ctypes.c_char_p(b"r")
    arguments = {"open": (text, how), "openat": (folder, text, how), "stat": (text, place), "lstat": (text, place),
                 "fstatat": (folder, text, place, flags), "statx": (folder, text, flags, 0x7ff, place), "fstat": (folder, place),
                 "statfs": (text, place), "fstatfs": (folder, place), "access": (text, chance.randrange(8)),
                 "faccessat": (folder, text, chance.randrange(8), 0), "readlink": (text, place, ctypes.c_size_t(room)),
                 "readlinkat": (folder, text, place, ctypes.c_size_t(room)), "opendir": (text,), "fopen": (text, mode)}[kind]
    result, error = call(kind, *arguments)
    if kind in ("open", "openat") and result >= 0:
        os.close(result)
        result = "descriptor"
    elif kind == "opendir" and result != -1:
        libc.closedir(ctypes.c_void_p(result))
        result = "folder"
    elif kind == "fopen" and result != -1:
        libc.fclose(ctypes.c_void_p(result))
        result = "file"
    written = kind in ("stat", "lstat", "fstatat", "statx", "fstat", "statfs", "fstatfs")
    return kind, path[:40], result, error, there if written else True


def about_devices(chance, memory, nodes):
    """A request, or a mapping."""
    def word():
        return chance.choice([0, 1, chance.randrange(64), chance.getrandbits(64), chance.getrandbits(32), memory.bad(),
                              memory.base + chance.randrange(16) * PAGE, chance.randrange(32) * PAGE, gpu, gpu | 1 << 32])
    node = chance.choice(nodes)
    if chance.random() < 0.2:
        offset = chance.choice([0, chance.randrange(64) * PAGE, chance.getrandbits(63), chance.getrandbits(47) & -PAGE, 1 << 46,
                                (1 << 46) - PAGE, chance.getrandbits(62) & -PAGE])
        where = memory.base + chance.choice([9, 10, 12, 13]) * PAGE if chance.random() < 0.3 else None
        flags = chance.choice([mmap.MAP_SHARED, mmap.MAP_PRIVATE, 0, 3]) | (0x10 if where else 0)
        place = libc.mmap(where, chance.choice([0, 1, PAGE, 2 * PAGE, 1 << 50]), chance.randrange(8), flags, node, offset)
        if place not in (None, (1 << 64) - 1) and not where and chance.random() < 0.8:
            libc.munmap(place, PAGE)
        return
    kind = chance.choice([CONTROL, CONTROL, RENDER, chance.getrandbits(8)])
    number = chance.randrange(1, 0x27) if kind == CONTROL and chance.random() < 0.8 else \
        chance.choice([0, 2, 9, 0x2d, 0x2e, 0x41, 0x45, 0x48, chance.getrandbits(8)])
    bytes_ = chance.choice([8, 16, 24, 32, 40, 48, 88, 128, chance.getrandbits(14)])
    words = [word() for _ in range(16)]
    if kind == CONTROL and number == 0x0c:
        words[2] &= 0xffffffff00000003 if chance.random() < 0.5 else 3  # no wait for ever, as it would ask
    if kind == RENDER and number in SYNC_WAITS:
        words[SYNC_WAITS[number]] = 0
    if kind == CONTROL and number in (0x16, 0x1d, 0x20):  # what is given to the device is the arena's
        words[0] = memory.base + 12 * PAGE
        words[1] = chance.choice([PAGE, 2 * PAGE, 3 * PAGE])
    place, there = memory.result(bytes_)
    if there:
        ctypes.memmove(place, b"".join(w.to_bytes(8, "little") for w in words), 128)
    elif (kind == CONTROL and number == 0x0c) or (kind == RENDER and number in SYNC_WAITS):
        return  # what stands there may say to wait for ever
    request = chance.choice([3, 3, 3, 1, 2, 0]) << 30 | bytes_ << 16 | kind << 8 | number
    result, error = call("ioctl", node, ctypes.c_ulong(request), ctypes.c_void_p(place))
    if there is False and bytes_ and request >> 30 != 1 and result != -1:
        raise SystemExit(f"ioctl {request:#x} at {place:#x} has returned {result}")
    if result not in (0, -1) or (result == -1 and not error):
        raise SystemExit(f"ioctl {request:#x} has returned {result}, errno {error}")


def child(seed, count):
    chance = random.Random(seed)
    memory = Memory(chance)
    folders = [os.open(NODE, os.O_RDONLY), os.open("/dev/kfd", os.O_RDWR), os.open("/dev/dri/renderD128", os.O_RDWR), -1, -100]
    for _ in range(count):
        if chance.random() < 0.3:
            name, path, result, error, there = about_files(chance, memory, OURS, folders)
            if there is False and result != -1:
                raise SystemExit(f"{name} of {path} has returned {result} where nothing can be written")
        else:
            about_devices(chance, memory, folders[1:3])


def main():
    what, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if what == "calls":
        chance = random.Random(seed)
        memory, folders = Memory(chance), [os.open("/etc", os.O_RDONLY), os.open("/dev/null", os.O_RDONLY), -1, -100, 65535, 1 << 20]
        for _ in range(count):
            print(*about_files(chance, memory, HOSTS, folders)[:4])
        return 0
    global gpu
    gpu = int(open(NODE + "/gpu_id").read())
    for number in range(8):
        process = os.fork()
        if process == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(120)
            try:
                child(f"{seed} {number}", count)
            except SystemExit as error:
                print(error, flush=True)
                os._exit(3)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if status != 0:
            print(f"child {number}: status {status:#x}", flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
