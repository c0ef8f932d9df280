"""Launches on PyTorch's tensors, with as little of the host's time as Python allows."""

import collections
import struct
from operator import itemgetter

import torch

from . import _library
from ._library import Error
from ._views import formats, row_major, scalar_bytes, sizes

# PyTorch's element types by the language's names; a PyTorch that is too old for one lacks it.
_names = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
_dtypes = {d: getattr(torch, name) for d, name in _names.items() if hasattr(torch, name)}
of_torch = {t: d for d, t in _dtypes.items()}
_Tensor = torch.Tensor
# The current stream of a device by its number, without the object that torch.cuda.current_stream makes of it.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (lambda index: torch.cuda.current_stream(index).cuda_stream)


def torch_dtype(dtype, what):
    if dtype not in _dtypes:
        raise Error("%s is %s, which PyTorch %s has no element type for" % (what, dtype, torch.__version__))
    return _dtypes[dtype]


# What torch.compile's code is made of, where this PyTorch has it: what compares tensors with others, and new memory by sizes, strides and an element type, on
# the CPU and on the current GPU, in less time than torch.empty takes.
_compiled_code = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
_TensorGuards = getattr(_compiled_code, "TensorGuards", None)
_new_memory = {kind: getattr(_compiled_code, "_empty_strided_" + kind, None) for kind in ("cpu", "cuda")}
number_types = frozenset((bool, int, float))


def key_of(values):
    """What decides which compiled code takes the values: of tensors how their elements lie, and where; of numbers only that they are there; None is left
    out. None where a value is neither."""
    key = []
    for x in values:
        if isinstance(x, _Tensor):
            key += (x.dtype, x.shape, x.is_contiguous() or x.stride(), x.get_device(), x.data_ptr() & 15)
        elif type(x) in number_types:
            key.append(0)
        elif x is None:
            key.append(None)
        else:
            return None
    return tuple(key)


class Launcher:
    """A bound function on PyTorch's tensors: what does not change from call to call, looked up once.

    A launch takes values and outputs as one block of bytes, which is made anew for each: threads share a launcher without waiting for each other."""

    def __init__(self, bound, values, names=()):
        self.bound, self.names = bound, names
        function = bound.function
        device = function.program.device
        index = int(device.name.partition(":")[2] or 0)
        for x in values:
            if isinstance(x, _Tensor) and x.is_cuda and x.get_device() != index:
                raise Error("a tensor of %s is on the device %s, and its program is on %s: move it, or load the program there" % (function.name, x.device, device.name))
        self.device = torch.device("cuda", index) if device.is_cuda else torch.device("cpu")
        self.index = index if device.is_cuda else -1  # as Tensor.get_device says it
        self.outputs = [(torch_dtype(dtype, "the output %s of %s" % (name, function.name)), shape, row_major(shape)) for name, dtype, shape in bound.outputs]
        self.new_memory = _new_memory[self.device.type]
        expected = [_seen(x) for x in values]
        self.values = _Look(expected)
        self.values_and_outputs = _Look(expected + [(dtype, shape, None, self.index, 0) for dtype, shape, _ in self.outputs])
        # Of calls with which PyTorch has nothing to do, where it records no gradients and where it does; see _torch.py.
        self.plain = _Look(expected), _Look(expected)
        # The block has 8 bytes for the function, the stream, each value that is there, and each output. Numbers of a type that struct has no code for come as their bytes.
        codes = []
        self.packed_apart = []
        for i, (dtype, shape, _) in enumerate(bound._expected):
            if shape is not None:
                codes.append("Q")
            elif dtype in formats:
                codes.append("%s%dx" % (formats[dtype], 8 - sizes[dtype]))
            else:
                codes.append("8s")
                self.packed_apart.append((i, dtype, "%s of %s" % (bound.names[i], function.name)))
        self.pack = struct.Struct("<QQ" + "".join(codes) + "Q" * len(self.outputs)).pack
        self.launch, self.handle = _library.launch_block(device.is_cuda), bound._handle

    def take(self, values, out=None):
        """The addresses of tensors, and the numbers, of values like those that the launcher is for, and of the caller's memory for outputs; None for others, of
        which somebody else says what is wrong."""
        if out is None:
            return self.values.take(values)
        return self.values_and_outputs.take((*values, *out) if isinstance(out, (tuple, list)) else (*values, out))

    def __call__(self, taken, out=None, stream=None):
        """Launches on what take took, and gives the function's result; NotImplemented, with nothing launched, for numbers that their types do not have."""
        if self.packed_apart:
            for i, dtype, what in self.packed_apart:
                taken[i] = scalar_bytes(taken[i], dtype, what)
        if out is None:
            outputs = self.new()
            for y in outputs:
                taken.append(y.data_ptr())
            out = outputs[0] if len(outputs) == 1 else tuple(outputs) or None
        elif isinstance(out, (tuple, list)):
            out = out[0] if len(out) == 1 else tuple(out) or None
        if stream is None:
            stream = _raw_stream(self.index) if self.index >= 0 else 0
        try:
            block = self.pack(self.handle, stream, *taken)
        except (struct.error, OverflowError):
            return NotImplemented
        error = self.launch(block)
        if error is not None:
            raise Error(_library.message(error))
        return out

    def new(self):
        """New memory for the outputs."""
        outputs, index, new_memory = [], self.index, self.new_memory
        for dtype, shape, strides in self.outputs:
            y = new_memory(shape, strides, dtype) if new_memory else None
            if y is None or y.get_device() != index:  # another GPU is PyTorch's current one
                y = torch.empty(shape, dtype=dtype, device=self.device)
            outputs.append(y)
        return outputs


_NUMBER = object()  # what is expected of a number


def _seen(x):
    """What is looked at of a value: of a tensor its type, shape, strides (None without gaps), device and place."""
    if x is None:
        return None
    if not isinstance(x, _Tensor):
        return _NUMBER
    return x.dtype, x.shape, None if x.is_contiguous() else x.stride(), x.get_device(), x.data_ptr() & 15


class _Look:
    """What is looked at of the values of each call. Tensors that were found right are compared with those of the next call by PyTorch's own guards, one call for
    all that takes a third of the time: these see less than is allowed, and where they do not know a tensor it is looked at here."""

    # How often other guards are tried, where calls take turns with tensors that guards tell apart.
    TRIES = 4

    def __init__(self, expected):
        self.expected, self.count = expected, len(expected)
        # Of tensors that are known: where they are among the values, and how far behind a multiple of 16 bytes. What is left out is looked at one by one.
        self.places = [(i, seen[4]) for i, seen in enumerate(expected) if type(seen) is tuple]
        self.numbers = [i for i, seen in enumerate(expected) if seen is _NUMBER]
        self.all_there = None not in expected
        at = [i for i, seen in enumerate(expected) if type(seen) is tuple]
        self.tensors = itemgetter(*at) if len(at) > 1 else itemgetter(slice(at[0], at[0] + 1)) if at else None
        self.guards, self.tries = None, self.TRIES if at and _TensorGuards else 0

    def guard(self, values):
        """Compares tensors with these from now on."""
        self.guards = None
        if self.tries > 0:
            self.tries -= 1
            try:
                self.guards = _TensorGuards(*self.tensors(values), dynamic_dims_sizes=None, dynamic_dims_strides=None).check
            except TypeError:  # those of another version of PyTorch
                self.tries = 0

    def known(self, values):
        """Whether the tensors are as those of guard were, and the thread does with tensors as it then did."""
        return self.guards is not None and len(values) == self.count and self.guards(*self.tensors(values))

    def take(self, values, known=False):
        """See Launcher.take; known tensors are looked at for their places alone."""
        if len(values) != self.count:
            return None
        try:
            fine = known or self.guards is not None and self.guards(*self.tensors(values))
            if fine and self.all_there:
                return self.take_known(values)
            taken = []
            for x, seen in zip(values, self.expected):
                if seen is None:
                    if x is not None:
                        return None
                elif seen is _NUMBER:
                    if type(x) not in number_types:
                        return None
                    taken.append(x)
                else:
                    dtype, shape, strides, device, place = seen
                    at = x.data_ptr()
                    if at & 15 != place:
                        return None
                    if not fine and (x.dtype is not dtype or x.shape != shape or x.get_device() != device or not (x.is_contiguous() if strides is None else x.stride() == strides)):
                        return None
                    taken.append(at)
            if not fine:
                self.guard(values)
        except (AttributeError, RuntimeError, TypeError):  # what is no tensor, or one without memory
            return None
        return taken


    def take_known(self, values):
        taken = list(values)
        for i, place in self.places:
            taken[i] = at = values[i].data_ptr()
            if at & 15 != place:
                return None
        for i in self.numbers:
            if type(values[i]) not in number_types:
                return None
        return taken


class Launchers:
    """The launchers of a function, or of an operator, by what they are for. The last one is tried first."""

    def __init__(self, kept):
        self.kept, self.last, self.by_key = kept, None, collections.OrderedDict()

    def find(self, values, out=None, names=()):
        """A launcher with what it takes of the values and of memory for outputs; twice None where there is none."""
        launcher = self.last
        if launcher is None:
            return None, None
        if launcher.names == names:
            taken = launcher.take(values, out)
            if taken is not None:
                return launcher, taken
        launcher = self.by_key.get((key_of(values), names))
        taken = launcher and launcher.take(values, out)
        if taken is None:
            return None, None
        self.last = launcher
        return launcher, taken

    def add(self, bound, values, names=()):
        """Makes a launcher of a bound function for values like these, where they are PyTorch's tensors and numbers, and gives it."""
        key = key_of(values)
        if key is None:
            return None
        launcher = self.last = self.by_key[key, names] = Launcher(bound, values, names)
        while len(self.by_key) > self.kept:
            self.by_key.popitem(last=False)
        return launcher
