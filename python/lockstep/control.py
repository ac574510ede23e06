"""Waves that stand still: halt, step, look at and change them while a kernel runs."""

import collections
import threading
import time

from ._native import Control, Wave

_SLICE = 0.05  # seconds: how long Ctrl-C, and a wave that waits for others, may have to wait for us


class Run:
    """A launch under a WaveControl, in a thread of its own."""

    def __init__(self, control, work):
        self._statistics = self._error = None
        self._thread = threading.Thread(target=self._run, args=(control, work), daemon=True)
        self._thread.start()

    def _run(self, control, work):
        try:
            self._statistics = work()
        except BaseException as error:  # result() raises it where the user can see it
            self._error = error
        control._over()

    @property
    def done(self):
        """Whether the launch is over."""
        return not self._thread.is_alive()

    def result(self):
        """Waits for the end; the statistics, or the launch's exception."""
        while self._thread.is_alive():
            self._thread.join(_SLICE)
        if self._error is not None:
            raise self._error
        return self._statistics


class WaveControl:
    """The host's hands on the waves of launches:

        with lockstep.WaveControl() as control:
            run = control.launch(kernel, 64, 64, x, y)
            wave = control.wait()                       # halted before its first instruction
            while wave and wave.state == "halted":
                print(wave.instruction, wave.sgprs[:4])
                wave = wave.step()
            control.resume()
            print(run.result())

    start_halted: waves halt before their first instruction. halt_on_fault: a wave that faults halts at the instruction
    and can be looked at; the launch ends with the fault when it is resumed. Leaving the block lets all waves go on and
    waits for the launches; leaving it by an exception kills the waves.
    """

    def __init__(self, *, start_halted=True, halt_on_fault=False):
        self._native = Control(start_halted, halt_on_fault)
        self._told = collections.deque()
        self._runs = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._native.configure(False, False)
        while any(not run.done for run in self._runs):
            (self._native.resume if kind is None else self._native.kill)()
            time.sleep(_SLICE / 10)
        return False

    def configure(self, *, start_halted, halt_on_fault=False):
        """Other settings, for waves that are launched from now on."""
        self._native.configure(start_halted, halt_on_fault)

    def launch(self, kernel, grid, block, *arguments, device=None, **options):
        """Kernel.launch() in a thread: a Run. One launch at a time."""
        from . import default_device

        if any(not run.done for run in self._runs):
            raise ValueError("a launch of this control still runs: wait for its result(), or make another WaveControl")
        device = device or default_device()
        run = Run(self, lambda: kernel.launch(grid, block, *arguments, device=device, _control=self._native, **options))
        self._runs = [run]
        return run

    def _over(self):
        self._native.interrupt()

    @property
    def waves(self):
        """The waves that are resident now, in the order of their launch."""
        return [self._of(wave) for wave in self._native.waves()]

    def wait(self, timeout=None):
        """The next wave that has halted, or that was stepped, killed or halted and has ended; None if no launch runs any
        more, or after `timeout` seconds. Each is told once."""
        if self._told:
            return self._told.popleft()
        return self._next(timeout)

    def _next(self, timeout):
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            over = all(run.done for run in self._runs)
            wave = self._native.wait(_SLICE if end is None else max(0, min(_SLICE, end - time.monotonic())))
            if wave is not None:
                return self._of(wave)
            if over or (end is not None and time.monotonic() >= end):
                return None

    def _of(self, wave):
        wave._owner = self
        return wave

    def halt(self):
        """Halts all waves that are resident now, each at its next instruction."""
        self._native.halt()

    def resume(self):
        """Lets all waves that are resident now go on."""
        self._native.resume()

    def kill(self):
        """Ends all waves that are resident now."""
        self._native.kill()


def _step(self, count=1):
    """Lets the halted wave execute so many instructions: the wave as it is then, "ended" perhaps; or, if it waits for
    others that stand still, "at barrier" or "blocked"."""
    control = self._owner
    self._step(count)
    while True:
        told = control._next(_SLICE)
        if told is not None:
            if told.id == self.id:
                return told
            control._told.append(told)
            continue
        now = [wave for wave in control.waves if wave.id == self.id]
        if now and now[0].state in ("at barrier", "blocked"):
            return now[0]
        if not now and all(run.done for run in control._runs):
            return None


Wave.step = _step
