"""Kernels and graphs of the tile language, called on arrays.

    import tilec
    device = tilec.Device("cpu")               # or "cuda", "auto"
    program = device.load_file("norm.tile")
    y = program.normalize(x)                   # x: a NumPy array, a GPU tensor, anything with a buffer

The package has no compiled parts: it calls libtilec, which `go build -buildmode=c-shared -o libtilec.so ./bindings/c` makes, by
ctypes. The library is looked for where the variable TILEC_LIBRARY says, beside this file, and where the system looks for libraries.
"""

from ._library import Error, version
from ._device import Bound, Device, Function, Program
from ._views import Scalar

__all__ = ["Bound", "Device", "Error", "Function", "Program", "Scalar", "version"]
