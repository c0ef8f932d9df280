"""Kernels and graphs as operators of PyTorch.

An operator is defined in a torch.library.Library, not by torch.library.custom_op, whose checks of every call cost several microseconds.
"""

import re
import threading

import torch

from ._launchers import Launcher, Launchers, key_of, number_types, of_torch, torch_dtype  # noqa: F401: of _device.py
from ._library import Error
from ._views import Scalar, scalar_bytes, sizes


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
    call = _at_once(made, overload)
    if made.structs:
        call = _flattening(made, call)
    call.__name__, call.operator, call.overload = short, made, overload
    _libraries.append(library)  # the operator is there as long as its library
    _operators[name] = (function, settings, call)
    return call


_operators, _libraries = {}, []


# Types of tensors that have no say in what an operator does with them.
_plain_types = frozenset((torch.Tensor, torch.nn.Parameter))
# Whether torch.compile or torch.export is looking at the call; both know what the function gives.
_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)
_function_modes = getattr(torch._C, "_len_torch_function_stack", None)
_autocasting = getattr(torch._C, "_is_any_autocast_enabled", None)
_profiling = getattr(torch.autograd, "_profiler_enabled", None)
_keys = getattr(torch._C, "_dispatch_tls_local_include_set", None)
_raw = getattr(getattr(torch._C, "DispatchKeySet", None), "raw_repr", None)


def _usual_keys():
    """What decides for all tensors of a thread where calls go, as numbers: of a thread in which nothing is asked for, as a new one is, and of one in inference mode."""
    found = []

    def look():
        found.append(_raw(_keys()))
        with torch.inference_mode():
            found.append(_raw(_keys()))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return frozenset(found)


# Without one of these functions, all of which are PyTorch's own business, every call of an operator goes through the dispatcher.
_usual = _usual_keys() if _function_modes and _autocasting and _profiling and _keys and _raw else None


def _dispatches_as_usual():
    """Whether nothing but autograd and the tensors' device decides what an operator does: no mode that takes calls (of tensors without elements, of
    tracing, of vmap), no autocast, no profiler."""
    return _usual is not None and _raw(_keys()) in _usual and _function_modes() == 0 and not _autocasting() and not _profiling()


def _are_plain(values, gradients):
    """Whether the values are numbers and tensors with which PyTorch does nothing else: of no type that has a say, without gradients where these are recorded, and not
    stored as their negatives."""
    return all(x is None or type(x) in number_types or type(x) in _plain_types and not (gradients and x.requires_grad) and not x.is_neg() for x in values)


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
        self.launchers = Launchers(function.KEPT)

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
        leaves, names = self.flat(values)
        launcher, taken = self.launchers.find(leaves, None, names)
        if launcher is None:
            launcher, taken = self._bind(values, leaves, names)
        result = launcher(taken)
        if result is NotImplemented:
            raise self._refused(values)
        self._note_changes(values)
        return result

    def at_once(self, values):
        """The result of a launch on arguments that a launcher is there for; NotImplemented, with nothing done, where PyTorch has something to do with the call."""
        leaves, names = self.flat(values)
        launcher, gradients = self.launchers.last, torch.is_grad_enabled()
        if launcher is not None and launcher.names == names and launcher.plain[gradients].known(leaves) and not _function_modes() and not _profiling():
            taken = launcher.plain[gradients].take(leaves, True)
        elif _dispatches_as_usual() and _are_plain(leaves, gradients):
            launcher, taken = self.launchers.find(leaves, None, names)
            if launcher is not None:
                launcher.plain[gradients].guard(leaves)
        else:
            return NotImplemented
        if taken is None:
            return NotImplemented
        result = launcher(taken)
        if result is not NotImplemented:
            self._note_changes(values)
        return result

    def flat(self, values):
        """The tensors and numbers of the operator's arguments, and the names of those that are in lists: these have no part in a launch, but tell which tensor is what."""
        if not self.structs:
            return values, ()
        leaves, names = [], []
        for x in values:
            if isinstance(x, (list, tuple)):
                leaves += x
            elif isinstance(x, str):
                names.append(x)
            else:
                leaves.append(x)
        return leaves, tuple(names)

    def _note_changes(self, values):
        """Counts the changes of what the operator changes, as PyTorch's own operators do."""
        for i in self.changed:
            for x in values[i] if isinstance(values[i], (list, tuple)) else (values[i],):
                if not x.is_inference():
                    torch.autograd.graph.increment_version(x)

    def _bind(self, values, leaves, names):
        """A launcher for values like these, with what it takes of them."""
        function, named = self.function, self.named(values)
        types = self._types(named)
        parts = []
        for name, x in named:
            if name in self.scalars:
                parts.append((name, Scalar(x, types.get(self.scalars[name], self.scalars[name]))))
            else:
                parts.append((name, function._view(name, x, self._mode_of(name))))
        function._check_devices(parts)
        launcher = self.launchers.add(function._bind(parts, self.settings), leaves, names)
        if launcher is None:
            raise self._refused(values)
        return launcher, launcher.take(leaves)

    def _refused(self, values):
        """Why a launcher refuses numbers."""
        types = self._types(self.named(values))
        for name, x in self.named(values):
            if name in self.scalars:
                scalar_bytes(x, types.get(self.scalars[name], self.scalars[name]), "%s of %s" % (name, self.function.name))
        return Error("%s takes none of the numbers that are given" % self.function.name)

    def _mode_of(self, name):
        top = re.split(r"[.\[]", name)[0]
        return next(p["mode"] for p in self.parameters if p["name"] == top)

    def _types(self, named):
        """The element types that tensors, and settings, tell of parameters such as T."""
        types = {n: v for n, v in self.settings.items() if v in sizes}
        for name, x in named:
            leaf = self._leaf(name)
            if isinstance(x, torch.Tensor) and leaf["dtype"] not in sizes:
                types[leaf["dtype"]] = of_torch.get(x.dtype) or "%s of PyTorch" % x.dtype
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
            if not isinstance(x, torch.Tensor):
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


def _at_once(operator, overload):
    """The operator for callers: its launch without PyTorch's dispatcher, which takes several times as long, where that would do nothing but launch."""

    def call(*arguments, **named):
        if not named and not _compiling():
            result = operator.at_once(arguments)
            if result is not NotImplemented:
                return result
        return overload(*arguments, **named)

    return call


def _flattening(operator, flat_call):
    """The operator for callers, who give structs as dicts and arrays of structs as lists."""
    names = [p["name"] for p in operator.parameters]
    structs = operator.structs

    def call(*arguments, **named):
        flat = []
        for i, name in enumerate(names):
            value = arguments[i] if i < len(arguments) else named.get(name)
            if name in structs:
                tensors, of = [], []
                add(name, value, tensors, of)
                flat += tensors, ",".join(of)
            else:
                flat.append(value)
        while flat[-1] is None:  # what has its default is left out at the end, as PyTorch does
            flat.pop()
        return flat_call(*flat)

    def add(name, value, tensors, of):
        if isinstance(value, dict):
            for field, x in value.items():
                add(name + "." + field, x, tensors, of)
        elif isinstance(value, (list, tuple)):
            for i, x in enumerate(value):
                add(name + "[" + str(i) + "]", x, tensors, of)
        else:
            tensors.append(value)
            of.append(name)

    return call
