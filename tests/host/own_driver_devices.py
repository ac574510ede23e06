#!/usr/bin/env python3
"""Two devices, and two processes, of a program that brings a driver of its own (own_driver_kit.py): memory that both reach,
kernels and copies of one that wait for the other's, and memory that goes from process to process as a descriptor. Under
`lockstep exec --devices 2`; prints "all results are right", or ends with an error."""
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys

from own_driver_kit import (COUNTING, KERNEL, MAP_NORESERVE, PAGE, PM4, READ_WRITE, SDMA, USER, VRAM, Device, Event, Memory,
                            Queue, acquire, copy, dispatch, fence, host_map, interrupt, ioctl, kfd, poll, release, stamp,
                            wait, wait_memory)

EXPECTED = [3 * i + i for i in range(64)]


def drm_ioctl(device, number, layout, *values):
    data = bytearray(struct.pack(layout, *values))
    fcntl.ioctl(device.render, 3 << 30 | len(data) << 16 | ord("d") << 8 | number, data)
    return struct.unpack(layout, data)


def reserve(size):
    return host_map(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)


def import_memory(device, descriptor, size):
    """By /dev/kfd: the handle and where it is."""
    address = reserve(size)
    handle = ioctl(kfd, READ_WRITE, 0x1D, "QQII", address, 0, device.id, descriptor)[1]
    ids = (ctypes.c_uint32 * 1)(device.id)
    assert ioctl(kfd, READ_WRITE, 0x18, "QQII", handle, ctypes.addressof(ids), 1, 0)[3] == 1
    return handle, address


def other_process():
    """Gets memory from the process that started this one, has its device compute there, and says that it has."""
    peer = socket.socket(fileno=int(sys.argv[2]))
    _, (descriptor,), _, _ = socket.recv_fds(peer, 1, 1)
    device = Device(1)
    _, address = import_memory(device, descriptor, PAGE)
    code, arguments = Memory(device, PAGE, VRAM), Memory(device, PAGE)
    ctypes.memmove(code.address, KERNEL, len(KERNEL))
    arguments.longs[0:2] = [address, address + 1024]
    queue = Queue(device, PM4)
    queue.send(dispatch(code.address, arguments.address, 1) + release(address + 2048, 9))
    wait("the other process's memory does not change", lambda: ctypes.c_uint32.from_address(address + 2048).value == 9)
    queue.destroy()


if sys.argv[1:2] == ["other"]:
    other_process()
    sys.exit(0)

both = [Device(0), Device(1)]
assert both[0].id != both[1].id and both[0].folder != both[1].folder
signals = Memory(both, PAGE)
codes = [Memory([device, both[1 - i]], PAGE, VRAM) for i, device in enumerate(both)]
data = [Memory([device, both[1 - i]], PAGE, VRAM) for i, device in enumerate(both)]
own = Memory(both, PAGE, USER)
arguments = Memory(both, PAGE)
events = [Event(device) for device in both]
computes, copies = [Queue(device, PM4) for device in both], [Queue(device, SDMA) for device in both]
for memory in codes:
    ctypes.memmove(memory.address, KERNEL, len(KERNEL))
    ctypes.memmove(memory.address + 1024, COUNTING, len(COUNTING))

# Each computes in the other's memory, with the other's code, waits for the other's kernel by memory of the host, and copies by
# its own engine what the other one has computed.
own.words[:64] = range(64)
for i in (0, 1):
    arguments.longs[2 * i:2 * i + 2] = [own.address, data[1 - i].address]
for i in (0, 1):
    other = 1 - i
    computes[i].send(dispatch(codes[other].address, arguments.address + 16 * i, 1) + release(signals.address + 64 * i, 1)
                     + wait_memory(signals.address + 64 * other, 1) + release(signals.address + 64 * i + 8, 1, events[i]))
    copies[i].send(poll(signals.address + 64 * other, 1) + copy(data[i].address, own.address + 1024 * (1 + i), 256)
                   + stamp(signals.address + 64 * i + 24) + fence(signals.address + 64 * i + 16, 1) + interrupt(events[i]))
for i in (0, 1):
    events[i].wait()
    wait("the copies do not end", lambda: signals.words[16 * i + 4] == 1)
    assert list(own.words[256 * (1 + i):256 * (1 + i) + 64]) == EXPECTED
# Both tell the same time.
assert abs(signals.longs[3] - signals.longs[11]) < 60 * 10**8
assert abs(both[0].clocks()[0] - both[1].clocks()[0]) < 10**8

# A kernel of one runs until a kernel of the other is through: the flag is in the first one's memory.
flag, counter = data[0].address + 2048, data[0].address + 2052
arguments.longs[8:10] = [flag, counter]
arguments.longs[10:12] = [own.address, own.address + 3072]
computes[0].send(dispatch(codes[0].address + 1024, arguments.address + 64, 1) + release(signals.address + 128, 1))
wait("the waves do not run", lambda: data[0].words[513] > 1000)
computes[1].send(dispatch(codes[1].address, arguments.address + 80, 1) + release(flag, 1))
wait("the waves do not end", lambda: signals.words[32] == 1)
assert list(own.words[768:832]) == EXPECTED

# A copy from device to device, and what one has not mapped it does not reach.
copies[1].send(copy(data[0].address, data[1].address + 1024, 256) + fence(signals.address + 136, 1))
wait("the copy does not end", lambda: signals.words[34] == 1)
assert data[1].words[256:320] == data[0].words[:64]

# The same memory by the render node of the other device: exported by /dev/kfd, imported there, mapped for the device by the
# node's own ioctl, and for the program by its offset.
shared = Memory(both[0], PAGE)
shared.words[:64] = range(64)
descriptor = ioctl(kfd, READ_WRITE, 0x24, "QII", shared.handle, os.O_CLOEXEC, 0)[2]
object = drm_ioctl(both[1], 0x2E, "IIi", 0, 0, descriptor)[0]
place = reserve(PAGE)
drm_ioctl(both[1], 0x48, "IIIIQQQ", object, 0, 1, 1 << 1 | 1 << 2 | 1 << 3, place, 0, PAGE)
arguments.longs[12:14] = [place, place + 1024]
computes[1].send(acquire() + dispatch(codes[1].address, arguments.address + 96, 1) + release(signals.address + 144, 1))
wait("the imported memory is not reached", lambda: signals.words[36] == 1)
assert list(shared.words[256:320]) == EXPECTED
drm_ioctl(both[1], 0x48, "IIIIQQQ", object, 0, 2, 0, place, 0, PAGE)

# And in another process.
ctypes.memset(shared.address + 1024, 0, 1024)
mine, its = socket.socketpair()
child = subprocess.Popen([sys.executable, __file__, "other", str(its.fileno())], pass_fds=[its.fileno()])
socket.send_fds(mine, [b"x"], [descriptor])
assert child.wait(120) == 0
assert list(shared.words[256:320]) == EXPECTED and shared.words[512] == 9

for each in computes + copies:
    each.destroy()
print("all results are right")
