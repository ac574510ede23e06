#!/usr/bin/env python3
"""A program that gives its commands to the render node, by libdrm, as drivers of graphics and of Vulkan do: it asks nothing of
/dev/kfd. Under `lockstep exec`; prints "all results are right", or ends with an error."""
import ctypes
import errno
import os
from ctypes import POINTER, Structure, byref, c_int64, c_uint32, c_uint64, c_void_p

from own_driver_kit import KERNEL, copy, dispatch

COMPUTE, COPIES, GTT, VRAM, CPU_ACCESS, MAP, FOREVER = 1, 2, 2, 4, 1, 1, 2 ** 64 - 1
INDIRECT_BUFFER, SYNCOBJ_IN, TIMELINE_SIGNAL = 1, 4, 9  # kinds of chunks
GROUPS = 50
COUNT = 64 * GROUPS


class AllocRequest(Structure):
    _fields_ = [("alloc_size", c_uint64), ("phys_alignment", c_uint64), ("preferred_heap", c_uint32), ("flags", c_uint64)]


class Fence(Structure):
    _fields_ = [("context", c_void_p), ("ip_type", c_uint32), ("ip_instance", c_uint32), ("ring", c_uint32), ("fence", c_uint64)]


class IndirectBuffer(Structure):
    _fields_ = [("flags", c_uint64), ("ib_mc_address", c_uint64), ("size", c_uint32)]


class Request(Structure):
    _fields_ = [("flags", c_uint64), ("ip_type", c_uint32), ("ip_instance", c_uint32), ("ring", c_uint32), ("resources", c_void_p),
                ("number_of_dependencies", c_uint32), ("dependencies", POINTER(Fence)), ("number_of_ibs", c_uint32),
                ("ibs", POINTER(IndirectBuffer)), ("seq_no", c_uint64), ("fence_object", c_void_p), ("fence_offset", c_uint64)]


class Chunk(Structure):
    _fields_ = [("chunk_id", c_uint32), ("length_dw", c_uint32), ("chunk_data", c_uint64)]


drm = ctypes.CDLL("libdrm_amdgpu.so.1")
for name, kinds in {"amdgpu_va_range_alloc": [c_void_p, c_uint32, c_uint64, c_uint64, c_uint64, c_void_p, c_void_p, c_uint64],
                    "amdgpu_bo_va_op": [c_void_p, c_uint64, c_uint64, c_uint64, c_uint64, c_uint32],
                    "amdgpu_cs_submit": [c_void_p, c_uint64, c_void_p, c_uint32],
                    "amdgpu_cs_query_fence_status": [c_void_p, c_uint64, c_uint64, c_void_p]}.items():
    getattr(drm, name).argtypes = kinds


def call(name, *arguments):
    error = getattr(drm, name)(*arguments)
    assert error == 0, f"{name}: {os.strerror(-error)}"


node = os.open("/dev/dri/renderD128", os.O_RDWR | os.O_CLOEXEC)
device, context = c_void_p(), c_void_p()
call("amdgpu_device_initialize", node, byref(c_uint32()), byref(c_uint32()), byref(device))
call("amdgpu_cs_ctx_create", device, byref(context))


class Object:
    def __init__(self, size, heap=GTT):
        size = -(-size // 4096) * 4096
        self.object, self.range, address, place = c_void_p(), c_void_p(), c_uint64(), c_void_p()
        call("amdgpu_bo_alloc", device, byref(AllocRequest(size, 4096, heap, CPU_ACCESS if heap == VRAM else 0)), byref(self.object))
        call("amdgpu_va_range_alloc", device, 0, size, 4096, 0, byref(address), byref(self.range), 0)
        call("amdgpu_bo_va_op", self.object, 0, size, address, 0, MAP)
        call("amdgpu_bo_cpu_map", self.object, byref(place))
        self.address = address.value
        self.words = (c_uint32 * (size // 4)).from_address(place.value)
        self.longs = (c_uint64 * (size // 8)).from_address(place.value)


def submit(engine, commands, behind=None):
    """The fence of the commands, which are put into their buffer."""
    buffer = Object(4 * len(commands))
    buffer.words[:len(commands)] = commands
    every = [*objects, buffer]
    resources = c_void_p()
    call("amdgpu_bo_list_create", device, len(every), (c_void_p * len(every))(*(each.object for each in every)), None,
         byref(resources))
    request = Request(ip_type=engine, resources=resources, number_of_ibs=1,
                      ibs=ctypes.pointer(IndirectBuffer(0, buffer.address, len(commands))))
    if behind:
        request.number_of_dependencies, request.dependencies = 1, ctypes.pointer(behind)
    call("amdgpu_cs_submit", context, 0, byref(request), 1)
    call("amdgpu_bo_list_destroy", resources)
    return Fence(context, engine, 0, 0, request.seq_no)


def is_over(fence, timeout):
    expired = c_uint32()
    call("amdgpu_cs_query_fence_status", byref(fence), timeout, 0, byref(expired))
    return expired.value != 0


def submit_raw(commands, chunks):
    """Gives the copy engine commands with further chunks, each a number and its words."""
    buffer = Object(4 * len(commands))
    buffer.words[:len(commands)] = commands
    words = (c_uint32 * 8)(0, 0, buffer.address & 0xffffffff, buffer.address >> 32, 4 * len(commands), COPIES, 0, 0)
    chunks = [(INDIRECT_BUFFER, words), *chunks]
    every = (Chunk * len(chunks))(*(Chunk(kind, len(data), ctypes.addressof(data)) for kind, data in chunks))
    call("amdgpu_cs_submit_raw2", device, context, 0, len(chunks), every, byref(c_uint64()))


def waits(timeline, point, deadline):
    return drm.amdgpu_cs_syncobj_timeline_wait(device, byref(timeline), byref(c_uint64(point)), 1, c_int64(deadline), 0,
                                               byref(c_uint32()))


code, arguments = Object(len(KERNEL), VRAM), Object(16)
source, middle, target = Object(4 * COUNT), Object(4 * COUNT, VRAM), Object(4 * COUNT)
objects = [code, arguments, source, middle, target]
ctypes.memmove(code.words, KERNEL, len(KERNEL))
source.words[:COUNT] = [i ^ 0x55 for i in range(COUNT)]
arguments.longs[0:2] = [source.address, middle.address]

first = submit(COMPUTE, dispatch(code.address, arguments.address, GROUPS))
last = submit(COPIES, copy(middle.address, target.address, 4 * COUNT), first)
assert is_over(last, FOREVER) and is_over(first, 0)
assert list(target.words[:COUNT]) == [(3 * (i ^ 0x55) + i) & 0xffffffff for i in range(COUNT)]

# The copy once more, behind an object that the program signals, and its end is a point of a timeline.
target.words[:COUNT] = [0] * COUNT
gate, timeline, over = c_uint32(), c_uint32(), c_uint32()
for each in gate, timeline:
    call("amdgpu_cs_create_syncobj2", device, 0, byref(each))
call("amdgpu_cs_fence_to_handle", device, byref(last), 0, byref(over))
call("amdgpu_cs_syncobj_wait", device, byref(over), 1, c_int64(0), 0, byref(c_uint32()))
assert waits(timeline, 3, 0) == -errno.EINVAL
call("amdgpu_cs_syncobj_signal", device, byref(gate), 1)
call("amdgpu_cs_syncobj_reset", device, byref(gate), 1)
call("amdgpu_cs_syncobj_transfer", device, gate, c_uint64(0), over, c_uint64(0), 0)
submit_raw(copy(middle.address, target.address, 4 * COUNT), [(SYNCOBJ_IN, (c_uint32 * 1)(gate.value)),
                                                             (TIMELINE_SIGNAL, (c_uint32 * 4)(timeline.value, 0, 3, 0))])
assert waits(timeline, 3, 2 ** 63 - 1) == 0
assert list(target.words[:COUNT]) == [(3 * (i ^ 0x55) + i) & 0xffffffff for i in range(COUNT)]
point = c_uint64()
call("amdgpu_cs_syncobj_query", device, byref(timeline), byref(point), 1)
assert point.value == 3
for each in gate, timeline, over:
    call("amdgpu_cs_destroy_syncobj", device, each)

for each in objects:
    call("amdgpu_bo_wait_for_idle", each.object, c_uint64(0), byref(c_uint32()))
call("amdgpu_cs_ctx_free", context)
call("amdgpu_device_deinitialize", device)
print("all results are right")
