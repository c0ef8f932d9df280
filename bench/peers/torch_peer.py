"""PyTorch on the workloads of tilec: `tilec bench run --peer torch` runs this.

Each workload is computed in every way that a user of PyTorch has, and the fastest counts.
"""
from conversation import converse

try:
    import torch
    import torch.nn.functional as F

    from tensors import Tensors
except ImportError as problem:
    torch, missing = None, problem


def both(f):
    """A function as it is, and compiled; torch.compile compiles when it is first called."""
    return {"eager": f, "compiled": torch.compile(f, dynamic=False)}


# Products. Weights are in the order in which our kernels have them, and for linear layers also as nn.Linear stores them.


def linear(a):
    x, w = a["x"], a["w"]
    nk = w.t().contiguous()
    return {"matmul": lambda: x @ w, "F.linear": lambda: F.linear(x, nk)}


def linear_bias(a):
    x, w, b = a["x"], a["w"], a["b"]
    nk = w.t().contiguous()
    return {"addmm": lambda: torch.addmm(b, x, w), "F.linear": lambda: F.linear(x, nk, b)}


def linear_gelu(a):
    x, w, b = a["x"], a["w"], a["b"]
    apart = torch.compile(lambda: F.gelu(torch.addmm(b, x, w), approximate="tanh"), dynamic=False)
    return {
        "fused epilogue": lambda: torch._addmm_activation(b, x, w, use_gelu=True),
        "addmm, gelu": lambda: F.gelu(torch.addmm(b, x, w), approximate="tanh"),
        "compiled": apart,
    }


def relu_linear(a):
    x, w, b = a["x"], a["w"], a["b"]
    return {"fused epilogue": lambda: torch._addmm_activation(b, x, w, use_gelu=False), "addmm, relu": lambda: torch.relu(torch.addmm(b, x, w))}


def head(a):  # the result is f32
    x, w = a["x"], a["w"]
    return {"mm to f32": lambda: torch.mm(x, w.t(), out_dtype=torch.float32), "F.linear": lambda: F.linear(x, w)}


def softmax_linear(a):  # what is exponentiated is f32
    x, w = a["x"], a["w"]
    return {"mm to f32, softmax": lambda: F.softmax(torch.mm(x, w, out_dtype=torch.float32), dim=-1).to(x.dtype)}


def fp8_matmul(a):
    x, w = a["x"], a["w"].t().contiguous().t()  # the columns one after the other
    sx, sw = a["sx"][:, None], a["sw"][None, :]
    return {"_scaled_mm": lambda: torch._scaled_mm(x, w, scale_a=sx, scale_b=sw, out_dtype=torch.bfloat16)}


def fp8_matmul_fast(a):
    x, w = a["x"], a["w"].t().contiguous().t()
    sx, sw = a["sx"][:, None], a["sw"][None, :]
    return {"_scaled_mm, fast": lambda: torch._scaled_mm(x, w, scale_a=sx, scale_b=sw, out_dtype=torch.bfloat16, use_fast_accum=True)}


def int8_matmul(a):
    x, w, sx, sw = a["x"], a["w"], a["sx"][:, None], a["sw"][None, :]
    columns = w.t().contiguous().t()
    scaled = lambda w: (torch._int_mm(x, w).float() * sx * sw).to(torch.bfloat16)
    compiled = torch.compile(scaled, dynamic=False)
    return {"_int_mm": lambda: scaled(w), "_int_mm of columns": lambda: scaled(columns), "_int_mm, compiled": lambda: compiled(w), "_int_mm of columns, compiled": lambda: compiled(columns)}


def int8_linear(a):  # weights are widened on their way, or, compiled, where they are multiplied
    x, w, s = a["x"], a["w"], a["sw"]
    return both(lambda: (F.linear(x, w.to(x.dtype)).float() * s).to(x.dtype))


def fp8_linear(a):
    return int8_linear(a)


def int4_linear(a):  # the kernel of its own has another order of weights, and scales with what is added beside them
    x, w, s = a["x"], a["w"], a["sw"]
    n, groups = s.shape

    def unpacked():
        q = torch.stack((w & 15, w >> 4), -1).view(n, groups, -1).to(torch.int32) - 8
        return F.linear(x, (q.to(x.dtype) * s[..., None]).view(n, -1))

    ways = both(unpacked)
    packed = torch.ops.aten._convert_weight_to_int4pack(w >> 4 | w << 4, 8)
    added = torch.stack((s.t(), torch.zeros_like(s.t())), -1).contiguous()
    ways["_weight_int4pack_mm"] = lambda: torch.ops.aten._weight_int4pack_mm(x, packed, x.shape[1] // groups, added)
    return ways


def mxfp4_linear(a):
    x, w, s = a["x"], a["w"], a["sw"]
    n, groups = s.shape
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], device=x.device)

    def unpacked():
        v = levels[torch.stack((w & 15, w >> 4), -1).to(torch.int32)].view(n, groups, 32)
        return F.linear(x, (v * torch.exp2(s.float() - 127)[..., None]).view(n, -1).to(x.dtype))

    return both(unpacked)


def batched_matmul(a):
    return {"bmm": lambda: torch.bmm(a["a"], a["b"])}


def grouped_linear(a):
    x, w, first = a["x"], a["w"], a["first"]
    bounds, ends, columns = first.tolist(), first[1:].contiguous(), w.transpose(-2, -1).contiguous().transpose(-2, -1)
    ways = {"matmul of each": lambda: torch.cat([x[lo:hi] @ w[e] for e, (lo, hi) in enumerate(zip(bounds, bounds[1:]))])}
    if hasattr(torch, "_grouped_mm"):
        ways["_grouped_mm"] = lambda: torch._grouped_mm(x, w, offs=ends)
        ways["_grouped_mm of columns"] = lambda: torch._grouped_mm(x, columns, offs=ends)
    return ways


def product_of_transposed(a):
    return {"matmul": lambda: a["a"].t() @ a["b"]}


def product_with_transposed(a):
    return {"matmul": lambda: a["a"] @ a["b"].t()}


def attention(a):  # ours has the heads inside the positions; the peer gets the order that it likes
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = a["q"].transpose(1, 2).contiguous(), a["k"], a["v"]

    def using(backend):
        def run():
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=a["scale"]).transpose(1, 2)

        return run

    if q.device.type == "cpu":
        return {"math": using(SDPBackend.MATH)}
    return {"flash": using(SDPBackend.FLASH_ATTENTION), "cudnn": using(SDPBackend.CUDNN_ATTENTION)}


# Rows.


def layernorm(a):
    return both(lambda: F.layer_norm(a["x"], a["x"].shape[-1:], a["g"], a["b"]))


def add_layernorm(a):
    def f():
        s = a["x"] + a["r"]
        return s, F.layer_norm(s, s.shape[-1:], a["g"], a["b"])

    return both(f)


def rmsnorm(a):
    return both(lambda: F.rms_norm(a["x"], a["x"].shape[-1:], a["g"], 1e-6))


def softmax(a):
    return both(lambda: F.softmax(a["x"], dim=-1))


def l2norm(a):
    return both(lambda: F.normalize(a["x"], dim=-1, eps=1e-6))


def cross_entropy(a):
    target = a["target"].long()
    return both(lambda: F.cross_entropy(a["logits"].float(), target, reduction="none"))


def row_sum(a):
    return both(lambda: a["x"].sum(1, dtype=torch.float32))


def column_sum(a):
    return both(lambda: a["x"].sum(0, dtype=torch.float32))


def middle_max(a):
    return both(lambda: a["x"].amax(1))


def row_argmax(a):
    return both(lambda: a["x"].argmax(1))


def squares_of_rows(a):
    return both(lambda: (a["x"].float() ** 2).sum(1))


def squared_error(a):
    return both(lambda: F.mse_loss(a["x"], a["y"]))


# Elementwise.


def gelu_map(a):
    return both(lambda: F.gelu(a["x"], approximate="tanh"))


def swiglu(a):
    return both(lambda: F.silu(a["gate"]) * a["up"])


def relu_of(a):
    return both(lambda: torch.relu(a["x"]))


def sigmoid_of(a):
    return both(lambda: torch.sigmoid(a["x"]))


def tanh_of(a):
    return both(lambda: torch.tanh(a["x"]))


def softplus_of(a):
    return both(lambda: F.softplus(a["x"]))


def twice_and_one(a):
    return both(lambda: 2 * a["x"] + 1)


def by_root(a):
    return both(lambda: a["x"] * torch.rsqrt(a["s"].clamp_min(1e-12))[:, None])


def batchnorm(a):
    variance = a["variance"] ** 2
    return both(lambda: F.batch_norm(a["x"], a["mean"], variance, a["g"], a["b"], False, 0.0, 1e-5))


def stencil5(a):
    def f():
        p = F.pad(a["x"], (1, 1, 1, 1))
        return 0.5 * a["x"] + 0.125 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])

    return both(f)


def transpose(a):
    return both(lambda: a["x"].t().contiguous())


def transpose_acb(a):
    return both(lambda: a["x"].permute(0, 2, 1).contiguous())


def transpose_bac(a):
    return both(lambda: a["x"].permute(1, 0, 2).contiguous())


def transpose_cba(a):
    return both(lambda: a["x"].permute(2, 1, 0).contiguous())


def transpose3(a):
    return both(lambda: a["x"].permute(2, 0, 1).contiguous())


# Convolutions. Channels that come last are PyTorch's channels_last format.


def conv3x3(a):
    return {"conv2d": lambda: F.conv2d(a["x"], a["w"], padding=1)}


def conv3x3_last(a):
    x, w = a["x"].permute(0, 3, 1, 2), a["w"].permute(0, 3, 1, 2)
    return {"conv2d, channels last": lambda: F.conv2d(x, w, padding=1).permute(0, 2, 3, 1)}


def conv1x1(a):
    w = a["w"][:, :, None, None]
    return {"conv2d": lambda: F.conv2d(a["x"], w)}


def conv1x1_last(a):
    x, w = a["x"].permute(0, 3, 1, 2), a["w"][:, :, None, None]
    nk = a["w"]
    return {"conv2d, channels last": lambda: F.conv2d(x, w).permute(0, 2, 3, 1), "F.linear": lambda: F.linear(a["x"], nk)}


def depthwise(a):
    w = a["w"][:, None]
    return {"conv2d": lambda: F.conv2d(a["x"], w, padding=1, groups=w.shape[0])}


def depthwise_last(a):
    x, w = a["x"].permute(0, 3, 1, 2), a["w"].permute(2, 0, 1)[:, None].contiguous(memory_format=torch.channels_last)
    return {"conv2d, channels last": lambda: F.conv2d(x, w, padding=1, groups=w.shape[0]).permute(0, 2, 3, 1)}


def bilinear_twice(a):
    return both(lambda: F.interpolate(a["x"], scale_factor=2, mode="bilinear"))


def nearest(a):
    size = (a["rows"].shape[0], a["columns"].shape[0])
    return both(lambda: F.interpolate(a["x"], size=size, mode="nearest"))


def max_pool(a):
    return both(lambda: F.max_pool2d(a["x"], 2))


def resize_twice(a):
    return both(lambda: F.interpolate(a["x"], scale_factor=2, mode="nearest"))


# Orders, counts, places.


def top50(a):
    return {"topk": lambda: torch.topk(a["x"], 50, dim=1)}


def sort_rows(a):
    return {"sort": lambda: torch.sort(a["x"], dim=1)[0]}


def histogram(a):
    x, bins = a["x"], a["counts"].shape[0]
    wide, ones = x.long(), torch.ones_like(x)
    return {
        "bincount": lambda: torch.bincount(x, minlength=bins),
        "histc": lambda: torch.histc(x.float(), bins=bins, min=0, max=max(bins - 1, 1)),
        "scatter_add": lambda: torch.zeros_like(a["counts"]).scatter_add_(0, wide, ones),
    }


def prefix_sum(a):
    return {"cumsum": lambda: torch.cumsum(a["x"], 1)}


def prefix_sum_columns(a):
    return {"cumsum": lambda: torch.cumsum(a["x"], 0)}


def running_max(a):
    return {"cummax": lambda: torch.cummax(a["x"], 1)[0]}


def gather_rows(a):
    return {"index_select": lambda: torch.index_select(a["x"], 0, a["id"]), "embedding": lambda: F.embedding(a["id"], a["x"])}


def scatter_add(a):
    y, x, rows = a["y"], a["x"], a["id"]
    return {"index_add": lambda: y.index_add_(0, rows, x)}


def segment_sum(a):
    x, first = a["x"], a["first"].long()
    lengths = first[1:] - first[:-1]
    of = torch.repeat_interleave(torch.arange(len(lengths), device=x.device), lengths)
    return {
        "segment_reduce": lambda: torch.segment_reduce(x, "sum", offsets=first, axis=0),
        "index_add": lambda: torch.zeros(len(lengths), x.shape[1], device=x.device).index_add_(0, of, x),
    }


def csr_product(a):
    m = torch.sparse_csr_tensor(a["first"], a["column"], a["value"], size=(len(a["first"]) - 1, len(a["x"])))
    return {"CSR @": lambda: m @ a["x"]}


KERNELS = [
    linear, linear_bias, linear_gelu, relu_linear, head, softmax_linear, fp8_matmul, fp8_matmul_fast, int8_matmul, int8_linear, fp8_linear, int4_linear, mxfp4_linear, batched_matmul, grouped_linear, product_of_transposed,
    product_with_transposed, attention, layernorm, add_layernorm, rmsnorm, softmax, l2norm, cross_entropy, row_sum, column_sum, middle_max,
    row_argmax, squares_of_rows, squared_error, gelu_map, swiglu, relu_of, sigmoid_of, tanh_of, softplus_of, twice_and_one, by_root, batchnorm,
    stencil5, transpose, transpose3, transpose_acb, transpose_bac, transpose_cba, conv3x3, conv3x3_last, conv1x1, conv1x1_last, depthwise, depthwise_last, max_pool, resize_twice, bilinear_twice, nearest, top50,
    sort_rows, histogram, prefix_sum, prefix_sum_columns, running_max, gather_rows, scatter_add, segment_sum, csr_product,
]


def open_torch(job):
    if torch is None:
        raise missing
    peer = Tensors(job)
    peer.name = f"PyTorch {torch.__version__}"
    peer.kernels = {f.__name__: f for f in KERNELS}
    forget = peer.forget

    def forget_compiled():
        torch._dynamo.reset()  # or its limit of recompilations ends compiling
        forget()

    peer.forget = forget_compiled
    return peer


if __name__ == "__main__":
    converse(open_torch)
