"""What PyTorch takes for what is no workload of tilec bench: `python3 bench/beyond/peers.py [WORD ...]` prints the medians, in us, of those whose
name has one of the words. Inside CUDA graphs, but for the gradients, which take a millisecond each; the L2 holds what it held. Kernels of this folder
are named as there, and of the sizes of sizes.txt; of what PyTorch has no function for, both what it runs step by step and what torch.compile makes of it."""
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


def normal(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def median(run, times=30):
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    taken = []
    for _ in range(times):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        taken.append(1000 * begin.elapsed_time(end))
    return sorted(taken)[times // 2]


def captured(run):
    torch.cuda.synchronize()  # what it reads is made on another stream
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def attention(name, q, k, v, **options):
    for backend, chosen in BACKENDS.items():
        with sdpa_kernel(chosen):
            yield f"{name}, {backend}", captured(lambda: F.scaled_dot_product_attention(q, k, v, **options))


def gradients(size):
    q, k, v = (normal(4, 16, 4096, size).requires_grad_() for _ in range(3))
    g = normal(4, 16, 4096, size)
    for backend, chosen in BACKENDS.items():
        with sdpa_kernel(chosen):
            yield f"attention 4x16x4096x{size}, {backend}", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            yield f"its gradients, {backend}", lambda: torch.autograd.grad(o, (q, k, v), g, retain_graph=True)


def grouped():
    x, w = normal(4096, 4096), normal(8, 4096, 3584)
    ends = torch.arange(1, 9, device="cuda", dtype=torch.int32) * 512
    yield "experts 4096x8x4096x3584, _grouped_mm, rows in order already", captured(lambda: torch._grouped_mm(x, w, offs=ends, out_dtype=torch.bfloat16))
    names = torch.randint(0, 2048, (4096,), device="cuda")
    yield "the same, rows put in order first", captured(lambda: torch._grouped_mm(x[names], w, offs=ends, out_dtype=torch.bfloat16))


def ways(name, f, *args, compiled=True):
    for way in ("eager", "compiled") if compiled else ("eager",):
        torch._dynamo.reset()
        run = torch.compile(f) if way == "compiled" else f
        yield f"{name}, {way}", captured(lambda: run(*args))


f32 = torch.float


def floats(*shape):
    return normal(*shape, dtype=f32)


def numbers(below, *shape, dtype=torch.long):
    return torch.randint(0, below, shape, device="cuda", dtype=dtype)


def rmsnorm_backward(x, g, dy):
    v = x.float()
    r = torch.rsqrt((v * v).mean(-1, keepdim=True) + 1e-6)
    w = dy.float() * g.float()
    return (r * w - v * (r * r * r * (w * v).mean(-1, keepdim=True))).to(x.dtype), (dy.float() * v * r).sum(0)


def causal_conv(x, w, b):
    p, length = F.pad(x.float(), (0, 0, 3, 0)), x.shape[1]
    return F.silu(b + sum(p[:, i : length + i] * w[:, i] for i in range(4))).to(x.dtype)


def linear_attention(q, k, v):
    b, h, s, d = q.shape
    q, k, v = (t.view(b, h, s // 64, 64, d) for t in (q, k, v))
    state = F.pad((k.transpose(-1, -2) @ v).float().cumsum(2), (0, 0, 0, 0, 1, 0))[:, :, :-1].to(q.dtype)
    return (q @ state + (q @ k.transpose(-1, -2)).tril() @ v).view(b, h, s, d)


def rotary_pairs(x, c, s):
    u, v, c, s = x[..., 0::2].float(), x[..., 1::2].float(), c[None, :, None], s[None, :, None]
    return torch.stack((u * c - v * s, v * c + u * s), -1).flatten(-2).to(x.dtype)


def quantise(x, dim, most, to):
    v = x.float()
    m = v.abs().amax(dim, keepdim=True).clamp(min=1e-12) / most
    return ((v / m) if to.is_floating_point else torch.round(v / m)).to(to), m


def q4_linear(x, w, s, z):
    q = torch.stack((w & 15, w >> 4), -1).view(w.shape[0], -1, 32).float()
    return x @ (q * s[..., None].float() + z[..., None].float()).to(x.dtype).view(w.shape[0], -1).T


def pooled(x, length):
    there = torch.arange(x.shape[1], device="cuda")[None, :] < length[:, None]
    return ((x.float() * there[..., None]).sum(1) / length[:, None]).to(x.dtype)


def scored(name, size, score, window=None):
    q, k, v = (normal(4, 16, 4096, size) for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j < window) if window else i >= j, None, None, 4096, 4096, device="cuda")
    run = torch.compile(flex_attention)
    yield f"{name}, flex_attention", captured(lambda: run(q, k, v, score_mod=score, block_mask=mask, scale=0.1))


def biased():
    q, k, v = (normal(16, 16, 1024, 64) for _ in range(3))
    bias = normal(16, 1024, 1024)
    yield "biased_attention, sdpa", captured(lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None], scale=0.125))
    run = torch.compile(flex_attention)
    yield "biased_attention, flex_attention", captured(lambda: run(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h, i, j], scale=0.125))


def padded():
    q, k, v = (normal(16, 16, 1024, 64) for _ in range(3))
    keep = torch.rand(16, 1, 1, 1024, device="cuda") > 0.2
    yield "padded_attention, sdpa", captured(lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=keep, scale=0.125))


def latent():
    q, kv = normal(64, 128, 576), normal(64, 4096, 576)
    yield from ways("latent, by products", lambda: torch.softmax((q @ kv.transpose(1, 2)).float() * 0.04, -1).to(q.dtype) @ kv[..., :512])


def block_scaled():
    a, b = (normal(4096, 4096).to(torch.float8_e4m3fn) for _ in range(2))
    rows, blocks, one = torch.rand(32, 4096, device="cuda").t(), torch.rand(32, 32, device="cuda"), torch.ones((), device="cuda")
    yield "block_scaled, _scaled_mm", captured(lambda: torch._scaled_mm(a, b.t(), scale_a=rows, scale_b=blocks.t(), out_dtype=torch.bfloat16))
    yield "block_scaled, _scaled_mm of one scale", captured(lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True))


def stem():
    x, w = normal(32, 3, 224, 224), normal(64, 3, 7, 7)
    yield "stem, cudnn", captured(lambda: F.conv2d(x, w, stride=2, padding=3))
    x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))
    yield "stem, cudnn, channels last", captured(lambda: F.conv2d(x, w, stride=2, padding=3))


def weight_gradient():
    x, dy, w = normal(32, 128, 28, 28), normal(32, 128, 28, 28), normal(128, 128, 3, 3)
    yield "conv_weight_gradient, cudnn", captured(lambda: torch.ops.aten.convolution_backward(dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False])[1])


def confusion():
    truth, guess = numbers(100, 1 << 22), numbers(100, 1 << 22)
    ones = torch.ones(1 << 22, dtype=torch.int32, device="cuda")
    yield "confusion, index_add", captured(lambda: torch.zeros(10000, dtype=torch.int32, device="cuda").index_add_(0, truth * 100 + guess, ones))


def folder():
    """The kernels of this folder, by name."""
    x = lambda name, f, *args, **options: (name, lambda: ways(name, f, *args, **options))
    slope = torch.rand(16, device="cuda")
    yield x("causal_conv", causal_conv, normal(8, 2048, 4096), floats(4096, 4), floats(4096))
    yield x("pooled", pooled, normal(64, 1024, 1024), numbers(1024, 64) + 1)
    yield x("linear_states", lambda k, v: k.transpose(-1, -2) @ v, normal(8, 16, 4096, 128), normal(8, 16, 4096, 128))
    yield x("linear_attention", linear_attention, normal(8, 16, 4096, 128), normal(8, 16, 4096, 128), normal(8, 16, 4096, 128))
    yield "softcap_attention", lambda: scored("softcap_attention", 128, lambda s, b, h, i, j: 30 * torch.tanh(s / 30), 1024)
    yield "alibi_attention", lambda: scored("alibi_attention", 64, lambda s, b, h, i, j: s + slope[h] * (j - i))
    yield "padded_attention", padded
    yield "biased_attention", biased
    yield "latent", latent
    yield x("scores_last", lambda q, k: torch.einsum("bhid,bhjd->bijh", q, k).contiguous(), normal(8, 16, 512, 64), normal(8, 16, 512, 64))
    yield x("rotary_pairs", rotary_pairs, normal(8, 4096, 32, 128), floats(4096, 64), floats(4096, 64))
    yield x("lora", lambda x, w, a, b: x @ w + (x @ a) @ b, normal(8192, 4096), normal(4096, 4096), normal(4096, 16), normal(16, 4096))
    yield "block_scaled", block_scaled
    for m in (1, 16, 2048):
        yield x(f"q4_linear {m}", q4_linear, normal(m, 4096), numbers(256, 14336, 2048, dtype=torch.uint8), normal(14336, 128, dtype=torch.half), normal(14336, 128, dtype=torch.half))
    yield x("batched_matvec", lambda a, x: torch.bmm(a, x[:, :, None]), normal(64, 2048, 2048), normal(64, 2048))
    yield x("gram", lambda x: x @ x.T, normal(4096, 4096))
    yield x("cosines", lambda x, y: (x @ y.T).float() * torch.rsqrt((x.float() ** 2).sum(-1))[:, None] * torch.rsqrt((y.float() ** 2).sum(-1)), normal(8192, 256), normal(8192, 256))
    yield x("complex_product", lambda a, b: a @ b, *(torch.randn(1024, 1024, device="cuda", dtype=torch.cfloat) for _ in range(2)), compiled=False)
    yield x("assign", lambda x, c: ((c.float() ** 2).sum(-1) - 2 * (x @ c.T).float()).argmin(-1), normal(131072, 128), normal(1024, 128))
    yield x("nearest", lambda q, x: torch.topk(2 * (q @ x.T).float() - (x.float() ** 2).sum(-1), 8), normal(4096, 128), normal(65536, 128))
    yield x("cdist_l1", lambda x, y: torch.cdist(x, y, p=1.0), floats(4096, 64), floats(4096, 64), compiled=False)
    yield "stem", stem
    yield x("conv_transpose", lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), normal(32, 256, 28, 28), normal(256, 128, 4, 4), compiled=False)
    yield "conv_weight_gradient", weight_gradient
    yield x("dilated", lambda x, w: F.conv1d(x, w, padding=4, dilation=4), normal(16, 256, 8192), normal(256, 256, 3), compiled=False)
    yield x("patches", lambda x: F.unfold(x, 3, padding=1).transpose(1, 2).contiguous(), normal(32, 64, 56, 56))
    yield x("pool_where", lambda x: F.max_pool2d(x, 2, return_indices=True), normal(64, 64, 224, 224))
    yield x("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), normal(32, 256, 128, 128))
    yield x("grid_sample", lambda x, at: F.grid_sample(x, at, align_corners=True), floats(8, 64, 128, 128), torch.rand(8, 128, 128, 2, device="cuda") * 2 - 1)
    yield x("normalise", lambda x, m, s: ((x.float() / 255 - m) / s).permute(0, 3, 1, 2).contiguous(), numbers(256, 64, 512, 512, 3, dtype=torch.uint8), floats(3), floats(3))
    yield x("group_norm", lambda x, g, b: F.group_norm(x, 32, g, b), normal(32, 256, 64, 64), normal(256), normal(256))
    yield x("channel_norm", lambda x, g, b: F.layer_norm(x.float().transpose(1, 2), (256,), g, b, 1e-6).transpose(1, 2).to(x.dtype).contiguous(), normal(64, 256, 3136), floats(256), floats(256))
    yield x("channel_mean", lambda x: x.float().mean((0, 2)), normal(64, 256, 3136))
    yield x("softmax_channels", lambda x: F.softmax(x, 1), normal(64, 256, 3136))
    yield x("argmax_channels", lambda x: x.argmax(1), normal(64, 256, 3136))
    yield x("softmax_backward", lambda y, d: (y.float() * (d.float() - (y.float() * d.float()).sum(-1, keepdim=True))).to(y.dtype), normal(8192, 4096), normal(8192, 4096))
    yield x("rmsnorm_backward", rmsnorm_backward, normal(8192, 4096), normal(4096), normal(8192, 4096))
    yield x("quantise_blocks", lambda x: quantise(x.view(8192, 32, 128), -1, 448, torch.float8_e4m3fn), normal(8192, 4096))
    yield x("quantise_columns", lambda x: quantise(x, 0, 127, torch.int8), normal(8192, 4096))
    yield x("glu", lambda x: F.glu(x), normal(8192, 8192))
    yield x("sinkhorn_rows", lambda x: F.log_softmax(x, -1), floats(64, 1024, 1024))
    yield x("sinkhorn_columns", lambda x: F.log_softmax(x, -2), floats(64, 1024, 1024))
    yield x("logcumsumexp", lambda x: torch.logcumsumexp(x, -1), floats(4096, 4096))
    yield x("cumulative_product", lambda x: torch.cumprod(x, -1), floats(4096, 4096))
    yield x("column_variance", lambda x: torch.var_mean(x, 0, unbiased=False), floats(65536, 1024))
    yield x("bag", lambda t, ids, first: F.embedding_bag(ids, t, first, mode="sum"), normal(100000, 128), numbers(100000, 65536), torch.arange(0, 65536, 32, device="cuda"), compiled=False)
    yield x("take_along", lambda x, at: torch.gather(x, 1, at), normal(8192, 4096), numbers(4096, 8192, 1024))
    yield x("add_rows", lambda y, ids, x: y.index_add_(0, ids, x), torch.zeros(100000, 128, device="cuda"), numbers(100000, 131072), floats(131072, 128), compiled=False)
    yield x("embedding_gradient", lambda ids, dy: torch.zeros(50257, 768, device="cuda").index_add_(0, ids, dy.float()), numbers(50257, 8192), normal(8192, 768))
    yield "confusion", confusion
    yield x("search", lambda s, x: torch.searchsorted(s, x), torch.arange(1 << 20, device="cuda", dtype=f32), floats(1 << 22))


def cases():
    yield from folder()
    for size in (64, 128):
        yield "gradients", lambda size=size: gradients(size)
    yield "groups", lambda: attention("groups 4x32(8)x4096x128", normal(4, 32, 4096, 128), normal(4, 8, 4096, 128), normal(4, 8, 4096, 128), is_causal=True, enable_gqa=True)
    for texts in (16, 64):
        yield "decode", lambda texts=texts: attention(f"decode {texts}x32(8)x1x4096x128", normal(texts, 32, 1, 128), normal(texts, 8, 4096, 128), normal(texts, 8, 4096, 128), enable_gqa=True)
    yield "experts", grouped
    yield "dropout", lambda: iter([("dropout 8192x4096", captured(torch.compile(lambda x=normal(8192, 4096): F.dropout(x, 0.1))))])


def main():
    torch.backends.cudnn.benchmark = True
    for family, make in cases():
        if len(sys.argv) > 1 and not any(word in family for word in sys.argv[1:]):
            continue
        try:
            with torch.enable_grad() if family == "gradients" else torch.no_grad():
                for name, run in make():
                    print(f"{name}: {median(run):.1f}", flush=True)
        except Exception as wrong:  # one that this PyTorch does not have leaves the others
            print(f"{family}: {str(wrong).splitlines()[0][:160]}", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
