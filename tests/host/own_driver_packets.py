#!/usr/bin/env python3
"""Packets of compute and copy queues that programs with a driver of their own send beside those of own_driver.py
(own_driver_kit.py). Under `lockstep exec`; prints "all results are right", or ends with an error."""
import ctypes
import time

from own_driver_kit import (ENABLE, KERNEL, PAGE, PM4, SDMA, START_AT_ZERO, VRAM, WAIT_FOR_WAVES, WAVE32, Device, Event,
                            Memory, Queue, acquire, copy, dispatch, fence, indirect, interrupt, packet, pair, poll, program,
                            release, set_registers, stamp, wait)

device = Device()
code, arguments, buffers = Memory(device, PAGE, VRAM), Memory(device, PAGE), Memory(device, PAGE * 4)
source, target, cells = Memory(device, PAGE), Memory(device, PAGE, VRAM), Memory(device, PAGE)
ctypes.memmove(code.address + 256, KERNEL, len(KERNEL))
source.words[:64] = [i ^ 0x55 for i in range(64)]
arguments.longs[0:2] = [source.address, target.address]
EXPECTED = [3 * (i ^ 0x55) + i for i in range(64)]
first, second, copies = Queue(device, PM4), Queue(device, PM4), Queue(device, SDMA)
event = Event(device)
count = 0


def cell(number):
    """The address of one of 64 bits; 0 is that of what `ends` waits for."""
    return cells.address + 8 * number


def ends(queue, words):
    global count
    count += 1
    queue.send(words + (fence(cell(0), count) if queue.kind == SDMA else release(cell(0), count)))
    wait("the packets are not executed", lambda: cells.words[0] == count)


# ---- PM4: data

MEMORY, REGISTER, SAME_ADDRESS, CONFIRM, WIDE = 5 << 8, 0, 1 << 16, 1 << 20, 1 << 16


def write(address, *values, control=MEMORY | CONFIRM):
    return packet(0x37, control, *pair(address), *values)


def copy_data(control, source, target):
    return packet(0x40, control | CONFIRM, *pair(source), *pair(target))


cells.longs[1:9] = [0] * 8
ends(first, write(cell(1), 1, 2, 3) + write(cell(3), 7, 8, 9, control=MEMORY | SAME_ADDRESS)
     + copy_data(1 | 5 << 8 | WIDE, cell(1), cell(4)) + copy_data(2 | 2 << 8, cell(2), cell(5))
     + copy_data(5 | 5 << 8 | WIDE, 0x123456789a, cell(6)))
assert cells.words[2:5] == [1, 2, 3] and cells.longs[3] == 9, cells.words[2:8]
assert cells.longs[4:7] == [1 | 2 << 32, 3, 0x123456789a], cells.longs[4:7]

# Registers of a dispatch from memory, from the packet, and read again: its arguments are only known when it begins.
cells.longs[7:10] = [arguments.address, 0, 0]
ctypes.memset(target.address, 0, PAGE)
ends(first, program(code.address + 256, (0, 0)) + copy_data(1 | WIDE, cell(7), 0x2e40)
     + copy_data(WIDE | 5 << 8, 0x2e40, cell(8))
     + packet(0x37, REGISTER, 0x2e07, 0, 64) + copy_data(5 << 8, 0x2e07, cell(9))
     + packet(0x15, 1, 1, 1, ENABLE | START_AT_ZERO | WAVE32) + WAIT_FOR_WAVES)
assert cells.longs[8] == arguments.address and cells.longs[9] == 64
assert list(target.words[:64]) == EXPECTED

# ---- PM4: waits, whatever ends them: another queue of either kind, or the host

ALWAYS, LESS, AT_MOST, EQUAL, UNEQUAL, AT_LEAST, GREATER = range(7)


def wait_for(function, address, reference, mask=0xffffffff):
    return packet(0x3c, function | 1 << 4, *pair(address), reference, mask, 4)


def wait_for_wide(function, address, reference, mask=(1 << 64) - 1):
    return packet(0x93, function | 1 << 4, *pair(address), *pair(reference), *pair(mask), 4)


for function, before, after in ((LESS, 5, 4), (AT_MOST, 6, 5), (EQUAL, 4, 5), (UNEQUAL, 5, 6), (AT_LEAST, 4, 5),
                                (GREATER, 5, 6)):
    for by in ("host", "compute", "copies"):
        for wide in (False, True):
            high = (1 << 40) if wide else 0
            cells.longs[10], cells.longs[11] = high | 0x100 | before, 0
            waits = wait_for_wide(function, cell(10), high | 5, high | 0xff) if wide else wait_for(function, cell(10), 5, 0xff)
            first.send(waits + write(cell(11), 1))
            time.sleep(0.001)
            assert cells.longs[11] == 0, (function, by, wide)
            value = high | 0x100 | after
            if by == "host":
                cells.longs[10] = value
            elif by == "compute":
                ends(second, write(cell(10), *pair(value)))
            else:
                ends(copies, [2, *pair(cell(10)), 1, *pair(value)])
            wait("the queue does not go on", lambda: cells.longs[11] == 1)
ends(first, wait_for(ALWAYS, cell(10), 0))

# Two queues that hand each other a word, a hundred times.
cells.longs[12] = 0
for i in range(0, 200, 2):
    first.send(wait_for(EQUAL, cell(12), i) + write(cell(12), i + 1))
    second.send(wait_for(EQUAL, cell(12), i + 1) + write(cell(12), i + 2))
wait("the queues do not hand over", lambda: cells.longs[12] == 200)

# ---- PM4: buffers that go on in others, and are left out

CHAIN, VALID = 1 << 20, 1 << 23


def put_buffer(number, words):
    """Of 1 KiB each. Its address and size."""
    buffers.words[256 * number:256 * number + len(words)] = words
    return buffers.address + 1024 * number, len(words)


def go(where, flags=VALID):
    return packet(0x3f, *pair(where[0]), where[1] | flags)


cells.longs[13:18] = [0] * 5
last = put_buffer(0, write(cell(13), 1))
inner = put_buffer(1, write(cell(14), 1) + go(last, VALID | CHAIN))
outer = put_buffer(2, go(inner) + write(cell(15), 1))
ends(first, go(outer) + write(cell(16), 1))
assert cells.longs[13:17] == [1, 1, 1, 1], cells.longs[13:17]

# One condition in a buffer and one in the ring: COND_EXEC, COND_INDIRECT_BUFFER, COND_WRITE.
cells.longs[13:20] = [0, 1, 0, 0, 0, 0, 5]
either = put_buffer(0, write(cell(15), 1))
other = put_buffer(1, write(cell(16), 1))
skipped = write(cell(17), 1)
conditions = put_buffer(2, packet(0x22, *pair(cell(13)), 0, len(skipped)) + skipped
                        + packet(0x3f, 2 | EQUAL << 8, *pair(cell(14)), *pair((1 << 64) - 1), *pair(1),
                                 *pair(either[0]), either[1], *pair(other[0]), other[1]))
ends(first, go(conditions) + packet(0x45, EQUAL | 1 << 4 | 1 << 8, *pair(cell(19)), 5, 0xff, *pair(cell(18)), 77))
assert cells.longs[13:20] == [0, 1, 1, 0, 0, 77, 5], cells.longs[13:20]

# ---- PM4: the end of the pipe

cells.longs[20:24] = [40, 0, 0, 0]
ctypes.memset(target.address, 0, PAGE)
begin = device.clocks()[0]
ends(first, acquire() + dispatch(code.address + 256, arguments.address, 1) + release(cell(20), 2, data=7)
     + release(cell(21), 9, data=1) + release(cell(22), 0, data=3) + release(cell(23), 0, data=4))
assert list(target.words[:64]) == EXPECTED
assert cells.longs[20:22] == [42, 9], cells.longs[20:22]
assert begin <= cells.longs[22] <= cells.longs[23] <= device.clocks()[0]

# ---- SDMA: what it writes, adds, leaves out and waits for

target.words[:256] = [0] * 256
cells.longs[24:30] = [7, 0, 0, 0, 5, 0]
ADD_64, SWAP_IF_64 = 0x2f, 0x28
ends(copies, [2, *pair(target.address), 3, 10, 11, 12, 13]  # write
     + [11 | 2 << 30, *pair(target.address + 64), 0xabcd1234, 63] + [11, *pair(target.address + 129), 0x5a, 2]  # fills
     + [10 | ADD_64 << 25, *pair(cell(24)), *pair(1 << 33), 0, 0, 0]
     + [10 | SWAP_IF_64 << 25, *pair(cell(28)), *pair(1 << 50), *pair(5), 0]
     + [9, *pair(cell(25)), 1, 4] + fence(cell(26), 1) + [9, *pair(cell(25)), 0, 4] + fence(cell(27), 1)
     + [0] * 3 + stamp(cell(29)))
assert target.words[:4] == [10, 11, 12, 13] and target.words[4] == 0
assert target.words[16:32] == [0xabcd1234] * 16 and target.words[32] == 0x5a5a5a00, hex(target.words[32])
assert cells.longs[24] == 7 + (1 << 33) and cells.longs[28] == 1 << 50, cells.longs[24:29]
assert cells.longs[26:28] == [0, 1], cells.longs[26:28]
assert begin < cells.longs[29] <= device.clocks()[0]

# A rectangle of 5 x 3 dwords: out of rows of 16 into rows of 32.
target.words[:256] = [0] * 256
ends(copies, [1 | 4 << 8 | 2 << 29, *pair(source.address), 2 | 1 << 16, (16 - 1) << 13, 64 - 1,
              *pair(target.address), 3 | 2 << 16, (32 - 1) << 13, 256 - 1, 4 | 2 << 16, 0])
for y in range(3):
    assert target.words[32 * (y + 2) + 3:32 * (y + 2) + 8] == source.words[16 * (y + 1) + 2:16 * (y + 1) + 7], y
assert sum(map(bool, target.words[:256])) == 15

# A chain of both engines: each kernel waits for the copy before it, each copy for the kernel before it.
stages = put_buffer(3, copy(target.address, source.address, 256) + fence(cell(31), 0) + interrupt(event))
source.words[:64] = expected = list(range(64))
for i in range(20):
    buffers.words[256 * 3 + 10] = i + 1  # what the fence writes
    first.send(dispatch(code.address + 256, arguments.address, 1) + release(cell(30), i + 1))
    copies.send(poll(cell(30), i + 1) + indirect(*stages))
    first.send(wait_for(EQUAL, cell(31), i + 1))
    event.wait()
    expected = [(3 * value + k) & 0xffffffff for k, value in enumerate(expected)]
    assert list(source.words[:64]) == expected, i

# Registers stay as they were between submissions, in each queue its own.
ends(first, set_registers(0x2e40, 1, 2))
ends(second, set_registers(0x2e40, 3, 4))
ends(first, copy_data(5 << 8 | WIDE, 0x2e40, cell(32)))
ends(second, copy_data(5 << 8 | WIDE, 0x2e40, cell(33)))
assert cells.longs[32:34] == [1 | 2 << 32, 3 | 4 << 32], cells.longs[32:34]

for queue in (first, second, copies):
    queue.destroy()
for memory in (code, arguments, buffers, source, target, cells):
    memory.free()
print("all results are right")
