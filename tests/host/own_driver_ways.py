#!/usr/bin/env python3
"""What drivers of programs do in one way or another (own_driver_kit.py): where rings and positions are and when they are told,
where memory is mapped, how events are raised, what registers say. Under `lockstep exec`; prints "all results are right", or
ends with an error."""
import ctypes
import errno
import fcntl
import mmap
import struct
import time

from own_driver_kit import (ADDING, AQL, COUNTING, DISPATCH_HEADER, ENABLE, EXECUTABLE, GTT, IN_ORDER, ITEMS, KERNEL,
                            MAP_NORESERVE, PAGE, PARTIAL, PM4, PUBLIC, READ_WRITE, REGISTERS, SCRATCH_KERNEL, SDMA,
                            SDMA_BY_ENGINE, START_AT_ZERO, USER, VRAM, WAIT_FOR_WAVES, WAVE32, WRITABLE, Device, Event,
                            Memory, Queue, acquire, call, copy, descriptor, dispatch, dispatch_packet, fence, host_map,
                            ioctl, kfd, libc, packet, pair, program, release, set_registers, wait)

device = Device()
slots = Memory(device, PAGE * 8)
event = Event(device, slots.handle)
code, signals, arguments = Memory(device, PAGE, VRAM), Memory(device, PAGE), Memory(device, PAGE)
source, target = Memory(device, PAGE), Memory(device, PAGE)
for place, kernel in ((256, KERNEL), (1024, COUNTING), (2048, SCRATCH_KERNEL), (3072, ADDING)):
    ctypes.memmove(code.address + place, kernel, len(kernel))
source.words[:64] = [i ^ 0x55 for i in range(64)]
arguments.longs[0:2] = [source.address, target.address]
EXPECTED = [3 * (i ^ 0x55) + i for i in range(64)]


def ends(queue, words, slot=0, tell=None):
    """Whether a queue gets to the end of these packets; `tell` publishes them."""
    ends.count += 1
    queue.put(words + (release(signals.address + 8 * slot, ends.count) if queue.kind in (PM4, AQL) else
                       fence(signals.address + 8 * slot, ends.count)))
    (tell or tell_both)(queue)
    wait("the packets are not executed", lambda: signals.words[2 * slot] == ends.count)


ends.count = 0


def tell_both(queue):
    queue.position.value = queue.doorbell.value = queue.written * queue.unit


def compute(queue, tell=None):
    ctypes.memset(target.address, 0, PAGE)
    ends(queue, acquire() + dispatch(code.address + 256, arguments.address, 1), tell=tell)
    assert list(target.words[:64]) == EXPECTED


def copies(queue, tell=None):
    ctypes.memset(target.address, 0, PAGE)
    ends(queue, copy(source.address, target.address, 256), tell=tell)
    assert target.words[:64] == source.words[:64]


# ---- Positions

def doorbell_first(queue):
    queue.doorbell.value = queue.written * queue.unit
    time.sleep(0.001)
    queue.position.value = queue.written * queue.unit


def doorbell_alone(queue):
    queue.doorbell.value = queue.written * queue.unit


def within_the_ring(queue):
    queue.position.value = queue.doorbell.value = queue.written % queue.size * queue.unit


def dword_by_dword(queue):
    end = queue.written * queue.unit
    for position in range(queue.position.value, end, queue.unit):
        queue.position.value = position
    queue.position.value = queue.doorbell.value = end


for kind, run in ((PM4, compute), (SDMA, copies), (SDMA_BY_ENGINE, copies)):
    for tell in (tell_both, doorbell_first, doorbell_alone, within_the_ring, dword_by_dword):
        queue = Queue(device, kind, 1024, engine=1)
        for i in range(20):
            run(queue, tell)
        queue.destroy()

# A packet in two parts, with a rest in between.
queue = Queue(device, PM4)
queue.send(release(signals.address + 8, 77)[:5])
time.sleep(0.02)
queue.send(release(signals.address + 8, 77)[5:])
wait("the second half is not seen", lambda: signals.words[2] == 77)
queue.destroy()

# ---- Where rings, positions and buffers are

for flags in (VRAM, GTT, USER, VRAM | EXECUTABLE, USER | WRITABLE):
    for kind, run, size in ((PM4, compute, 1024), (PM4, compute, 2048), (PM4, compute, 1 << 20), (SDMA, copies, 1024)):
        ring, positions = Memory(device, max(size, PAGE), flags), Memory(device, PAGE, VRAM)
        queue = Queue(device, kind, size, positions.address + 8, positions.address, ring)
        for i in range(12):
            run(queue)
        queue.destroy()
        positions.free()

# Where the write index of an AQL queue is, is the program's choice; the rest of its amd_queue_t is found by the read index.
ctypes.memmove(code.address + 512, descriptor(256 - 512), 64)
ring, header, elsewhere = Memory(device, PAGE), Memory(device, PAGE), Memory(device, PAGE, VRAM)
for slot in range(64):
    ring.words[16 * slot] = 1  # no packet
queue = Queue(device, AQL, PAGE, header.address + 128, elsewhere.address + 8, ring)
for i in range(100):
    ctypes.memset(target.address, 0, 256)
    place = ring.address + 64 * (i % 64)
    ctypes.memmove(place, dispatch_packet(code.address + 512, arguments.address, 64), 64)
    ctypes.c_uint16.from_address(place).value = DISPATCH_HEADER
    queue.position.value = i + 1
    queue.doorbell.value = i
    wait("the packet is not executed", lambda: queue.done.value == i + 1)
    assert list(target.words[:64]) == EXPECTED
queue.destroy()

queue, buffer = Queue(device, PM4), Memory(device, PAGE, USER)
for at in (0, 4, 100):  # a buffer begins at any dword, and has any number of them
    body = packet(0x10, *range(at // 4 + 1)) + dispatch(code.address + 256, arguments.address, 1)
    for i, word in enumerate(body):
        buffer.words[at // 4 + i] = word
    ctypes.memset(target.address, 0, PAGE)
    ends(queue, call(buffer.address + at, len(body)))
    assert list(target.words[:64]) == EXPECTED

# Memory of the device where the program has none, seen by the program somewhere else; and where it has reserved some by
# memory of its own that it has never touched.
hole = host_map(None, PAGE * 64, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
libc.munmap(hole, PAGE * 64)
untouched = host_map(None, PAGE * 4, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for address, size in ((hole + PAGE * 16, PAGE * 4), (untouched, PAGE * 4)):
    flags = VRAM | WRITABLE | PUBLIC
    handle, offset = ioctl(kfd, READ_WRITE, 0x16, "QQQQII", address, size, 0, 0, device.id, flags)[2:4]
    elsewhere = host_map(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, device.render, offset)
    ids = (ctypes.c_uint32 * 1)(device.id)
    assert ioctl(kfd, READ_WRITE, 0x18, "QQII", handle, ctypes.addressof(ids), 1, 0)[3] == 1
    arguments.longs[2:4] = [source.address, address]
    ends(queue, dispatch(code.address + 256, arguments.address + 16, 1))
    assert list((ctypes.c_uint32 * 64).from_address(elsewhere)) == EXPECTED
    libc.munmap(elsewhere, size)
    assert ioctl(kfd, READ_WRITE, 0x19, "QQII", handle, ctypes.addressof(ids), 1, 0)[3] == 1
    ioctl(kfd, 1, 0x17, "Q", handle)
    libc.munmap(address, size)

# What the program has stored there is not taken from it.
used = host_map(None, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
ctypes.c_uint32.from_address(used).value = 5
try:
    ioctl(kfd, READ_WRITE, 0x16, "QQQQII", used, PAGE, 0, 0, device.id, VRAM | WRITABLE)
    raise AssertionError("memory of the program was taken")
except OSError as error:
    assert error.errno == errno.EINVAL
assert ctypes.c_uint32.from_address(used).value == 5

# Memory of the program that the device reaches by attributes alone: SET_ATTR, accessible in place.
own = host_map(None, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
fcntl.ioctl(kfd, 3 << 30 | 32 << 16 | ord("K") << 8 | 0x20, bytearray(struct.pack("QQIIII", own, PAGE, 0, 1, 3, device.id)))
arguments.longs[2:4] = [source.address, own]
ends(queue, dispatch(code.address + 256, arguments.address + 16, 1))
assert list((ctypes.c_uint32 * 64).from_address(own)) == EXPECTED

# The page of registers by which the host's path is flushed.
registers = ioctl(kfd, READ_WRITE, 0x16, "QQQQII", host_map(None, PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), PAGE, 0, 0,
                  device.id, REGISTERS | WRITABLE)[3]
ctypes.c_uint32.from_address(host_map(None, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, kfd, registers)).value = 1

# ---- Events: by number, by what stands in its slot, by both

others = [Event(device) for _ in range(20)]
for i, each in enumerate(others[:-1]):
    assert each.slot == each.id
    slot = slots.address + 8 * each.slot
    if i % 3 == 0:
        queue.send(release(signals.address + 8, i, each))
    elif i % 3 == 1:
        queue.send(packet(0x49, 0x14 | 5 << 8, 1 << 29 | 2 << 24, *pair(slot), 1, 0, 0xffffff))
    else:
        queue.send(packet(0x49, 0x14 | 5 << 8, 2 << 29 | 2 << 24, *pair(slot), each.id, 0, each.id))
    each.wait()
    if i % 3 == 1:
        assert slots.longs[each.slot] == (1 << 64) - 1
    assert not others[i + 1].is_raised()
    each.destroy()

# ---- What registers say

arguments.longs[4:6] = [target.address, 0]
for initiator, dimensions, group, items in (
        (ENABLE | START_AT_ZERO | WAVE32 | IN_ORDER, (1, 1, 1), (64, 1, 1), 64),
        (ENABLE | START_AT_ZERO | WAVE32 | PARTIAL, (1, 1, 1), (64 | 40 << 16, 1 | 1 << 16, 1 | 1 << 16), 40),
        (ENABLE | START_AT_ZERO | WAVE32 | ITEMS | PARTIAL, (40, 1, 1), (64, 1, 1), 40),
        (ENABLE | START_AT_ZERO | WAVE32 | ITEMS, (40, 1, 1), (64, 1, 1), 64),
        (ENABLE | WAVE32, (1, 1, 1), (64, 1, 1), 64)):
    ctypes.memset(target.address, 0, PAGE)
    ends(queue, program(code.address + 256, pair(arguments.address), group=group) + packet(0x15, *dimensions, initiator)
         + WAIT_FOR_WAVES)
    assert list(target.words[:64]) == EXPECTED[:items] + [0] * (64 - items), (initiator, list(target.words[:64]))

# Scratch that registers name: 8 waves on each shader engine, of 1024 bytes.
engines = device.property("array_count") // device.property("simd_arrays_per_engine")
scratch, results = Memory(device, engines * 8 * 1024, VRAM), Memory(device, 64 * 100 * 4)
arguments.longs[4] = results.address
ends(queue, set_registers(0x2e10, *pair(scratch.address >> 8)) + set_registers(0x2e18, 8 | 4 << 12)
     + program(code.address + 2048, pair(arguments.address + 32), (1 | 0xc0 << 12 | 1 << 29 | 1 << 30, 1 | 2 << 1 | 1 << 7))
     + packet(0x15, 100, 1, 1, ENABLE | START_AT_ZERO | WAVE32) + WAIT_FOR_WAVES)
assert list(results.words) == [7 * i for i in range(6400)]

# Registers from memory; a dispatch whose size is in memory; the clock at both ends of the pipe.
saved = Memory(device, PAGE)
saved.words[:5] = [*pair(arguments.address), 1, 1, 1]
before = device.clocks()
ctypes.memset(target.address, 0, PAGE)
ends(queue, program(code.address + 256, (0, 0)) + packet(0x63, *pair(saved.address), 0x240, 2)
     + packet(0xb2, 3, *pair(signals.address + 128), *pair(signals.address + 136))
     + packet(0x16, *pair(saved.address + 8), ENABLE | START_AT_ZERO | WAVE32) + WAIT_FOR_WAVES
     + packet(0xb2, 1, *pair(signals.address + 144), 0, 0))
assert list(target.words[:64]) == EXPECTED
after = device.clocks()
bottom, top, last = signals.longs[16:19]
assert before[0] <= top <= bottom <= last <= after[0], (before, top, bottom, last, after)
# All clocks go as fast as each other: 100 MHz, and nanoseconds. Who reads them may lose the processor in between.
assert after[3] == 1_000_000_000


def clocks_agree():
    first = device.clocks()
    time.sleep(0.05)
    then = device.clocks()
    return all(abs((then[0] - first[0]) * 10 - (then[host] - first[host])) < 1_000_000 for host in (1, 2))


wait("clocks do not agree", clocks_agree)

# A hundred thousand dispatches through one ring, whose end is anywhere in them.
long_queue, sum_at = Queue(device, PM4, 1 << 18), signals.address + 256
arguments.longs[6] = sum_at
once = dispatch(code.address + 3072, arguments.address + 48, 1)
part = struct.pack("<%dI" % len(once), *once) * 250
for i in range(400):
    at, size = long_queue.written % long_queue.size * 4, long_queue.size * 4
    first = min(len(part), size - at)
    ctypes.memmove(long_queue.ring.address + at, part[:first], first)
    ctypes.memmove(long_queue.ring.address, part[first:], len(part) - first)
    long_queue.written += len(part) // 4
    ends(long_queue, [])
assert signals.words[64] == 2 * 100_000, signals.words[64]

# ---- Queues that come and go

for i in range(40):
    some = [Queue(device, (PM4, SDMA, AQL)[k % 3], *((4096,) if k % 3 < 2 else (4096, slots.address + 128, slots.address + 56)))
            for k in range(9)]
    for each in some:
        if each.kind != AQL:
            (compute if each.kind == PM4 else copies)(each)
    for each in some:
        each.destroy()
many = []
try:
    while True:
        many.append(Queue(device, PM4))
except OSError as error:
    assert error.errno == errno.ENOMEM, error
assert len(many) >= 127, len(many)
for each in many[-3:]:
    compute(each)
for each in many:
    each.destroy()
compute(queue)

# After a fault the process's queues of the device are gone, and others take their place.
arguments.longs[8:10] = [source.address, 0x1234000]
queue.send(dispatch(code.address + 256, arguments.address + 64, 1))
time.sleep(0.1)
queue.destroy()
queue = Queue(device, PM4)
compute(queue)

print("all results are right")
