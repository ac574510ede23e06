#!/usr/bin/env python3
"""A program that brings a driver of its own (own_driver_kit.py). Under `lockstep exec`; prints "all results are right", or ends
with an error."""
import ctypes
import os
import select
import struct
import time

from own_driver_kit import (AQL, COUNTING, DISPATCH_HEADER, KERNEL, PAGE, PM4, READ_WRITE, SDMA, VRAM, WRITE, Device, Event,
                            Memory, Queue, acquire, atomic_add, call, clock, copy, descriptor, dispatch, dispatch_packet,
                            dma, fence, flush_host_path, indirect, interrupt, ioctl, kfd, poll, poll_host_path, profiler_off,
                            release, stamp, unless_zero, wait, wait_memory)

device = Device()
GROUPS = 100
COUNT = 64 * GROUPS
code = Memory(device, PAGE, VRAM)
ctypes.memmove(code.address + 256, KERNEL, len(KERNEL))
ctypes.memmove(code.address + 2048, COUNTING, len(COUNTING))
source, middle, target = Memory(device, COUNT * 4), Memory(device, COUNT * 4 + PAGE, VRAM), Memory(device, COUNT * 4)
arguments, signals = Memory(device, PAGE), Memory(device, PAGE)
source.words[:] = [i ^ 0x55 for i in range(COUNT)]
expected = [(3 * (i ^ 0x55) + i) & 0xffffffff for i in range(COUNT)]
arguments.longs[0:2] = [source.address, middle.address]
arguments.longs[2:4] = [target.address, source.address]

compute, copies = Queue(device, PM4), Queue(device, SDMA)
event = Event(device)  # after the queues that will tell it

# A kernel, a copy by the other engine that waits for it, and a kernel that waits for the copy: only memory joins them.
inner = Memory(device, PAGE)
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
assert end <= device.clocks()[0] < end + 60 * 10**8

# The copy engine's own buffers and interrupts, over the end of its ring.
chain = Memory(device, PAGE)
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
second = Queue(device, PM4)
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
shared = Memory(device, PAGE * 2)
header = shared.address  # amd_queue_t
ring = Memory(device, 64 * 64)
kernel = code.address + 1024
ctypes.memmove(kernel, descriptor(256 - 1024), 64)
for slot in range(64):
    ring.words[16 * slot] = 1  # no packet
queue = Queue(device, AQL, 64 * 64, header + 128, header + 56, ring)
signal = shared.address + PAGE  # amd_signal_t: kind, value, mailbox, event
ctypes.memmove(signal, struct.pack("<qqQI", 1, 1, signal + 64, event.id), 28)
middle.words[0] = 0
ctypes.memmove(ring.address, dispatch_packet(kernel, arguments.address, COUNT, signal), 64)
queue.position.value = 1
ctypes.c_uint16.from_address(ring.address).value = DISPATCH_HEADER
queue.doorbell.value = 0
event.wait()
assert ctypes.c_int64.from_address(signal + 8).value == 0
assert list(middle.words[:COUNT]) == [4 * i for i in range(COUNT)]
wait("the packet is not given back", lambda: queue.done.value == 1)

# A packet that the engine does not have resets the device, which system management tells of.
smi = ioctl(kfd, READ_WRITE, 0x1F, "II", device.id, 0)[1]
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
