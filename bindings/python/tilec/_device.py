"""Devices, programs, and functions that are called on arrays."""

import collections
import ctypes
import json
import math
import os
import sys
import threading
import weakref

from . import _library
from ._library import Error
from ._views import Scalar, View, formats, is_torch, row_major, scalar_bytes, sizes, view


class _Open:
    """What a handle of the library stands for; it is closed when nobody has it any more."""

    def __init__(self, handle):
        self._handle = handle
        self._closer = weakref.finalize(self, _close, handle)
        self._closer.atexit = False  # the process gives everything back

    def close(self):
        """Gives back what it holds. A second close does nothing."""
        self._closer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _close(handle):
    _library.call("tilec_close", handle)


class Device(_Open):
    """A device: "cpu", "cuda", "cuda:1", or "auto" for the first GPU and, without one, the CPU."""

    def __init__(self, name="auto"):
        super().__init__(_library.handle("tilec_open", name.encode()))
        self.name = _library.text("tilec_device_name", self._handle)

    def __repr__(self):
        return "tilec.Device(%r)" % self.name

    @property
    def is_cuda(self):
        return self.name.startswith("cuda")

    def load(self, source, name="<source>"):
        """Loads a source; its name is for messages, and what imports are relative to."""
        data = source.encode()
        return Program(self, _library.handle("tilec_load", self._handle, os.fsencode(name), data, len(data)))

    def load_file(self, path):
        """Loads a .tile file."""
        return Program(self, _library.handle("tilec_load_file", self._handle, os.fsencode(path)))

    def sync(self):
        """Waits for all that the device was given."""
        _library.call("tilec_sync", self._handle)


class Program(_Open):
    """A source: its kernels and graphs are attributes, and found by their names in brackets."""

    def __init__(self, device, handle):
        super().__init__(handle)
        self.device = device
        self._functions = {}

    def functions(self):
        """The names of the kernels and graphs."""
        return _library.text("tilec_functions", self._handle).split("\n")

    def __getitem__(self, name):
        if name not in self._functions:
            self._functions[name] = Function(self, name)
        return self._functions[name]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            function = self.__dict__[name] = self[name]  # found without this method from now on
        except Error as e:
            raise AttributeError(str(e)) from None
        return function

    def __dir__(self):
        return list(super().__dir__()) + self.functions()


class Function:
    """A kernel or a graph. A call compiles it for the types and shapes of its arguments, once for each, and runs it."""

    # How many types and shapes are kept compiled; then the one that was used longest ago goes.
    KEPT = 64

    def __init__(self, program, name):
        self.program, self.name = program, name
        self.about = about = json.loads(_library.text("tilec_describe", program._handle, name.encode()))
        self.parameters = [p["name"] for p in about["parameters"]]
        self.outputs, self.settings = about["outputs"], about["settings"]
        self._types = {p["name"]: p["type"] for p in about["parameters"]}
        self._modes = {p["name"]: p["mode"] for p in about["parameters"]}
        self._bound = collections.OrderedDict()
        self._launchers = None  # of calls on PyTorch's tensors alone
        self._lock = threading.Lock()

    def __repr__(self):
        return "tilec.Function(%s(%s) -> (%s))" % (self.name, ", ".join("%s: %s" % (n, self._types[n]) for n in self.parameters), ", ".join(self.outputs))

    def __call__(self, *arguments, out=None, stream=None, **named):
        """Runs the function: arguments in the order of the parameters or by name, and settings by name (dimensions, constants, types,
        extents, precision). A struct is a dict of its fields, an array of structs a list of dicts.

        The result is an array for one output, a tuple for several, of the library that the first array is of; out gives the memory for
        them. On a GPU the work is done on stream, a CUstream as an int, or on the current stream of the arrays' library."""
        launchers, launcher = self._launchers, None
        if launchers is not None and not named:
            launcher, taken = launchers.find(arguments, out)
            if launcher is not None:
                result = launcher(taken, out, stream)
                if result is not NotImplemented:
                    return result
        if len(arguments) > len(self.parameters):
            raise Error("%s takes %d arguments, and %d are given" % (self.name, len(self.parameters), len(arguments)))
        values = dict(zip(self.parameters, arguments))
        settings = {}
        for name, value in named.items():
            if name in values:
                raise Error("%s of %s is given twice" % (name, self.name))
            (values if name in self.parameters else settings)[name] = value
        leaves = self._leaves(values)
        bound = self._bind(leaves, settings)
        result = bound._run(leaves, out, stream)
        if launcher is None and arguments and not named and _of_torch():
            if self._launchers is None:
                self._launchers = _of_torch().Launchers(self.KEPT)
            self._launchers.add(bound, arguments)
        return result

    def call(self, arguments, settings=None, out=None, stream=None):
        """Runs the function on arguments by name, which may have any name."""
        leaves = self._leaves(arguments)
        bound = self._bind(leaves, settings or {})
        return bound._run(leaves, out, stream)

    def bind(self, *arguments, **named):
        """The function compiled for the types and shapes of arguments, as a Bound, which is called on others of the same."""
        values = dict(zip(self.parameters, arguments))
        settings = {}
        for name, value in named.items():
            (values if name in self.parameters else settings)[name] = value
        return self._bind(self._leaves(values), settings)

    def _leaves(self, arguments):
        """The tensors and scalars of the arguments by name, each a View or a Scalar."""
        leaves = []

        def add(name, value, parameter):
            if isinstance(value, dict):
                for field, part in value.items():
                    add("%s.%s" % (name, field), part, parameter)
            elif isinstance(value, (list, tuple)):
                for i, part in enumerate(value):
                    add("%s[%d]" % (name, i), part, parameter)
            elif isinstance(value, Scalar):
                leaves.append((name, value))
            elif isinstance(value, (bool, int, float)):
                dtype = self._types.get(name, "")
                if dtype not in sizes:
                    raise Error("%s of %s is of type %s: give tilec.Scalar(%r, dtype), which says which type that is" % (name, self.name, dtype or "of a field", value))
                leaves.append((name, Scalar(value, dtype)))
            else:
                leaves.append((name, self._view(name, value, self._modes.get(parameter))))

        for name, value in arguments.items():
            add(name, value, name)
        self._check_devices(leaves)
        return leaves

    def _view(self, name, value, mode):
        return view(value, "%s of %s" % (name, self.name), mode == "inout")

    def _check_devices(self, leaves):
        for name, leaf in leaves:
            if isinstance(leaf, View) and leaf.cuda != self.program.device.is_cuda and leaf.shape.count(0) == 0:
                raise Error("%s of %s is in memory of %s, and the device is %s: move it" % (name, self.name, "a GPU" if leaf.cuda else "the CPU", self.program.device.name))

    def torch_op(self, name=None, **settings):
        """The function as an operator of PyTorch, by a name as "mylib::softmax" ("tilec::" and the function's own, where none is given), with
        settings as a call has them. torch.compile and torch.export keep it as one node without a graph break: types and shapes of its results
        are known without running it, for symbolic sizes too, and what it changes is declared.

        The result is called on the function's arguments in order, on the device of the program; torch.ops.mylib.softmax is it too. A struct
        is a dict of its fields, an array of structs a list of dicts. It has no derivative: torch.library.register_autograd gives it one.
        Needs PyTorch 2.4 or later. The operator is there until the process ends, and its program with it."""
        try:
            import torch  # noqa: F401
        except ImportError as e:
            raise Error("operators of PyTorch need PyTorch: %s" % e) from None
        return _of_torch().operator(self, name, settings)

    def _bind(self, leaves, settings):
        words = " ".join("%s=%s" % ("@precision" if n == "precision" else n, _word(v)) for n, v in sorted(settings.items()))
        key = (words,) + tuple(
            (name, leaf.dtype) if isinstance(leaf, Scalar) else (name, leaf.dtype, leaf.shape, leaf.strides, leaf.address % 16 if leaf.cuda else 0)
            for name, leaf in leaves
        )
        with self._lock:
            bound = self._bound.get(key)
            if bound is not None:
                self._bound.move_to_end(key)
                return bound
        bound = Bound(self, leaves, words)
        with self._lock:
            self._bound[key] = bound
            while len(self._bound) > self.KEPT:
                self._bound.popitem(last=False)
        return bound


def _word(value):
    """A setting as a word: types of other libraries by the language's names are texts already."""
    text = str(value)
    if not text or any(c.isspace() for c in text):
        raise Error("the setting %r is no word" % (value,))
    return text


_loaded = None


def _of_torch():
    """What is for PyTorch alone, where the process has it."""
    global _loaded
    if _loaded is None and "torch" in sys.modules:
        from . import _torch

        _loaded = _torch
    return _loaded


class Bound(_Open):
    """A function compiled for types and shapes. It is called with arguments of these, in the order in which it was bound."""

    def __init__(self, function, leaves, settings):
        self.function, self.names = function, [name for name, _ in leaves]
        self._launcher = None
        types = (_library.Tensor * max(len(leaves), 1))()
        keep = []
        for t, (name, leaf) in zip(types, leaves):
            t.name, t.dtype = name.encode(), leaf.dtype.encode()
            if isinstance(leaf, Scalar):
                t.rank = _library.SCALAR_RANK
                continue
            t.rank, t.shape = len(leaf.shape), _numbers(leaf.shape)
            if leaf.strides is not None:
                t.strides = _numbers(leaf.strides)
            t.data = leaf.address if leaf.cuda else None
            keep.append(t)
        program = function.program
        super().__init__(_library.handle("tilec_bind", program._handle, function.name.encode(), types, len(leaves), settings.encode()))
        count = ctypes.c_size_t()
        _library.call("tilec_output_count", self._handle, ctypes.byref(count))
        self.outputs = []  # (name, dtype, shape)
        for i in range(count.value):
            t = _library.Tensor()
            _library.call("tilec_output", self._handle, i, ctypes.byref(t))
            self.outputs.append((t.name.decode(), t.dtype.decode(), tuple(t.shape[j] for j in range(t.rank))))
        self._expected = [(leaf.dtype, None, None) if isinstance(leaf, Scalar) else (leaf.dtype, leaf.shape, leaf.strides) for _, leaf in leaves]

    def __call__(self, *arguments, out=None, stream=None):
        launcher = self._launcher
        if launcher is not None:
            taken = launcher.take(arguments, out)
            if taken is not None:
                result = launcher(taken, out, stream)
                if result is not NotImplemented:
                    return result
        function = self.function
        if len(arguments) != len(function.parameters) and len(arguments) != len(self.names):
            raise Error("%s is bound to %d arguments, and %d are given" % (function.name, len(self.names), len(arguments)))
        result = self._run(function._leaves(dict(zip(function.parameters, arguments))), out, stream)
        of_torch = _of_torch()
        if of_torch and arguments and of_torch.key_of(arguments) is not None:
            self._launcher = of_torch.Launcher(self, arguments)
        return result

    def _run(self, leaves, out, stream):
        function = self.function
        if [name for name, _ in leaves] != self.names:
            raise Error("%s is bound to %s, and %s are given" % (function.name, ", ".join(self.names), ", ".join(n for n, _ in leaves)))
        arguments, keep = (ctypes.c_void_p * max(len(leaves), 1))(), []
        like = None
        for i, (name, leaf) in enumerate(leaves):
            if isinstance(leaf, Scalar):
                given = (leaf.dtype, None, None)
                raw = ctypes.create_string_buffer(scalar_bytes(leaf.value, leaf.dtype, "%s of %s" % (name, function.name)))
                keep.append(raw)
                arguments[i] = ctypes.addressof(raw)
            else:
                given = (leaf.dtype, leaf.shape, leaf.strides)
                arguments[i] = leaf.address
                like = like or leaf
                if stream is None and leaf.stream:
                    stream = leaf.stream
            if given != self._expected[i]:
                raise Error("%s of %s is bound to %s%s, and %s%s is given" % ((name, function.name) + _shown(self._expected[i]) + _shown(given)))
        results = self._results(out, like)
        outputs = (ctypes.c_void_p * max(len(results), 1))()
        for i, (result, (name, dtype, shape)) in enumerate(zip(results, self.outputs)):
            if 0 in shape:
                continue
            v = view(result, "the output %s of %s" % (name, function.name), True)
            if (v.dtype, v.shape) != (dtype, shape) and not (dtype not in formats and v.dtype == "u8" and math.prod(v.shape) == sizes[dtype] * math.prod(shape)) or v.strides is not None:
                raise Error("the output %s of %s is %s%s without gaps, and memory for %s%s with the strides %s is given" % (name, function.name, dtype, list(shape), v.dtype, list(v.shape), list(v.strides or row_major(v.shape))))
            if v.cuda != function.program.device.is_cuda:
                raise Error("the memory for the output %s of %s is not of the device %s" % (name, function.name, function.program.device.name))
            outputs[i] = v.address
            keep.append(v)
        _library.call("tilec_launch", self._handle, arguments, outputs, stream or None)
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def _results(self, out, like):
        """Memory for the outputs: the caller's, or new, of the library that the arguments are of."""
        if out is None:
            return [_empty(dtype, shape, like, self.function.program.device) for _, dtype, shape in self.outputs]
        if isinstance(out, dict):
            missing = [name for name, _, _ in self.outputs if name not in out]
            if missing or len(out) != len(self.outputs):
                raise Error("%s has the outputs %s, and out has %s" % (self.function.name, ", ".join(n for n, _, _ in self.outputs), ", ".join(out)))
            return [out[name] for name, _, _ in self.outputs]
        results = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(results) != len(self.outputs):
            raise Error("%s has %d outputs, and out has %d" % (self.function.name, len(self.outputs), len(results)))
        return results


def _numbers(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def _shown(given):
    dtype, shape, strides = given
    if shape is None:
        return dtype, ""
    return dtype, "%s%s" % (list(shape), "" if strides is None else " with the strides %s" % list(strides))


_torch_names = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def _empty(dtype, shape, like, device):
    """A new array for an output."""
    keep = None if like is None else like.keep
    name = _torch_names.get(dtype)
    if is_torch(keep) and name:
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, name), device=keep.device)
    if device.is_cuda:
        cupy = sys.modules.get("cupy")
        if cupy is not None and dtype in formats:
            return cupy.empty(shape, dtype=name)
        raise Error("there is nothing to make an output on %s with, %s%s: give its memory by out=" % (device.name, dtype, list(shape)))
    try:
        import numpy
    except ImportError:
        numpy = None
    if dtype not in formats or dtype == "f16" and numpy is None:  # memoryview casts to no f16
        raise Error("there is no array of %s to make an output of: give its memory by out=, as bytes or of a library that has the type" % dtype)
    if numpy is not None:
        return numpy.empty(shape, dtype=name)
    n = sizes[dtype]
    for size in shape:
        n *= size
    flat = memoryview(bytearray(n))
    return flat.cast(formats[dtype]) if n == 0 else flat.cast(formats[dtype], shape)
