"""libtilec by ctypes: the functions of tilec.h, whose errors are exceptions."""

import ctypes
import ctypes.util
import os
import threading


class Error(Exception):
    """What the compiler or a launch says is wrong; diagnostics come with their source lines."""


class Tensor(ctypes.Structure):
    """tilec_tensor of tilec.h."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    ]


SCALAR_RANK = -1

_text = ctypes.POINTER(ctypes.c_char_p)
_handle = ctypes.c_uint64
_addresses = ctypes.POINTER(ctypes.c_void_p)

# The parameters of each function but for the last one, the error.
_functions = {
    "tilec_open": [ctypes.c_char_p, ctypes.POINTER(_handle)],
    "tilec_device_name": [_handle, ctypes.POINTER(ctypes.c_void_p)],
    "tilec_load": [_handle, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_handle)],
    "tilec_load_file": [_handle, ctypes.c_char_p, ctypes.POINTER(_handle)],
    "tilec_functions": [_handle, ctypes.POINTER(ctypes.c_void_p)],
    "tilec_describe": [_handle, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)],
    "tilec_bind": [_handle, ctypes.c_char_p, ctypes.POINTER(Tensor), ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(_handle)],
    "tilec_output_count": [_handle, ctypes.POINTER(ctypes.c_size_t)],
    "tilec_output": [_handle, ctypes.c_size_t, ctypes.POINTER(Tensor)],
    "tilec_launch": [_handle, _addresses, _addresses, ctypes.c_void_p],
    "tilec_sync": [_handle],
    "tilec_close": [_handle],
}

_loaded = None
_lock = threading.Lock()


def _paths():
    given = os.environ.get("TILEC_LIBRARY")
    if given:
        return [given]
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtilec.so")
    return [p for p in (beside if os.path.exists(beside) else None, ctypes.util.find_library("tilec"), "libtilec.so") if p]


def library():
    """The library, loaded once."""
    global _loaded
    with _lock:
        if _loaded is not None:
            return _loaded
        tried = []
        for path in _paths():
            try:
                lib = ctypes.CDLL(path)
                break
            except OSError as e:
                tried.append("%s: %s" % (path, e))
        else:
            raise Error("cannot load libtilec (%s): build it with `go build -buildmode=c-shared -o libtilec.so ./bindings/c` and set TILEC_LIBRARY to its path" % "; ".join(tried))
        lib.tilec_version.restype = ctypes.c_char_p
        lib.tilec_free.argtypes, lib.tilec_free.restype = [ctypes.c_void_p], None
        for name, parameters in _functions.items():
            function = getattr(lib, name)
            function.argtypes, function.restype = parameters + [ctypes.POINTER(ctypes.c_void_p)], ctypes.c_int
        _loaded = lib
        return lib


def _take(text):
    """A text of the library's, which is given back."""
    value = ctypes.cast(text, ctypes.c_char_p).value.decode("utf-8", "replace")
    library().tilec_free(text)
    return value


def message(error):
    """The text of an error of the library's, which is given back."""
    return _take(error) if error else "libtilec failed and said nothing"


def call(name, *arguments):
    """Calls a function that can fail."""
    error = ctypes.c_void_p()
    if getattr(library(), name)(*arguments, ctypes.byref(error)) != 0:
        raise Error(message(error))


def handle(name, *arguments):
    """Calls a function that gives a handle."""
    made = _handle()
    call(name, *arguments, ctypes.byref(made))
    return made.value


def text(name, *arguments):
    """Calls a function that gives a text."""
    given = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(given))
    return _take(given)


def launch_block(keeps_gil):
    """tilec_launch_block for calls that come often: it takes bytes, which are passed as they are where nothing is declared, and gives the error's address, or None.
    Python's lock is kept or released meanwhile: it costs less to keep for a launch that does not wait."""
    lib = library()
    launch = (ctypes.PyDLL if keeps_gil else ctypes.CDLL)(lib._name, handle=lib._handle).tilec_launch_block
    launch.restype = ctypes.c_void_p
    return launch


def version():
    """The version of the compiler."""
    return library().tilec_version().decode()
