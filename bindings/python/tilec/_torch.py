"""Kernels and graphs as operators of PyTorch, and launches on its tensors.

An operator is defined in a torch.library.Library, not by torch.library.custom_op, whose checks of every call cost several microseconds.
"""

import collections
import ctypes
import re

import torch

from . import _library
from ._library import Error
from ._views import Scalar, scalar_bytes, sizes

# PyTorch's element types by the language's names; a PyTorch that is too old for one lacks it.
_names = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
_dtypes = {d: getattr(torch, name) for d, name in _names.items() if hasattr(torch, name)}
_of_torch = {t: d for d, t in _dtypes.items()}
_Tensor = torch.Tensor
# The current stream of a device by its number, without the object that torch.cuda.current_stream makes of it.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (lambda index: torch.cuda.current_stream(index).cuda_stream)


def torch_dtype(dtype, what):
    if dtype not in _dtypes:
        raise Error("%s is %s, which PyTorch %s has no element type for" % (what, dtype, torch.__version__))
    return _dtypes[dtype]


def key_of(values):
    """What decides which compiled code takes the values, and what a launch takes of them. That is of tensors how their elements lie, and where; of
    numbers only that they are there, and what they are; None is left out. Two times None where a value is neither."""
    key, taken = [], []
    for x in values:
        if isinstance(x, _Tensor):
            at = x.data_ptr()
            key += (x.dtype, x.shape, x.is_contiguous() or x.stride(), x.get_device(), at & 15)
            taken.append(at)
        elif isinstance(x, (bool, int, float)):
            key.append(0)
            taken.append(x)
        elif x is None:
            key.append(None)
        else:
            return None, None
    return tuple(key), taken


class Launcher:
    """A bound function on PyTorch's tensors: values of one key, without the checks that the key makes needless."""

    def __init__(self, bound, values):
        self.bound = bound
        self.key, _ = key_of(values)
        function = bound.function
        index = int(function.program.device.name.partition(":")[2] or 0)
        for x in values:
            if isinstance(x, _Tensor) and x.is_cuda and x.get_device() != index:
                raise Error("a tensor of %s is on the device %s, and its program is on %s: move it, or load the program there" % (function.name, x.device, function.program.device.name))
        self.device = torch.device("cuda", index) if function.program.device.is_cuda else torch.device("cpu")
        self.index = index if self.device.type == "cuda" else -1  # as Tensor.get_device says it
        self.outputs = [(torch_dtype(dtype, "the output %s of %s" % (name, function.name)), shape) for name, dtype, shape in bound.outputs]
        # The scalars: their places, with their types and what errors call them.
        self.scalars = [(i, dtype, "%s of %s" % (bound.names[i], function.name)) for i, (dtype, shape, _) in enumerate(bound._expected) if shape is None]
        self.addresses = ctypes.c_void_p * max(len(bound.names), 1)
        self.results = ctypes.c_void_p * max(len(self.outputs), 1)
        self.launch = _library.library().tilec_launch

    def __call__(self, taken, outputs=None, stream=None):
        """Launches on what key_of took of values; outputs is a list of memory of the right kind, or None for new memory."""
        words = []  # kept while the library reads them
        for i, dtype, what in self.scalars:
            word = ctypes.create_string_buffer(scalar_bytes(taken[i], dtype, what))
            words.append(word)
            taken[i] = ctypes.addressof(word)
        if outputs is None:
            outputs = [torch.empty(shape, dtype=dtype, device=self.device) for dtype, shape in self.outputs]
        if stream is None and self.index >= 0:
            stream = _raw_stream(self.index)
        error = ctypes.c_void_p()
        if self.launch(self.bound._handle, self.addresses(*taken), self.results(*[y.data_ptr() for y in outputs]), stream, ctypes.byref(error)) != 0:
            raise Error(_library.message(error))
        return outputs

    def outputs_of(self, out):
        """The caller's memory for outputs as a list; None where it is not known to be as the outputs are, as with memory that is not PyTorch's."""
        out = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(out) != len(self.outputs):
            return None
        for y, (dtype, shape) in zip(out, self.outputs):
            if not isinstance(y, _Tensor) or y.dtype != dtype or y.shape != shape or not y.is_contiguous() or y.get_device() != self.index:
                return None
        return out

    def result(self, outputs):
        """What a call gives for its outputs: one, a tuple of several, or None."""
        return outputs[0] if len(outputs) == 1 else tuple(outputs) or None


def operator(function, name, settings):
    """The function as an operator; see Function.torch_op."""
    if not hasattr(torch.library, "register_fake"):
        raise Error("operators need PyTorch 2.4 or later, and this is %s" % torch.__version__)
    name = name or "tilec::" + function.name
    namespace, _, short = name.partition("::")
    if not namespace.isidentifier() or not short.isidentifier():
        raise Error("the operator's name %r must be of the form NAMESPACE::NAME, as in mylib::%s" % (name, function.name))
    if name in _operators:
        of, with_settings, made = _operators[name]
        if of is function and with_settings == settings:
            return made
        raise Error("the operator %s is registered already, for %s%s: give this one another name" % (name, of.name, "" if of is not function else " with other settings"))
    made = _Operator(function, settings)
    schema = short + made.schema()
    library = torch.library.Library(namespace, "FRAGMENT")
    try:
        library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    except RuntimeError as e:
        raise Error("PyTorch refuses the operator %s::%s: %s" % (namespace, schema, e)) from None
    library.impl(short, made.run, "CUDA" if function.program.device.is_cuda else "CPU")
    torch.library.register_fake(name, made.fake, lib=library)
    overload = getattr(getattr(torch.ops, namespace), short).default
    call = _flattening(made, overload) if made.structs else overload
    _libraries.append(library)  # the operator is there as long as its library
    _operators[name] = (function, settings, call)
    return call


_operators, _libraries = {}, []


class _Operator:
    """What an operator does, and what is known of the results before.

    Its arguments are the parameters in order. A struct, or an array of structs, is two: a list of its tensors, and their names, as in
    "norms[0].w,norms[0].b"."""

    def __init__(self, function, settings):
        self.function, self.settings = function, settings
        about = function.about
        self.parameters = about["parameters"]
        self.leaves = {leaf["name"]: leaf for leaf in about["leaves"]}
        self.results = about["results"]
        self.structs = {p["name"] for p in self.parameters if p["name"] not in self.leaves}
        # The element type of each scalar, by name, or the name of what stands for it.
        self.scalars = {name: leaf["dtype"] for name, leaf in self.leaves.items() if leaf.get("scalar")}
        self.changed = [i for i, mode in enumerate(self._modes()) if mode == "inout"]
        told = {leaf["dtype"] for leaf in self.leaves.values() if not leaf.get("scalar")} | set(settings)
        for scalar, dtype in self.scalars.items():
            if dtype not in sizes and dtype not in told:
                raise Error("the element type %s of %s of %s is told by no tensor: give it, as in torch_op(%s=\"f32\")" % (dtype, scalar, function.name, dtype))
        self.sizes = {n: v for n, v in about["constants"].items()}
        self.sizes.update((n, v) for n, v in settings.items() if isinstance(v, int))
        self.shapes = [[_size(text) for text in result.get("shape", ())] for result in self.results]
        self.launchers = collections.OrderedDict()

    def _modes(self):
        """The mode of each argument of the operator."""
        for p in self.parameters:
            yield p["mode"]
            if p["name"] in self.structs:
                yield "in"

    def schema(self):
        """The operator's signature as PyTorch writes it, without the name. What is changed has a letter of its own."""
        arguments = []
        for p in self.parameters:
            name = p["name"]
            changed = "(%s!)" % "abcdefghijklmnopqrstuvwxyz"[sum("!" in a for a in arguments) % 26] if p["mode"] == "inout" else ""
            if name in self.structs:
                arguments += ["Tensor%s[] %s" % (changed, name), "str %s_names" % name]
            elif name not in self.scalars:
                arguments.append("Tensor%s %s" % (changed, name))
            else:
                arguments.append(_number(self.scalars[name]) + ("? %s=None" if p.get("default") else " %s") % name)
        results = ["Tensor"] * len(self.results)
        return "(%s) -> %s" % (", ".join(arguments), results[0] if len(results) == 1 else "(%s)" % ", ".join(results))

    def named(self, values):
        """The tensors and scalars by name: pairs, without scalars that are left out. PyTorch leaves out arguments at the end that have their default."""
        values, at, named = list(values), 0, []
        for p in self.parameters:
            value = values[at] if at < len(values) else None
            at += 1
            if p["name"] in self.structs:
                names = values[at]
                at += 1
                named += zip(names.split(",") if names else (), value)
            elif value is not None:
                named.append((p["name"], value))
        return named

    def run(self, *values):
        """What the operator does on the device."""
        leaves = values
        if self.structs:
            leaves = [x for _, x in self.named(values)]
        key, taken = key_of(leaves)
        if self.structs:  # names have no part in a launch, but tell which tensor is what
            key += tuple(x for x in values if isinstance(x, str))
        launcher = self.launchers.get(key)
        if launcher is None:
            launcher = self._bind(key, values)
        outputs = launcher(taken)
        for i in self.changed:
            for x in values[i] if isinstance(values[i], (list, tuple)) else (values[i],):
                if not x.is_inference():
                    torch.autograd.graph.increment_version(x)
        return launcher.result(outputs)

    def _bind(self, key, values):
        function, named = self.function, self.named(values)
        types = self._types(named)
        leaves = []
        for name, x in named:
            if name in self.scalars:
                leaves.append((name, Scalar(x, types.get(self.scalars[name], self.scalars[name]))))
            else:
                leaves.append((name, function._view(name, x, self._mode_of(name))))
        function._check_devices(leaves)
        launcher = Launcher(function._bind(leaves, self.settings), [x for _, x in named])
        self.launchers[key] = launcher
        while len(self.launchers) > function.KEPT:
            self.launchers.popitem(last=False)
        return launcher

    def _mode_of(self, name):
        top = re.split(r"[.\[]", name)[0]
        return next(p["mode"] for p in self.parameters if p["name"] == top)

    def _types(self, named):
        """The element types that tensors, and settings, tell of parameters such as T."""
        types = {n: v for n, v in self.settings.items() if v in sizes}
        for name, x in named:
            leaf = self._leaf(name)
            if isinstance(x, _Tensor) and leaf["dtype"] not in sizes:
                types[leaf["dtype"]] = _of_torch.get(x.dtype) or "%s of PyTorch" % x.dtype
        return types

    def _leaf(self, name):
        leaf = self.leaves.get(re.sub(r"\[\d+\]", "[]", name))
        if leaf is None:
            raise Error("%s has no %s: it has %s" % (self.function.name, name, ", ".join(self.leaves)))
        return leaf

    def fake(self, *values):
        """The results without elements. Sizes may be symbols: they go through the compiler's expressions as they are, and remain symbols."""
        function, named = self.function, self.named(values)
        known, by, like = dict(self.sizes), {}, None
        for name, x in named:
            leaf = self._leaf(name)
            if not isinstance(x, _Tensor):
                continue
            like = x if like is None else like
            shape = leaf.get("shape", ())
            if len(shape) != x.dim():
                raise Error("%s of %s has the shape [%s], and a tensor of %d dimensions is given" % (name, function.name, ", ".join(shape), x.dim()))
            for text, n in zip(shape, x.shape):
                if not text.isidentifier():
                    continue
                if text in known:
                    torch._check(known[text] == n, lambda: "dimension %s of %s is one size in %s and another in %s" % (text, function.name, by.get(text, "a setting"), name))
                else:
                    known[text], by[text] = n, name
        types = self._types(named)
        results = []
        for result, shape in zip(self.results, self.shapes):
            dtype = torch_dtype(types.get(result["dtype"], result["dtype"]), "the output %s of %s" % (result["name"], function.name))
            try:
                extents = [eval(size, {"__builtins__": {}, "sizes": known}) for size in shape]
            except KeyError as e:
                raise Error("the size %s of the output %s of %s is told by no tensor: give it, as in torch_op(%s=64)" % (e.args[0], result["name"], function.name, e.args[0])) from None
            device = like.device if like is not None else torch.device("cuda" if function.program.device.is_cuda else "cpu")
            results.append(torch.empty(extents, dtype=dtype, device=device))
        return results[0] if len(results) == 1 else tuple(results) or None


def _number(dtype):
    """What PyTorch calls a number of an element type; of a parameter that stands for one, any number."""
    if dtype not in sizes:
        return "Scalar"
    return "bool" if dtype == "bool" else "float" if "f" in dtype else "SymInt"


def _size(text):
    """The compiler's expression of a size as Python code, which looks names up in sizes."""
    return compile(re.sub(r"[^\W\d]\w*", lambda m: "sizes[%r]" % m.group(), text), "<size %s>" % text, "eval")


def _flattening(operator, overload):
    """The operator for callers, who give structs as dicts and arrays of structs as lists."""
    names = [p["name"] for p in operator.parameters]
    structs = operator.structs

    def call(*arguments, **named):
        flat = []
        for i, name in enumerate(names):
            value = arguments[i] if i < len(arguments) else named.get(name)
            if name in structs:
                leaves = parts(name, value)
                flat += [[x for _, x in leaves], ",".join([n for n, _ in leaves])]
            else:
                flat.append(value)
        return overload(*flat)

    def parts(name, value):
        if isinstance(value, dict):
            return [leaf for field, x in value.items() for leaf in parts(name + "." + field, x)]
        if isinstance(value, (list, tuple)):
            return [leaf for i, x in enumerate(value) for leaf in parts(name + "[" + str(i) + "]", x)]
        return [(name, value)]

    call.__name__ = operator.function.name
    call.overload = overload
    return call
