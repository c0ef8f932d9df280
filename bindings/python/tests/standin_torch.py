"""As much of PyTorch as the package looks at, on the host's memory, for machines without it: tests import it as torch. Tensors that say that they are on a
GPU are for a tilec.Device("cuda") whose driver is a stand-in too."""

import contextlib
import ctypes
import sys
import types

__version__ = "2.stand-in"


class dtype:
    def __init__(self, name, code):
        self.name, self.code = name, code

    def __str__(self):
        return "torch." + self.name


float32, int64, bfloat16 = dtype("float32", ctypes.c_float), dtype("int64", ctypes.c_int64), dtype("bfloat16", ctypes.c_uint16)


class device:
    def __init__(self, kind, index=None):
        self.type, self.index = kind, index


class Size(tuple):
    pass


def row_major(shape):
    strides, n = [], 1
    for size in reversed(shape):
        strides.insert(0, n)
        n *= size
    return tuple(strides)


class Tensor:
    def __init__(self, shape, dtype=float32, device=device("cpu"), strides=None, offset=0, base=None):
        self._shape, self.dtype, self.device, self._strides = Size(shape), dtype, device, strides or row_major(shape)
        if base is None:
            room = (ctypes.c_char * (8 * max(1, self.numel()) + 512))()
            base = room, -ctypes.addressof(room) % 256
        self.base, self._version = base, 0
        self._at = ctypes.addressof(base[0]) + base[1] + offset * ctypes.sizeof(dtype.code)

    def numel(self):
        n = 1
        for size in self._shape:
            n *= size
        return n

    # A tensor's sizes are made anew each time that they are asked for.
    shape = property(lambda self: Size(self._shape))
    is_cuda = property(lambda self: self.device.type == "cuda")

    def stride(self):
        return tuple(self._strides)

    def is_contiguous(self):
        return self._strides == row_major(self._shape)

    def get_device(self):
        return self.device.index or 0 if self.is_cuda else -1

    def data_ptr(self):
        return self._at

    def is_inference(self):
        return False

    def is_neg(self):
        return self.negated

    negated = requires_grad = False

    def view(self, shape, strides=None, offset=0):
        """Other elements of the same memory."""
        return Tensor(shape, self.dtype, self.device, strides, offset, self.base)

    def fill(self, values):
        (self.dtype.code * self.numel()).from_address(self._at)[:] = values
        return self

    def tolist(self):
        return list((self.dtype.code * self.numel()).from_address(self._at))


def empty(shape, dtype=float32, device=device("cpu")):
    return Tensor(shape, dtype, device)


current_device, stream = 0, 0  # of the GPU


def _empty_strided_cuda(shape, strides, dtype):
    assert strides == row_major(shape)
    return Tensor(shape, dtype, device("cuda", current_device))


class Mode:
    """What a thread may have on top of plain calls; each is a number that is not 0 while it is on."""

    keys = functions = autocast = profiler = no_grad = 0


def is_grad_enabled():
    return not Mode.no_grad


@contextlib.contextmanager
def inference_mode():
    Mode.keys = 1
    yield
    Mode.keys = 0


class TensorGuards:
    """Compares tensors with others, which must be given once each, and what the thread does with them."""

    def __init__(self, *tensors, dynamic_dims_sizes, dynamic_dims_strides):
        assert dynamic_dims_sizes is None and dynamic_dims_strides is None
        self.seen = [self.of(x) for x in tensors]

    def of(self, x):
        return type(x), isinstance(x, Tensor) and (x.dtype, x.shape, x.stride(), x.get_device(), x.requires_grad, x.negated, Mode.keys, Mode.autocast)

    def check(self, *tensors):
        if len(tensors) != len(self.seen):
            raise TypeError("wrong length")
        return len(set(map(id, tensors))) == len(tensors) and [self.of(x) for x in tensors] == self.seen


class Parameter(Tensor):
    pass


nn = types.SimpleNamespace(Parameter=Parameter)
_C = types.SimpleNamespace(
    _dispatch_tls_local_include_set=lambda: Mode.keys,
    DispatchKeySet=types.SimpleNamespace(raw_repr=int),
    _len_torch_function_stack=lambda: Mode.functions,
    _is_any_autocast_enabled=lambda: Mode.autocast,
    _cuda_getCurrentRawStream=lambda index: stream,
    _dynamo=types.SimpleNamespace(guards=types.SimpleNamespace(_empty_strided_cuda=_empty_strided_cuda, TensorGuards=TensorGuards)),
)
cuda = types.SimpleNamespace(current_stream=lambda device=None: types.SimpleNamespace(cuda_stream=stream))


def _increment_version(x):
    x._version += 1


autograd = types.SimpleNamespace(_profiler_enabled=lambda: Mode.profiler, graph=types.SimpleNamespace(increment_version=_increment_version))
Tag = types.SimpleNamespace(pt2_compliant_tag=None)
ops = types.SimpleNamespace()


dispatched = []  # the calls of operators that came this way


class Library:
    """Operators that are called as they are."""

    def __init__(self, namespace, kind):
        self.namespace = namespace

    def define(self, schema, tags=()):
        pass

    def impl(self, name, function, key):
        vars(ops).setdefault(self.namespace, types.SimpleNamespace())

        def call(*arguments, **named):
            dispatched.append(name)
            return function(*arguments, **named)

        setattr(getattr(ops, self.namespace), name, types.SimpleNamespace(default=call))


library = types.SimpleNamespace(Library=Library, register_fake=lambda name, function, lib: None)
sys.modules["torch"] = sys.modules[__name__]
