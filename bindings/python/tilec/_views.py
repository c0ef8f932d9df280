"""Where the elements of an array lie, whatever library it is of: nothing is copied.

Taken are, in this order: PyTorch's tensors, the CUDA array interface (CuPy, Numba), NumPy's array interface, DLPack (JAX), and the buffer
protocol (array.array, memoryview, bytes).
"""

import ctypes
import struct
import sys

from ._library import Error


class Scalar:
    """A scalar with its element type, for a parameter whose type is generic: Scalar(2, "f16")."""

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype


class View:
    """Where the elements of an array lie. Strides count elements; keep is what the memory belongs to."""

    __slots__ = ("address", "dtype", "shape", "strides", "cuda", "keep", "stream")

    def __init__(self, address, dtype, shape, strides, cuda, keep, stream=None):
        shape = tuple(shape)
        if strides is not None and tuple(strides) == row_major(shape):
            strides = None
        self.address, self.dtype, self.shape, self.cuda, self.keep, self.stream = address, dtype, shape, cuda, keep, stream
        self.strides = None if strides is None else tuple(strides)


def row_major(shape):
    strides, n = [], 1
    for size in reversed(shape):
        strides.append(n)
        n *= size
    return tuple(reversed(strides))


# The names of other libraries for element types.
_names = {
    "bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
}
_kinds = {"b": "bool", "i": "i", "u": "u", "f": "f"}
# The codes of the struct module, which memoryview has, for element types.
formats = {"bool": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f16": "e", "f32": "f", "f64": "d"}
sizes = dict({d: struct.calcsize("=" + f) for d, f in formats.items()}, bf16=2, f8e4m3=1, f8e5m2=1)


def _of_typestr(typestr, what):
    if typestr[0] == ">" or typestr[1] not in _kinds:
        raise Error("%s: the element type %r is none of the language's" % (what, typestr))
    return "bool" if typestr[1] == "b" else _kinds[typestr[1]] + str(8 * int(typestr[2:]))


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_codes = {0: "i", 1: "u", 2: "f", 4: "bf", 6: "bool"}

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def _of_dlpack(x, what):
    kind = int(x.__dlpack_device__()[0])
    if kind not in (_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED):
        raise Error("%s: its memory is of a device of DLPack's kind %d, which is neither the CPU nor CUDA" % (what, kind))
    cuda = kind in (_CUDA, _CUDA_MANAGED)
    # Without a stream: the library makes its own work come before what the default stream gets, which is where a launch is that names no other.
    capsule = x.__dlpack__()
    t = ctypes.cast(_capsule_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    if t.code not in _codes or t.lanes != 1:
        raise Error("%s: the element type of DLPack's code %d with %d lanes is none of the language's" % (what, t.code, t.lanes))
    dtype = "bool" if t.code == 6 else _codes[t.code] + str(t.bits)
    shape = tuple(t.shape[i] for i in range(t.ndim))
    strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else None
    # The capsule is not taken over: when it goes, the producer has its memory back.
    return View((t.data or 0) + t.byte_offset, dtype, shape, strides, cuda, (x, capsule))


def _strides(strides, size, what):
    if strides is None:
        return None
    if any(s % size for s in strides):
        raise Error("%s: its strides of %s bytes are no multiples of the %d bytes of an element: copy it" % (what, list(strides), size))
    return tuple(s // size for s in strides)


def _of_interface(x, interface, cuda, writable, what):
    address, readonly = interface["data"]
    if writable and readonly:
        raise Error("%s: it is changed, and is read-only" % what)
    name = str(getattr(getattr(x, "dtype", None), "name", ""))
    dtype = _names.get(name) or _of_typestr(interface["typestr"], what)
    if interface["typestr"][0] == ">":
        raise Error("%s: its elements are big-endian: convert it" % what)
    strides = _strides(interface.get("strides"), sizes[dtype], what)
    return View(address or 0, dtype, interface["shape"], strides, cuda, x, interface.get("stream"))


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes, _get_buffer.restype = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int], ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes, _release_buffer.restype = [ctypes.POINTER(_Buffer)], None
_RECORDS, _RECORDS_RO = 0x1D, 0x1C  # PyBUF_RECORDS: strides and a format, and writable


class _Held:
    """A buffer until nobody needs it."""

    def __init__(self, x, writable):
        self.buffer = _Buffer()
        _get_buffer(x, ctypes.byref(self.buffer), _RECORDS if writable else _RECORDS_RO)

    def __del__(self):
        if self.buffer.obj:
            _release_buffer(ctypes.byref(self.buffer))


def _of_buffer(x, writable, what):
    try:
        held = _Held(x, writable)
    except TypeError:
        raise Error("%s: no %s is a tensor: give an array, or a buffer" % (what, type(x).__name__)) from None
    except BufferError as e:
        raise Error("%s: %s%s" % (what, e, ": it is changed" if writable else "")) from None
    b = held.buffer
    code = (b.format or b"B").decode()
    if code[:1] in "@=<|":
        code = code[1:]
    size = b.itemsize
    dtype = {"?": "bool", "e": "f16", "f": "f32", "d": "f64"}.get(code)
    if dtype is None and code in tuple("bhilqn"):
        dtype = "i%d" % (8 * size)
    if dtype is None and code in tuple("BHILQN"):
        dtype = "u%d" % (8 * size)
    if dtype is None:
        raise Error("%s: the element type %r is none of the language's" % (what, code))
    shape = tuple(b.shape[i] for i in range(b.ndim))
    return View(b.buf or 0, dtype, shape, _strides(tuple(b.strides[i] for i in range(b.ndim)), size, what), False, held)


def is_torch(x):
    """Whether PyTorch made it; PyTorch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def view(x, what, writable=False):
    """Where the elements of an array lie; what names it in errors."""
    if is_torch(x):
        torch = sys.modules["torch"]
        # By PyTorch itself, which has types that DLPack lacks.
        dtype = _names.get(str(x.dtype).replace("torch.", ""))
        if dtype is None:
            raise Error("%s: the element type %s is none of the language's" % (what, x.dtype))
        if x.device.type not in ("cpu", "cuda"):
            raise Error("%s: its memory is of the device %s, which is neither the CPU nor CUDA" % (what, x.device))
        stream = torch.cuda.current_stream(x.device).cuda_stream if x.device.type == "cuda" else None
        return View(x.data_ptr(), dtype, x.shape, x.stride(), x.device.type == "cuda", x, stream)
    if hasattr(x, "block_until_ready"):
        x.block_until_ready()  # JAX computes in streams of its own, which no interface tells
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(x, interface, True, writable, what)
    interface = getattr(x, "__array_interface__", None)
    if interface is not None:
        return _of_interface(x, interface, False, writable, what)
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        if writable:
            raise Error("%s: it is changed, and DLPack does not say whether it may be: give what has an array interface, or a buffer" % what)
        return _of_dlpack(x, what)
    return _of_buffer(x, writable, what)


def scalar_bytes(value, dtype, what):
    """A scalar as memory holds it."""
    if dtype == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        if value == value:
            bits += 0x7FFF + (bits >> 16 & 1)  # to the nearest, ties to even
        else:
            bits |= 1 << 22
        return struct.pack("<H", bits >> 16 & 0xFFFF)
    if dtype not in formats:
        raise Error("%s: a scalar of %s cannot be made of a number of Python" % (what, dtype))
    try:
        return struct.pack("<" + formats[dtype], value)
    except (struct.error, OverflowError) as e:
        raise Error("%s is %r, and must be a number of type %s: %s" % (what, value, dtype, e)) from None
