#!/usr/bin/env python3
"""A program that brings a driver of its own, as some frameworks do: it speaks to the kernel's driver by ioctls alone, makes its
packets itself, and knows of no ROCm. Under `lockstep exec`; prints "all results are right", or ends with an error.

Numbers are those of linux/kfd_ioctl.h, of the kernel's nvd.h (PM4) and sdma_v6_0_0_pkt_open.h, and of gfx11's registers."""
import ctypes
import fcntl
import mmap
import os
import select
import struct
import time

TOPOLOGY = "/sys/devices/virtual/kfd/kfd/topology/nodes/1/"
PAGE = 4096
VRAM, GTT, DOORBELL = 1, 2, 8
WRITABLE, EXECUTABLE, PUBLIC, COHERENT = 1 << 31, 1 << 30, 1 << 29, 1 << 26
MAP_NORESERVE, MAP_FIXED = 0x4000, 0x10
PM4, SDMA, AQL = 0, 1, 2

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
properties = dict(line.split() for line in open(TOPOLOGY + "properties"))
gpu = int(open(TOPOLOGY + "gpu_id").read())
kfd = os.open("/dev/kfd", os.O_RDWR | os.O_CLOEXEC)
render = os.open("/dev/dri/renderD" + properties["drm_render_minor"], os.O_RDWR)
ioctl(kfd, WRITE, 0x15, "II", render, gpu)  # ACQUIRE_VM


class Memory:
    def __init__(self, size, flags=GTT):
        self.size = size
        self.address = host_map(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
        flags |= WRITABLE | EXECUTABLE | (PUBLIC if flags & VRAM else COHERENT)
        self.handle, offset = ioctl(kfd, READ_WRITE, 0x16, "QQQQII", self.address, size, 0, 0, gpu, flags)[2:4]
        host_map(self.address, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | MAP_FIXED, render, offset)
        ids = (ctypes.c_uint32 * 1)(gpu)
        assert ioctl(kfd, READ_WRITE, 0x18, "QQII", self.handle, ctypes.addressof(ids), 1, 0)[3] == 1
        self.words = (ctypes.c_uint32 * (size // 4)).from_address(self.address)
        self.longs = (ctypes.c_uint64 * (size // 8)).from_address(self.address)

    def free(self):
        ids = (ctypes.c_uint32 * 1)(gpu)
        assert ioctl(kfd, READ_WRITE, 0x19, "QQII", self.handle, ctypes.addressof(ids), 1, 0)[3] == 1
        ioctl(kfd, WRITE, 0x17, "Q", self.handle)
        libc.munmap(self.address, self.size)


def wait(what, condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.0002)


class Queue:
    """Doorbells are mapped when the first queue is there, as the driver only then says where they are."""
    doorbells = {}

    def __init__(self, kind, size=PAGE * 4, read=None, write=None, ring=None):
        self.kind, self.unit = kind, {PM4: 1, SDMA: 4, AQL: 1}[kind]
        self.control = Memory(PAGE)
        self.ring = ring or Memory(size)
        self.read_at = read or self.control.address
        self.write_at = write or self.control.address + 64
        save = int(properties.get("cwsr_size", 0)) + int(properties.get("ctl_stack_size", 0))
        self.area = Memory((max(save, PAGE) + PAGE - 1) // PAGE * PAGE)
        self.end_of_pipe = Memory(PAGE, VRAM)
        reply = ioctl(kfd, READ_WRITE, 0x02, "QQQQIIIIIIQQQII", self.ring.address, self.write_at, self.read_at, 0, size, gpu,
                      kind, 100, 7, 0, self.end_of_pipe.address, PAGE, self.area.address,
                      int(properties.get("cwsr_size", 0)), int(properties.get("ctl_stack_size", 0)))
        self.id, offset = reply[9], reply[3]
        page = offset & ~0x1fff
        if page not in Queue.doorbells:
            Queue.doorbells[page] = host_map(None, 0x2000, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, kfd, page)
        self.doorbell = ctypes.c_uint64.from_address(Queue.doorbells[page] + (offset & 0x1fff))
        self.position = ctypes.c_uint64.from_address(self.write_at)
        self.done = ctypes.c_uint64.from_address(self.read_at)
        self.written = 0  # in dwords

    def send(self, words):
        for word in words:
            self.ring.words[self.written % (self.ring.size // 4)] = word
            self.written += 1
        self.position.value = self.written * self.unit
        self.doorbell.value = self.written * self.unit

    def wait_idle(self):
        # Where the compute queues read is told in 32 bits, within the ring.
        end = self.written % (self.ring.size // 4) if self.kind == PM4 else self.written * self.unit
        wait("the ring is not read", lambda: self.done.value == end)

    def destroy(self):
        ioctl(kfd, READ_WRITE, 0x03, "II", self.id, 0)
        for memory in (self.control, self.ring, self.area, self.end_of_pipe):
            memory.free()


class Event:
    def __init__(self):
        self.id = ioctl(kfd, READ_WRITE, 0x08, "QIIIIII", 0, 0, 0, 1, gpu, 0, 0)[5]

    def wait(self):
        data = (ctypes.c_uint32 * 12)()
        data[10] = self.id
        assert ioctl(kfd, READ_WRITE, 0x0C, "QIIII", ctypes.addressof(data), 1, 1, 30_000, 0)[4] == 0, "no event"


def pair(address):
    return [address & 0xffffffff, address >> 32]


# ---- PM4

def packet(opcode, *payload):
    return [3 << 30 | (len(payload) - 1) << 16 | opcode << 8, *payload]


def set_registers(first, *values):
    return packet(0x76, first - 0x2c00, *values)


def dispatch(code, arguments, groups):
    words = set_registers(0x2e0c, *pair(code >> 8))
    # 16 VGPRs, denormals, WGP mode and memory in order; two user SGPRs and the group's number.
    words += set_registers(0x2e12, 1 | 0xc0 << 12 | 1 << 29 | 1 << 30, 2 << 1 | 1 << 7)
    words += set_registers(0x2e28, 0) + set_registers(0x2e18, 0) + set_registers(0x2e1b, 0, 0, 0)
    for units in (0x2e16, 0x2e17, 0x2e19, 0x2e1a):
        words += set_registers(units, 0xffffffff)
    words += set_registers(0x2e40, *pair(arguments)) + set_registers(0x2e15, 0)
    words += set_registers(0x2e04, 0, 0, 0, 64, 1, 1, 0, 0)
    return words + packet(0x15, groups, 1, 1, 1 | 1 << 2 | 1 << 15) + packet(0x46, 7 | 4 << 8)


def release(address, value, event=None, data=2):
    """A value (data 2) or the clock (3) at the end of the pipe, behind all caches; and an interrupt."""
    caches = 1 << 12 | 1 << 13 | 1 << 14 | 1 << 17 | 1 << 18 | 3 << 25
    return packet(0x49, 0x14 | 5 << 8 | caches, data << 29 | (2 << 24 if event else 0), *pair(address), *pair(value),
                  event.id if event else 0)


def wait_memory(address, value):
    return packet(0x3c, 5 | 1 << 4, *pair(address), value, 0xffffffff, 4)


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


# to[i] = 3 * from[i] + i in wave32: the arguments {from, to} at s[0:1], the group's number in s2, 64 work-items a group.
KERNEL = bytes.fromhex(
    "000108f4 000000f8 ff000036 ff030000 02860384 0300004a 82000230 07fc89bf 000052dc 01000402 f70389bf 02002cd7 02070100"
    "0201044a 00006adc 01020600 0000b0bf".replace(" ", ""))

# Adds 1 to the second argument, again and again, until the first one is not 0.
COUNTING = bytes.fromhex(
    "000108f4 000000f8 8002027e 8102047e 07fc89bf 0000d6dc 01020600 006052dc 01000403 f70389bf 0305107e 088006bf "
    "f8ffa2bf 0000b0bf".replace(" ", ""))

GROUPS = 100
COUNT = 64 * GROUPS
code = Memory(PAGE, VRAM)
ctypes.memmove(code.address + 256, KERNEL, len(KERNEL))
ctypes.memmove(code.address + 2048, COUNTING, len(COUNTING))
source, middle, target = Memory(COUNT * 4), Memory(COUNT * 4 + PAGE, VRAM), Memory(COUNT * 4)
arguments, signals = Memory(PAGE), Memory(PAGE)
source.words[:] = [i ^ 0x55 for i in range(COUNT)]
expected = [(3 * (i ^ 0x55) + i) & 0xffffffff for i in range(COUNT)]
arguments.longs[0:2] = [source.address, middle.address]
arguments.longs[2:4] = [target.address, source.address]

compute, copies = Queue(PM4), Queue(SDMA)
event = Event()  # after the queues that will tell it

# A kernel, a copy by the other engine that waits for it, and a kernel that waits for the copy: only memory joins them.
inner = Memory(PAGE)
body = acquire() + dispatch(code.address + 256, arguments.address, GROUPS) + release(signals.address, 1)
inner.words[:len(body)] = body
compute.send(flush_host_path() + clock(signals.address + 64) + call(inner.address, len(body)))
compute.send(wait_memory(signals.address + 8, 2) + dispatch(code.address + 256, arguments.address + 16, GROUPS)
             + release(signals.address + 72, 0, data=3) + release(signals.address + 16, 3, event))
copies.send(poll(signals.address, 1) + stamp(signals.address + 80) + copy(middle.address, target.address, COUNT * 4)
            + fence(signals.address + 8, 2))
event.wait()
assert signals.longs[2] == 3
assert list(target.words) == expected
assert list(source.words) == [(3 * value + i) & 0xffffffff for i, value in enumerate(expected)]
begin, end, between = signals.longs[8], signals.longs[9], signals.longs[10]
assert 0 < begin < between < end, (begin, between, end)
# All clocks are one, at 100 MHz.
assert end <= ioctl(kfd, READ_WRITE, 0x05, "QQQQII", 0, 0, 0, 0, gpu, 0)[0] < end + 60 * 10**8

# The copy engine's own buffers and interrupts, over the end of its ring.
chain = Memory(PAGE)
for i in range(400):
    words = copy(source.address, target.address, 256) + fence(signals.address + 24, i + 1)
    chain.words[:len(words)] = words
    copies.send(indirect(chain.address, len(words)) + interrupt(event))
    event.wait()
    assert signals.words[6] == i + 1
assert target.words[:64] == source.words[:64]

# The compute queue's own copies, sums and conditions.
signals.longs[20:24] = [5, 0, 0, 0]
compute.send(profiler_off() + poll_host_path() + dma(source.address, middle.address, 1000)
             + atomic_add(signals.address + 160, 1 << 40) + unless_zero(signals.address + 168, atomic_add(signals.address + 160, 1))
             + unless_zero(signals.address + 160, atomic_add(signals.address + 176, 3)) + release(signals.address + 184, 4))
wait("the copy does not end", lambda: signals.longs[23] == 4)
assert middle.words[:250] == source.words[:250]
assert signals.longs[20] == 5 + (1 << 40) and signals.longs[22] == 3

# Many small dispatches, over the end of the ring; a second queue beside it.
second = Queue(PM4)
source.words[:] = range(COUNT)
for i in range(200):
    for queue, slot in ((compute, 32), (second, 40)):
        queue.send(acquire() + dispatch(code.address + 256, arguments.address, 1) + release(signals.address + slot, i + 1))
    wait("the dispatches do not end", lambda: signals.words[8] == i + 1 and signals.words[10] == i + 1)
assert list(middle.words[:64]) == [4 * i for i in range(64)]

# A queue without a share of the device stands still, and goes on when it has one again.
def update(share):
    ioctl(kfd, WRITE, 0x07, "QIIII", second.ring.address, second.id, second.ring.size, share, 7)


update(0)
second.send(release(signals.address + 48, 7))
time.sleep(0.05)
assert signals.words[12] == 0
update(100)
wait("the queue does not go on", lambda: signals.words[12] == 7)
second.wait_idle()

# So do its waves, wherever they are; and they end with it.
flag, counter = signals.address + 128, signals.address + 132
arguments.longs[4:6] = [flag, counter]
signals.words[14] = signals.words[32] = signals.words[33] = 0
for round in range(3):
    second.send(dispatch(code.address + 2048, arguments.address + 32, GROUPS) + release(signals.address + 56, round + 1))
    before = signals.words[33]
    wait("the waves do not run", lambda: signals.words[33] > before + 1000)
    update(0)
    before = signals.words[33]
    compute.send(dispatch(code.address + 256, arguments.address, GROUPS) + release(signals.address + 32, 1000 + round))
    wait("another queue does not run", lambda: signals.words[8] == 1000 + round)
    time.sleep(0.02)
    assert signals.words[33] == before and signals.words[14] == round
    if round == 2:
        break
    update(100)
    wait("the waves do not go on", lambda: signals.words[33] > before + 1000)
    signals.words[32] = 1
    wait("the waves do not end", lambda: signals.words[14] == round + 1)
    signals.words[32] = 0
second.destroy()
time.sleep(0.02)
assert signals.words[33] == before and signals.words[14] == 2

# An AQL queue beside them, whose kernel descriptor is made by hand.
shared = Memory(PAGE * 2)
header = shared.address  # amd_queue_t
ring = Memory(64 * 64)
descriptor = code.address + 1024
ctypes.memmove(descriptor, struct.pack("<IIIIq20xIIIHHI", 0, 0, 16, 0, 256 - 1024, 0, 1 | 0xc0 << 12 | 1 << 29 | 1 << 30,
                                       2 << 1 | 1 << 7, 1 << 3 | 1 << 10, 0, 0), 64)
for slot in range(64):
    ring.words[16 * slot] = 1  # no packet
queue = Queue(AQL, 64 * 64, header + 128, header + 56, ring)
signal = shared.address + PAGE  # amd_signal_t: kind, value, mailbox, event
ctypes.memmove(signal, struct.pack("<qqQI", 1, 1, signal + 64, event.id), 28)
middle.words[0] = 0
packet_bytes = struct.pack("<HHHHHHIIIIIQQQQ", 1, 1, 64, 1, 1, 0, COUNT, 1, 1, 0, 0, descriptor, arguments.address, 0, signal)
ctypes.memmove(ring.address, packet_bytes, 64)
queue.position.value = 1
ctypes.c_uint16.from_address(ring.address).value = 2 | 1 << 8 | 2 << 9 | 2 << 11
queue.doorbell.value = 0
event.wait()
assert ctypes.c_int64.from_address(signal + 8).value == 0
assert list(middle.words[:COUNT]) == [4 * i for i in range(COUNT)]
wait("the packet is not given back", lambda: queue.done.value == 1)

# A packet that the engine does not have resets the device, which system management tells of.
smi = ioctl(kfd, READ_WRITE, 0x1F, "II", gpu, 0)[1]
os.write(smi, struct.pack("<Q", 1 << 2 | 1 << 3))  # before and after a reset
assert not select.select([smi], [], [], 0)[0]
copies.send([0xff])
assert select.select([smi], [], [], 60)[0], "nobody tells of the reset"
lines = b""
while lines.count(b"\n") < 2:
    select.select([smi], [], [], 60)
    lines += os.read(smi, 96)
assert lines == b"3 1\n4 1\n", lines

for each in (queue, compute, copies):
    each.destroy()
for memory in (code, source, middle, target, arguments, signals, inner, chain, shared):
    memory.free()
print("all results are right")
