"""How full a kernel makes a SIMD."""


class Occupancy(int):
    """Waves that a SIMD holds, of at most `most`: a number for all who reckon with it, a bar for those who look at it."""

    def __new__(cls, waves, most):
        self = super().__new__(cls, waves)
        self.most = most
        return self

    def __repr__(self):
        return f"[{'#' * self}{'.' * (self.most - self)}] {self:d} of {self.most} waves a SIMD"

    def __getnewargs__(self):
        return int(self), self.most

    __str__ = int.__repr__

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))
