"""Writes nanogpt.pt beside itself, a checkpoint as nanoGPT's train.py saves it, with the pickles of Python itself and without PyTorch.

The classes below have the names under which PyTorch's own appear in such files. Weights are 0, 1, 2, ... quarters.
"""
import collections
import pathlib
import pickle
import struct
import sys
import types
import zipfile

torch = types.ModuleType("torch")
torch._utils = types.ModuleType("torch._utils")
sys.modules["torch"], sys.modules["torch._utils"] = torch, torch._utils


class FloatStorage:
    pass


def _rebuild_tensor_v2(*args):
    raise NotImplementedError


FloatStorage.__module__, FloatStorage.__qualname__ = "torch", "FloatStorage"
_rebuild_tensor_v2.__module__ = "torch._utils"
torch.FloatStorage, torch._utils._rebuild_tensor_v2 = FloatStorage, _rebuild_tensor_v2


class Storage:
    def __init__(self, values):
        self.values = values


class Tensor:
    def __init__(self, storage, shape, stride, offset=0):
        self.args = (storage, offset, tuple(shape), tuple(stride), False, collections.OrderedDict())

    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, self.args


class Pickler(pickle.Pickler):
    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = []

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        if obj not in self.storages:
            self.storages.append(obj)
        return ("storage", FloatStorage, str(self.storages.index(obj)), "cuda:0", len(obj.values))


count = 0


def tensor(*shape):
    global count
    n = 1
    stride = []
    for d in reversed(shape):
        stride.insert(0, n)
        n *= d
    values = [(count + i) / 4 for i in range(n)]
    count += n
    return Tensor(Storage(values), shape, stride)


L, C, V, P = 1, 4, 8, 6
state = collections.OrderedDict()
state["_orig_mod.transformer.wte.weight"] = tensor(V, C)
state["_orig_mod.transformer.wpe.weight"] = tensor(P, C)
for i in range(L):
    h = f"_orig_mod.transformer.h.{i}."
    state[h + "ln_1.weight"] = tensor(C)
    state[h + "attn.c_attn.weight"] = tensor(3 * C, C)
    state[h + "attn.c_proj.weight"] = tensor(C, C)
    state[h + "ln_2.weight"] = tensor(C)
    state[h + "mlp.c_fc.weight"] = tensor(4 * C, C)
    state[h + "mlp.c_proj.weight"] = tensor(C, 4 * C)
state["_orig_mod.transformer.ln_f.weight"] = tensor(C)
state["_orig_mod.lm_head.weight"] = state["_orig_mod.transformer.wte.weight"]
state._metadata = collections.OrderedDict({"": {"version": 1}})
shared = Storage([float(i) for i in range(12)])
checkpoint = {
    "model": state,
    "optimizer": {"state": {0: {"step": Tensor(Storage([1.0]), (), ()), "transposed": Tensor(shared, (2, 3), (1, 4), 1)}},
                  "param_groups": [{"lr": 6e-4, "betas": (0.9, 0.95), "fused": True, "maximize": False, "params": [0]}]},
    "model_args": {"n_layer": L, "n_head": 2, "n_embd": C, "block_size": P, "bias": False, "vocab_size": V, "dropout": 0.0},
    "iter_num": 70000, "best_val_loss": Tensor(Storage([3.5]), (), ()), "config": {"out_dir": "out", "seed": -1337, "big": 1 << 40, "none": None},
}
path = pathlib.Path(__file__).with_name("nanogpt.pt")
with zipfile.ZipFile(path, "w") as archive:
    def add(name, data):
        archive.writestr(zipfile.ZipInfo("ckpt/" + name), data)
    import io
    text = io.BytesIO()
    pickler = Pickler(text)
    pickler.dump(checkpoint)
    add("data.pkl", text.getvalue())
    add("byteorder", b"little")
    for i, s in enumerate(pickler.storages):
        add(f"data/{i}", struct.pack(f"<{len(s.values)}f", *s.values))
    add("version", b"3\n")
