"""What a program needs that brings a driver of its own, as some frameworks do: the kernel's driver by ioctls alone, memory,
queues, events, and packets that it makes itself. It knows of no ROCm.

Numbers are those of linux/kfd_ioctl.h, of the kernel's nvd.h (PM4) and sdma_v6_0_0_pkt_open.h, of PAL's packets of compute
queues, and of gfx11's registers."""
import ctypes
import fcntl
import glob
import mmap
import os
import struct
import time

NODES = "/sys/devices/virtual/kfd/kfd/topology/nodes/"
PAGE = 4096
VRAM, GTT, USER, DOORBELL, REGISTERS = 1, 2, 4, 8, 16
WRITABLE, EXECUTABLE, PUBLIC, COHERENT, UNCACHED = 1 << 31, 1 << 30, 1 << 29, 1 << 26, 1 << 25
MAP_NORESERVE, MAP_FIXED = 0x4000, 0x10
PM4, SDMA, AQL, SDMA_BY_ENGINE = 0, 1, 2, 4

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def host_map(address, size, protection, flags, file=-1, offset=0):
    place = libc.mmap(address, size, protection, flags, file, offset)
    assert place != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
    return place


def ioctl(file, direction, number, layout, *values):
    """The fields of the structure as the driver leaves them."""
    data = bytearray(struct.pack(layout, *values))
    fcntl.ioctl(file, direction << 30 | len(data) << 16 | ord("K") << 8 | number, data)
    return struct.unpack(layout, data)


READ_WRITE, WRITE = 3, 1
kfd = os.open("/dev/kfd", os.O_RDWR | os.O_CLOEXEC)


class Device:
    """By its number among those that compute."""
    def __init__(self, number=0):
        nodes = sorted(glob.glob(NODES + "*/gpu_id"), key=lambda path: int(path.split("/")[-2]))
        ids = [(int(open(path).read()), os.path.dirname(path)) for path in nodes]
        self.id, self.folder = [each for each in ids if each[0] != 0][number]
        self.properties = dict(line.split() for line in open(self.folder + "/properties"))
        self.render = os.open("/dev/dri/renderD" + self.properties["drm_render_minor"], os.O_RDWR)
        self.doorbells = {}  # mapped when the first queue is there, as the driver only then says where they are
        ioctl(kfd, WRITE, 0x15, "II", self.render, self.id)  # ACQUIRE_VM

    def property(self, name):
        return int(self.properties[name])

    def clocks(self):
        """The device's, the host's raw monotonic one and the one that counts since boot, with its frequency."""
        return ioctl(kfd, READ_WRITE, 0x05, "QQQQII", 0, 0, 0, 0, self.id, 0)[:4]


class Memory:
    """Memory that all of `devices` have mapped; the first one's. `address` is one that the program has reserved."""
    def __init__(self, devices, size, flags=GTT, address=None):
        self.devices = devices if isinstance(devices, list) else [devices]
        self.size, self.file = size, self.devices[0].render
        offset = 0
        if flags & USER:
            rights, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
            address = offset = address or host_map(None, size, rights, kind)
        self.address = address or host_map(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
        if not flags >> 25:
            flags |= WRITABLE | EXECUTABLE | (PUBLIC if flags & VRAM else COHERENT)
        self.handle, self.offset = ioctl(kfd, READ_WRITE, 0x16, "QQQQII", self.address, size, 0, offset, self.devices[0].id,
                                         flags)[2:4]
        if not flags & USER:
            host_map(self.address, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | MAP_FIXED, self.file, self.offset)
        self.change_mapping(0x18)
        self.words = (ctypes.c_uint32 * (size // 4)).from_address(self.address)
        self.longs = (ctypes.c_uint64 * (size // 8)).from_address(self.address)

    def change_mapping(self, number):
        ids = (ctypes.c_uint32 * len(self.devices))(*(device.id for device in self.devices))
        assert ioctl(kfd, READ_WRITE, number, "QQII", self.handle, ctypes.addressof(ids), len(ids), 0)[3] == len(ids)

    def free(self):
        self.change_mapping(0x19)
        ioctl(kfd, WRITE, 0x17, "Q", self.handle)
        libc.munmap(self.address, self.size)


def wait(what, condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.0002)


class Queue:
    """`ring` has the packets, the positions are at `read` and `write`; what is not given is made, in `control`."""
    def __init__(self, device, kind, size=PAGE * 4, read=None, write=None, ring=None, engine=0):
        self.device, self.kind, self.unit = device, kind, {PM4: 1, SDMA: 4, AQL: 1, SDMA_BY_ENGINE: 4}[kind]
        self.control = Memory(device, PAGE)
        self.ring = ring or Memory(device, size)
        self.read_at = read or self.control.address
        self.write_at = write or self.control.address + 64
        save, stack = device.property("cwsr_size"), device.property("ctl_stack_size")
        self.area = Memory(device, (save + device.property("simd_count") * 16 * 32 + PAGE - 1) // PAGE * PAGE)
        self.end_of_pipe = Memory(device, PAGE, VRAM)
        reply = ioctl(kfd, READ_WRITE, 0x02, "QQQQIIIIIIQQQIIII", self.ring.address, self.write_at, self.read_at, 0, size,
                      device.id, kind, 100, 7, 0, self.end_of_pipe.address, PAGE, self.area.address, save, stack, engine, 0)
        self.id, offset = reply[9], reply[3]
        page = offset & ~0x1fff
        if page not in device.doorbells:
            device.doorbells[page] = host_map(None, 0x2000, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, kfd, page)
        self.doorbell = ctypes.c_uint64.from_address(device.doorbells[page] + (offset & 0x1fff))
        self.position = ctypes.c_uint64.from_address(self.write_at)
        self.done = ctypes.c_uint64.from_address(self.read_at)
        self.size, self.written = size // 4, 0  # in dwords

    def put(self, words):
        for word in words:
            self.ring.words[self.written % self.size] = word
            self.written += 1

    def send(self, words):
        self.put(words)
        self.position.value = self.written * self.unit
        self.doorbell.value = self.written * self.unit

    def wait_idle(self):
        # Where the compute queues read is told in 32 bits, within the ring.
        end = self.written % self.size if self.kind == PM4 else self.written * self.unit
        wait("the ring is not read", lambda: self.done.value == end)

    def destroy(self):
        ioctl(kfd, READ_WRITE, 0x03, "II", self.id, 0)
        for memory in (self.control, self.ring, self.area, self.end_of_pipe):
            memory.free()


class Event:
    """`page` is the handle of memory that shall hold the slots of all events, given with the first one."""
    def __init__(self, device, page=0):
        fields = ioctl(kfd, READ_WRITE, 0x08, "QIIIIII", page, 0, 0, 1, device.id, 0, 0)
        self.page, self.id, self.slot = fields[0], fields[5], fields[6]

    def is_raised(self, milliseconds=0):
        data = (ctypes.c_uint32 * 12)()
        data[10] = self.id
        return ioctl(kfd, READ_WRITE, 0x0C, "QIIII", ctypes.addressof(data), 1, 1, milliseconds, 0)[4] == 0

    def wait(self):
        assert self.is_raised(30_000), "no event"

    def destroy(self):
        ioctl(kfd, WRITE, 0x09, "II", self.id, 0)


def pair(address):
    return [address & 0xffffffff, address >> 32]


# ---- PM4

def packet(opcode, *payload):
    return [3 << 30 | (len(payload) - 1) << 16 | opcode << 8, *payload]


def set_registers(first, *values):
    return packet(0x76, first - 0x2c00, *values)


def program(code, user_data, resources=(1 | 0xc0 << 12 | 1 << 29 | 1 << 30, 2 << 1 | 1 << 7), group=(64, 1, 1)):
    """All that a dispatch takes from registers. If nothing is said: 16 VGPRs, denormals, WGP mode and memory in order; two
    user SGPRs and the group's number."""
    words = set_registers(0x2e0c, *pair(code >> 8)) + set_registers(0x2e12, *resources)
    words += set_registers(0x2e28, 0) + set_registers(0x2e1b, 0, 0, 0)
    for units in (0x2e16, 0x2e17, 0x2e19, 0x2e1a):
        words += set_registers(units, 0xffffffff)
    words += set_registers(0x2e40, *user_data) + set_registers(0x2e15, 0)
    return words + set_registers(0x2e04, 0, 0, 0, *group, 0, 0)


ENABLE, PARTIAL, START_AT_ZERO, ITEMS, IN_ORDER, WAVE32 = 1, 1 << 1, 1 << 2, 1 << 5, 1 << 6, 1 << 15
WAIT_FOR_WAVES = packet(0x46, 7 | 4 << 8)


def dispatch(code, arguments, groups):
    words = program(code, pair(arguments)) + set_registers(0x2e18, 0)
    return words + packet(0x15, groups, 1, 1, ENABLE | START_AT_ZERO | WAVE32) + WAIT_FOR_WAVES


def release(address, value, event=None, data=2):
    """A value (data 2) or the clock (3) at the end of the pipe, behind all caches; and an interrupt."""
    caches = 1 << 12 | 1 << 13 | 1 << 14 | 1 << 17 | 1 << 18 | 3 << 25
    return packet(0x49, 0x14 | 5 << 8 | caches, data << 29 | (2 << 24 if event else 0), *pair(address), *pair(value),
                  event.id if event else 0)


def wait_memory(address, value, function=5):
    return packet(0x3c, function | 1 << 4, *pair(address), value, 0xffffffff, 4)


def acquire():
    return packet(0x58, 0, 0xffffffff, 0xff, 0, 0, 0, 3 | 1 << 4 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 14)


def flush_host_path():
    return packet(0x3c, 3 | 1 << 6, 0x1f1b, 0x1f1c, 0xffffffff, 0xffffffff, 0x20)


def clock(address):
    return packet(0x40, 9 | 2 << 8 | 1 << 16 | 1 << 20, 0, 0, *pair(address))


def dma(source, target, size):
    return packet(0x50, 3 << 29 | 3 << 20, *pair(source), *pair(target), size)


def atomic_add(address, value):
    """64 bits, which returns nothing."""
    return packet(0x1e, 0x6f, *pair(address), *pair(value), 0, 0, 0)


def unless_zero(address, words):
    return packet(0x22, *pair(address), 0, len(words)) + words


def poll_host_path():
    """The same flush by the registers alone."""
    return packet(0x37, 0, 0xe26, 0, 1) + packet(0x3c, 3, 0xe27, 0, 1, 1, 4)


def profiler_off():
    """What programs reset that could profile: the shader engine that is meant, counters and the trace."""
    return packet(0x79, 0x200, 0xe0000000) + packet(0x79, 0x1808, 0) + packet(0x79, 0x19ec, 0) + packet(0x46, 0x34)


def call(address, dwords):
    return packet(0x3f, *pair(address), dwords | 1 << 23)


# ---- SDMA

def copy(source, target, size):
    return [1, size - 1, 0, *pair(source), *pair(target)]


def fence(address, value):
    return [5 | 3 << 16, *pair(address), value]


def poll(address, value):
    return [8 | 5 << 28 | 1 << 31, *pair(address), value, 0xffffffff, 4 | 0xfff << 16]


def stamp(address):
    return [13 | 2 << 8, *pair(address)]


def interrupt(event):
    return [6, event.id]


def indirect(address, dwords):
    return [4, *pair(address), dwords, 0, 0]


# ---- AQL

def descriptor(entry, resources=(1 | 0xc0 << 12 | 1 << 29 | 1 << 30, 2 << 1 | 1 << 7)):
    """Of a kernel that begins so many bytes behind it; wave32, a pointer to its arguments."""
    return struct.pack("<IIIIq20xIIIHHI", 0, 0, 16, 0, entry, 0, *resources, 1 << 3 | 1 << 10, 0, 0)


def dispatch_packet(kernel, arguments, items, signal=0):
    """Without its header, which is stored last."""
    return struct.pack("<HHHHHHIIIIIQQQQ", 1, 1, 64, 1, 1, 0, items, 1, 1, 0, 0, kernel, arguments, 0, signal)


DISPATCH_HEADER = 2 | 1 << 8 | 2 << 9 | 2 << 11


# ---- Kernels

# to[i] = 3 * from[i] + i in wave32: the arguments {from, to} at s[0:1], the group's number in s2, 64 work-items a group.
KERNEL = bytes.fromhex(
    "000108f4 000000f8 ff000036 ff030000 02860384 0300004a 82000230 07fc89bf 000052dc 01000402 f70389bf 02002cd7 02070100"
    "0201044a 00006adc 01020600 0000b0bf".replace(" ", ""))

# Adds 1 to the second argument, again and again, until the first one is not 0.
COUNTING = bytes.fromhex(
    "000108f4 000000f8 8002027e 8102047e 07fc89bf 0000d6dc 01020600 006052dc 01000403 f70389bf 0305107e 088006bf "
    "f8ffa2bf 0000b0bf".replace(" ", ""))

# to[i] = 7 * i by way of scratch: the argument {to} at s[0:1], the rest as above.
SCRATCH_KERNEL = bytes.fromhex(
    "000004f4 000000f8 ff000036 ff030000 02860284 0200024a 02002cd7 010f0100 100069dc 00027c00 00007cbc 100051dc 00007c03 "
    "82020230 070089bf 00006adc 01030000 0000b0bf".replace(" ", ""))

# Adds 1 to the argument, once for each wave.
ADDING = bytes.fromhex(
    "000004f4 000000f8 8100febe 8002007e 8102027e 07fc89bf 0000d6dc 00010000 0000b0bf".replace(" ", ""))
