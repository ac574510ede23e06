"""An AMD RDNA 3 (gfx11) GPU in software.

    import lockstep, numpy as np

    code = lockstep.compile('''
        __kernel void saxpy(uint n, float a, __global const float* x, __global float* y) {
          uint i = get_global_id(0);
          if (i < n) y[i] += a * x[i];
        }''')
    x, y = np.arange(1024, dtype=np.float32), np.ones(1024, np.float32)
    code["saxpy"][1024, 256](1024, 2.0, x, y)       # kernel[grid, block](arguments); the grid is in work-items

Arrays are not copied: the kernel reads and writes numpy's memory, as far as the array goes and no further. Arrays
that numpy calls read-only are so for the kernel. Numbers take the type that the kernel names; where it names none
(HIP kernels that are extern "C") give numpy's scalars, such as np.float32(2). Structures and vectors: numpy arrays and
structured scalars of their size, or bytes. None is a null pointer, Local(bytes) the size of an OpenCL __local
argument. Of assembly without a description of its arguments each is placed at the next multiple of its size.

What goes wrong is an exception: Fault for a kernel, CompileError for source, Error for the rest.
"""

import contextlib as _contextlib
import os as _os
import threading as _threading

from ._native import (Access, CodeObject, Device, Dispatch, Event, Kernel, Launch, Local, Memory, Queue, Signal, Statistics,
                      Wave, disassemble, models)
from ._native import compile_text as _compile_text
from ._native import open_bytes as _open_bytes
from ._native import open_file as _open_file
from ._native import version as _version
from .control import Run, WaveControl
from .errors import CompileError, Error, Fault, Findings, QueueError
from .occupancy import Occupancy

__all__ = [
    "Access", "CodeObject", "CompileError", "Device", "Dispatch", "Error", "Event", "Fault", "Findings", "Kernel", "Launch",
    "Local", "Memory", "Occupancy", "Queue", "QueueError", "Run", "Signal", "Statistics", "Wave", "WaveControl", "check", "compile",
    "default_device", "disassemble", "models", "open", "set_default_device",
]
__version__ = _version()

_default = _threading.local()


def default_device():
    """The device that kernels run on where none is named: one for each thread, made when it is first needed."""
    if not hasattr(_default, "device"):
        _default.device = Device()
    return _default.device


def set_default_device(device):
    """Makes `device` what default_device() gives to this thread."""
    if not isinstance(device, Device):
        raise TypeError(f"a lockstep.Device is needed, not {type(device).__name__}")
    _default.device = device


def check(what="all", *, device=None, least="warning"):
    """Makes every kernel that runs inside be followed by checkers, and raises Findings at the end if they found anything.

    @lockstep.check on a test (of pytest, unittest, or anything that knows AssertionError), @lockstep.check("races"), or
    `with lockstep.check("races,barriers"):`. what: the checkers of `lockstep check --help`, with commas between them.
    device: default_device() if none is given. least: "note", "warning" or "error", what counts.
    """
    if callable(what):
        return check()(what)
    if least not in _SEVERITIES:
        raise ValueError(f"least is one of {', '.join(_SEVERITIES)}, not {least!r}")
    return _Checked(what, device, least)


_SEVERITIES = ("note", "warning", "error")


class _Checked(_contextlib.ContextDecorator):
    def __init__(self, what, device, least):
        self._what, self._given, self._least = what, device, least

    def _recreate_cm(self):
        return _Checked(self._what, self._given, self._least)

    def __enter__(self):
        self._device = self._given or default_device()
        self._before = self._device.checks, self._device.checked
        self._device.checks, self._device.checked = self._what, []
        return self._device

    def __exit__(self, kind, error, trace):
        found = [f for f in self._device.checked if _SEVERITIES.index(f["severity"]) >= _SEVERITIES.index(self._least)]
        self._device.checks, self._device.checked = self._before
        if kind is None and found:
            raise Findings(found)
        return False


def compile(text, language="opencl", *, name="source", target="gfx1100", wave=0, optimize=2, debug=False,
            work_group_size=0, flags=()):
    """Compiles OpenCL C ("opencl"), HIP ("hip"), gfx11 assembly ("assembly") or LLVM IR ("llvm-ir") to a CodeObject.

    wave: 32 or 64 lanes, 0 for 32. flags: for clang, such as ["-DN=4"]. debug: all debug information.
    work_group_size: what OpenCL kernels that do not say it are compiled for, 0 for 256.
    """
    return _compile_text(text, language, name, target, wave, optimize, debug, work_group_size, _flags(flags))


def open(source, *sources, name="code object", target="gfx1100", wave=0, optimize=2, debug=False, work_group_size=0,
         flags=()):
    """A CodeObject from a file: a code object, a bundle, a HIP executable, or source; or from the bytes of one that
    is not source. sources: further source files of the same program."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        if sources:
            raise TypeError("bytes are a code object, which other sources cannot be linked with")
        return _open_bytes(bytes(source), name, target)
    return _open_file(_os.fspath(source), target, wave, optimize, debug, work_group_size, _flags(flags),
                      [_os.fspath(s) for s in sources])


def _flags(flags):
    if isinstance(flags, str):
        raise TypeError("flags is a list of strings, such as ['-DN=4'], not one string")
    return list(flags)


def _listing(self, printer, cycle):
    printer.text(self.disassemble())


def _kernel_text(kernel):
    arguments = ", ".join(f"{a['type'] or a['kind']} {a['name']}".strip() for a in kernel.arguments)
    info = kernel.info
    return (f"<lockstep.Kernel {kernel.name}({arguments}): wave{info['wave_size']}, {info['vgprs']} VGPRs, "
            f"{info['lds_bytes']} bytes of LDS>")


def _code_text(code):
    return f"<lockstep.CodeObject {code.name}: {', '.join(k.name for k in code.kernels) or 'no kernels'}>"


def _device_text(device):
    info = device.info
    return f"<lockstep.Device {info['name']}: {info['description']}, {info['target']}>"


_waves_a_simd = Kernel.occupancy


def _occupancy(self, work_group_size=256, device="", dynamic_lds=0):
    """Waves that a SIMD holds of work-groups of that size: an integer that shows itself as a bar. 0: not one work-group fits.
    device: a model's name, "" for that of Device()."""
    return Occupancy(*_waves_a_simd(self, work_group_size, device, dynamic_lds))


Kernel.occupancy = _occupancy
Kernel.__repr__ = _kernel_text
Kernel._repr_pretty_ = _listing
CodeObject.__repr__ = _code_text
Device.__repr__ = _device_text


def _zeros(self, shape, dtype="float32", name=""):
    """An array of zeros in memory of the device, which lives as long as the array or a view of it."""
    import numpy

    dtype = numpy.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count = 1
    for size in shape:
        count *= size
    return self.allocate(count * dtype.itemsize, name).array(dtype, shape)


def _array(self, values, dtype=None, name=""):
    """A copy of the values in memory of the device."""
    import numpy

    values = numpy.asarray(values, dtype)
    out = self.zeros(values.shape, values.dtype, name)
    out[...] = values
    return out


def _variable(self, code, name, dtype="uint8", shape=None):
    """A __constant__ or __device__ variable of the code object as an array that is its memory."""
    flat = self.symbol(code, name).view(dtype)
    return flat if shape is None else flat.reshape(shape)


def _queue(self, kind="aql", *, size=0, priority=0, checks=""):
    """A queue of the device: "aql" for launches, "pm4" and "sdma" for packets by submit(). size: packets or dwords, a power
    of two. checks: checkers that follow what it runs; see Queue.check_findings."""
    return Queue(self, kind, size=size, priority=priority, checks=checks)


Device.queue = _queue
Device.zeros = _zeros
Device.array = _array
Device.variable = _variable
