"""What goes wrong, as exceptions."""


class Error(Exception):
    """A call of the library failed. The text says what, where, and how to mend it.

    status: "invalid argument", "not found", "bad input", "compile error", "unsupported", ...
    """

    def __init__(self, text, status="invalid argument"):
        super().__init__(text)
        self.status = status


class CompileError(Error):
    """The source does not compile; the text has the compiler's messages."""


class Fault(Error):
    """A kernel faulted. str() is the whole report; the attributes are its parts.

    kind: "memory violation", "misaligned", "illegal instruction", "unsupported instruction", "bad PC", "trap",
    "hang", "broken rule", "refused", "deadlock".
    kernel, work_group (three numbers), wave (in the work-group), lane (-1: the whole wave), pc, offset (of the PC from
    the kernel's first instruction), address and bytes (of a memory fault), instruction, function, file, line,
    message; statistics of the run up to there.
    """

    def __init__(self, text, **fields):
        super().__init__(text, "fault")
        self.__dict__.update(fields)

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))


class QueueError(Error):
    """An error has made a queue inactive; what it has not done by then is not done. str() is the whole report.

    kind: "invalid packet", "memory violation", "kernel fault", "not resident", "unsupported".
    queue (its number), position (of the packet; of PM4 and SDMA of the dword), field (of the packet; "": all of it), message.
    """

    def __init__(self, text, **fields):
        super().__init__(text, "fault")
        self.message = text
        self.__dict__.update(fields)

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))


class Findings(AssertionError):
    """Checkers found something: findings has all of it, as in device.check_findings."""

    def __init__(self, findings):
        super().__init__("\n".join(_told(finding) for finding in findings))
        self.findings = findings


def _line_of(place):
    return f"  at {place['file']}:{place['line']}" if place["file"] else ""


def _told(finding):
    where = finding["where"]
    place = _line_of(where)
    place += "".join(f"\n    inlined into {caller['function']}{_line_of(caller)}" for caller in finding["callers"])
    detail = f"\n  {finding['detail']}" if finding["detail"] else ""
    return (f"{finding['severity']}: {finding['checker']}: {finding['rule']}\n"
            f"  {where['function']} + {where['offset']:#x}: {where['instruction']}{place}{detail}")
