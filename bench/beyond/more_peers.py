"""What PyTorch takes for serving, training, modern, science and vision.tile, as peers.py says it of the other files: `python3 bench/beyond/more_peers.py
[WORD ...]` prints `name: median us` of those whose name has one of the words, of the sizes and types of sizes.txt, inside CUDA graphs. `name, eager` is
what PyTorch runs step by step, `name, compiled` what torch.compile makes of it (WAYS names one of both); what fails is printed with its error. After LIMIT
seconds (230) what is left is named and not run."""
import os
import sys
import time

import torch
import torch.nn.functional as F

from peers import captured, median

try:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
except Exception:
    pass

LIMIT = float(os.environ.get("LIMIT", 230))
BF, F32, I32, F8 = torch.bfloat16, torch.float, torch.int32, torch.float8_e4m3fn
CASES = []


def n(*shape, dtype=BF):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def f(*shape):
    return n(*shape, dtype=F32)


def u(*shape, dtype=F32):
    return torch.rand(*shape, device="cuda").to(dtype)


def ints(below, *shape, dtype=torch.long, low=0):
    return torch.randint(low, below, shape, device="cuda", dtype=dtype)


def ones(*shape, value=1.0):
    return torch.full(shape, value, device="cuda")


def ar(m, dtype=torch.long):
    return torch.arange(m, device="cuda", dtype=dtype)


def ways(name, fn, args, eager=True, compiled=True):
    asked = os.environ.get("WAYS", "eager compiled").split()
    eager, compiled = eager and "eager" in asked, compiled and "compiled" in asked
    if eager:
        yield f"{name}, eager", lambda: captured(lambda: fn(*args))
    if compiled:

        def make():
            torch._dynamo.reset()
            run = torch.compile(fn, dynamic=False)
            return captured(lambda: run(*args))

        yield f"{name}, compiled", make


def case(name, fn, args, **options):
    """args: a function that makes the arguments."""
    CASES.append((name, lambda: ways(name, fn, args(), **options)))


def only(name, fn, args):
    """Where PyTorch has one function for it."""
    case(name, fn, args, compiled=False)


def case_of(name):
    def add(make):
        CASES.append((name, make))
        return make

    return add


def flex(name, shape, score=None, mask=None, kv=None, **options):
    def make():
        b, h, s, d = shape
        q = n(b, h, s, d)
        k, v = (n(*(kv or shape)) for _ in range(2))
        block = create_block_mask(mask, b if options.pop("by_batch", False) else None, None, s, k.shape[2], device="cuda") if mask else None
        run = torch.compile(flex_attention, dynamic=False)
        return captured(lambda: run(q, k, v, score_mod=score, block_mask=block, **options))

    yield f"{name}, flex_attention", make


def sdpa(name, q, k, v, **options):
    for word in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION"):

        def make(word=word):
            with sdpa_kernel(getattr(SDPBackend, word)):
                return captured(lambda: F.scaled_dot_product_attention(q, k, v, **options))

        yield f"{name}, sdpa {word.split('_')[0].lower()}", make


# ---- serving ------------------------------------------------------------------------------------------------------------------------------


def cache_write_f8(k, v, slot, kc, vc):
    kc.view(torch.uint8)[slot // 16, :, slot % 16] = (k.float() / 0.5).clamp(-448, 448).to(F8).view(torch.uint8)
    vc.view(torch.uint8)[slot // 16, :, slot % 16] = (v.float() / 0.5).clamp(-448, 448).to(F8).view(torch.uint8)


def rope_neox(pos, cache, q):
    c, s = cache[pos][:, None, :32], cache[pos][:, None, 32:]
    a, b = q[..., :32].float(), q[..., 32:64].float()
    q[..., :64] = torch.cat((a * c - b * s, b * c + a * s), -1).to(q.dtype)
    return q


def rope_pairs(pos, cache, q):
    c, s = cache[pos][:, None, :32], cache[pos][:, None, 32:]
    a, b = q[..., 0:64:2].float(), q[..., 1:64:2].float()
    return torch.cat((torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2).to(q.dtype), q[..., 64:]), -1)


def rms(v, g, eps=1e-6):
    return v * torch.rsqrt((v * v).mean(-1, keepdim=True) + eps) * g.float()


def qk_norm_rope(pos, cache, g, q):
    v = rms(q.float(), g)
    c, s = cache[pos][:, None, :64], cache[pos][:, None, 64:]
    a, b = v[..., :64], v[..., 64:]
    return torch.cat((a * c - b * s, b * c + a * s), -1).to(q.dtype)


def to_f8(v):
    a = v.abs().amax(-1, keepdim=True).clamp(min=1e-10) / 448
    return (v / a).clamp(-448, 448).to(F8), a


def to_i8(v):
    a = v.abs().amax(-1, keepdim=True).clamp(min=1e-10) / 127
    return torch.round(v / a).to(torch.int8), a


def add_rmsnorm(x, g, res):
    r = x + res
    res.copy_(r)
    return rms(r.float(), g).to(x.dtype)


def add_rmsnorm_i8(x, g, res):
    t = x.float() + res.float()
    return t.to(x.dtype), *to_i8(rms(t, g))


def silu_mul(x):
    a, b = x.chunk(2, -1)
    return F.silu(a.float()) * b.float()


def moe_gate(l):
    w, at = torch.topk(torch.softmax(l.float(), -1), 8)
    return w / w.sum(-1, keepdim=True), at


def moe_gate_groups(l, bias):
    p = torch.sigmoid(l)
    c = (p + bias).view(l.shape[0], 8, -1)
    chosen = c.topk(2, -1).values.sum(-1).topk(4).indices
    keep = torch.zeros(l.shape[0], 8, dtype=torch.bool, device=l.device).scatter_(1, chosen, True)
    at = c.masked_fill(~keep[..., None], -torch.inf).flatten(1).topk(8).indices
    w = p.gather(1, at)
    return 2.5 * w / w.sum(-1, keepdim=True), at


def awq_dequant(qw, qz, s):
    shift = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], device=qw.device) * 4
    q = ((qw[:, :, None] >> shift) & 15).flatten(1)
    z = ((qz[:, :, None] >> shift) & 15).flatten(1)
    return ((q.view(-1, 128, q.shape[1]) - z[:, None]).float() * s[:, None].float()).to(BF).flatten(0, 1)


def gptq_linear(x, qw, qz, s):
    shift = torch.arange(8, device=qw.device) * 4
    q = ((qw[:, None] >> shift[:, None]) & 15).flatten(0, 1)
    z = ((qz[:, :, None] >> shift) & 15).flatten(1) + 1
    return x @ ((q.view(-1, 128, q.shape[1]) - z[:, None]).to(x.dtype) * s[:, None]).flatten(0, 1)


def penalise(counts, prompt, rep, freq, pres, temp, logits):
    seen = (counts > 0) | prompt
    l = torch.where(seen, torch.where(logits > 0, logits / rep[:, None], logits * rep[:, None]), logits)
    l = l - freq[:, None] * counts - torch.where(counts > 0, pres[:, None], 0)
    return logits.copy_(l / temp[:, None])


def token_logprobs(logits, token):
    l = logits.float()
    t = l.gather(1, token[:, None])
    return t[:, 0] - torch.logsumexp(l, -1), 1 + (l > t).sum(-1)


def min_p_probs(logits, temp, min_p):
    l = logits.float() / temp[:, None]
    e = torch.exp(l - l.amax(-1, keepdim=True))
    e = torch.where(e >= min_p[:, None], e, 0)
    return e / e.sum(-1, keepdim=True)


def accept_drafts(draft, q, p):
    a, b = q.gather(2, draft[..., None])[..., 0], p.gather(2, draft[..., None])[..., 0]
    ok = (torch.rand_like(a) * a <= b).int().cumprod(1)
    return ok.sum(1), ok.bool()


def recover_tokens(q, p):
    return ((p - q).clamp(min=0) / -torch.log(torch.rand_like(p).clamp(min=1e-20))).argmax(-1)


def beam_step(logits, score):
    lp = torch.log_softmax(logits.float(), -1) + score[..., None]
    best, at = lp.flatten(1).topk(8)
    return best, at // logits.shape[-1], at % logits.shape[-1]


def decode_i8(q, kc, ks, vc, vs):
    s = torch.einsum("bhgd,bphd->bhgp", q, kc.to(q.dtype)).float() * ks.permute(0, 2, 1)[:, :, None] * 0.001
    p = torch.softmax(s, -1) * vs.permute(0, 2, 1)[:, :, None]
    return torch.einsum("bhgp,bphd->bhgd", p.to(q.dtype), vc.to(q.dtype))


def merge_states(a, la, b, lb):
    m = torch.maximum(la, lb)
    x, y = torch.exp(la - m), torch.exp(lb - m)
    return ((a.float() * x[..., None] + b.float() * y[..., None]) / (x + y)[..., None]).to(a.dtype), m + torch.log(x + y)


def w8a8_linear(x, w, sx, sw, b, r):
    return (torch._int_mm(x, w.t()).float() * sx[:, None] * sw + b.float() + r.float()).to(BF)


def ssd_step(x, dt, a, bs, cs, skip, state):
    state.copy_(torch.exp(dt * a)[..., None, None] * state + (dt[..., None] * x.float())[..., None] * bs[:, None, None].float())
    return ((state * cs[:, None, None].float()).sum(-1) + skip[:, None] * x.float()).to(x.dtype)


def conv_step(x, w, bias, state):
    t = torch.cat((state, x[..., None]), -1)
    state.copy_(t[..., 1:])
    return F.silu((t.float() * w).sum(-1) + bias).to(x.dtype)


def delta_step(q, k, v, g, beta, state):
    s = torch.exp(g)[..., None, None] * state
    d = beta[..., None] * (v.float() - (s * k.float()[..., None]).sum(-2))
    s = s + k.float()[..., None] * d[..., None, :]
    state.copy_(s)
    return (s * q.float()[..., None]).sum(-2).to(q.dtype)


def pad_tokens(x, first):
    at = first[:-1, None] + torch.arange(512, device=x.device)
    return torch.where((at < first[1:, None])[..., None], x[at.clamp(max=x.shape[0] - 1)], 0)


def f8_zeros(*shape):
    return torch.zeros(*shape, device="cuda", dtype=F8)


case("cache_write_f8", cache_write_f8, lambda: (n(32768, 8, 128), n(32768, 8, 128), ar(32768), f8_zeros(2048, 8, 16, 128), f8_zeros(2048, 8, 16, 128)))
case("rope_neox", rope_neox, lambda: (ints(8192, 16384), f(8192, 64), n(16384, 32, 128)))
case("rope_pairs", rope_pairs, lambda: (ints(8192, 16384), f(8192, 64), n(16384, 32, 128)))
case("qk_norm_rope", qk_norm_rope, lambda: (ints(8192, 16384), f(8192, 128), n(128), n(16384, 32, 128)))
case("rmsnorm_f8", lambda x, g: to_f8(rms(x.float(), g)), lambda: (n(16384, 4096), n(4096)))
case("add_rmsnorm", add_rmsnorm, lambda: (n(8192, 4096), n(4096), n(8192, 4096)))
case("add_rmsnorm_i8", add_rmsnorm_i8, lambda: (n(8192, 4096), n(4096), n(8192, 4096)))
case("silu_mul_f8", lambda x: to_f8(silu_mul(x)), lambda: (n(4096, 28672),))
case("silu_mul_f8_groups", lambda x: to_f8(silu_mul(x).view(4096, 112, 128)), lambda: (n(4096, 28672),))
case("moe_gate", moe_gate, lambda: (n(65536, 256),))
case("moe_gate_groups", moe_gate_groups, lambda: (f(65536, 256), f(256)))
case("moe_permute", lambda x, row, y: y.index_copy_(0, row.flatten(), x.repeat_interleave(4, 0)), lambda: (n(8192, 4096), ar(32768).view(8192, 4), n(32768, 4096)))
case("moe_unpermute", lambda h, row, w, sh: ((h[row].float() * w[..., None]).sum(1) + sh.float()).to(BF), lambda: (n(32768, 4096), ints(32768, 8192, 4), f(8192, 4), n(8192, 4096)))
case("awq_dequant", awq_dequant, lambda: (ints(1 << 31, 8192, 1024, dtype=I32), ints(1 << 31, 64, 1024, dtype=I32), n(64, 8192, dtype=torch.half)))
for m in (16, 2048):
    case(f"gptq_linear M={m}", gptq_linear, lambda m=m: (n(m, 4096), ints(1 << 31, 512, 14336, dtype=I32), ints(1 << 31, 32, 1792, dtype=I32), n(32, 14336)))
case("penalise", penalise, lambda: (ints(3, 256, 128256, dtype=I32), ints(2, 256, 128256).bool(), ones(256, value=1.1), f(256), f(256), ones(256, value=0.7), f(256, 128256)))
case("token_logprobs", token_logprobs, lambda: (n(1024, 128256), ints(128256, 1024)))
case("min_p_probs", min_p_probs, lambda: (n(256, 128256), ones(256, value=0.7), ones(256, value=0.1)))
case("accept_drafts", accept_drafts, lambda: (ints(1024, 4096, 5), u(4096, 5, 1024), u(4096, 5, 1024)))
case("recover_tokens", recover_tokens, lambda: (u(64, 4, 128256), u(64, 4, 128256)))
case("beam_step", beam_step, lambda: (n(64, 4, 128256), f(64, 4)))
case("last_tokens", lambda x, first, g: rms(x[first[1:] - 1].float(), g).to(x.dtype), lambda: (n(16384, 4096), torch.arange(0, 16385, 64, device="cuda"), n(4096)))
case("decode_i8", decode_i8, lambda: (n(64, 8, 4, 128), ints(127, 64, 4096, 8, 128, dtype=torch.int8, low=-127), u(64, 4096, 8), ints(127, 64, 4096, 8, 128, dtype=torch.int8, low=-127), u(64, 4096, 8)))
CASES.append(("decode_groups", lambda: sdpa("decode_groups", n(64, 32, 1, 128), n(64, 8, 4096, 128), n(64, 8, 4096, 128), enable_gqa=True, scale=0.088)))


@case_of("sink_attention")
def sink_attention():
    def make():
        q, k, v = (n(4, 16, 4096, 64) for _ in range(3))
        sink = f(16)
        block = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j < 128), None, None, 4096, 4096, device="cuda")

        def run(q, k, v, sink):
            o, lse = flex_attention(q, k, v, block_mask=block, scale=0.125, return_lse=True)
            return (o * torch.sigmoid(lse - sink[:, None])[..., None]).to(q.dtype)

        fast = torch.compile(run, dynamic=False)
        return captured(lambda: fast(q, k, v, sink))

    yield "sink_attention, flex_attention", make


CASES.append(("streaming_attention", lambda: flex("streaming_attention", (4, 16, 4096, 128), mask=lambda b, h, i, j: (i >= j) & ((i - j < 1024) | (j < 4)), scale=0.088)))
CASES.append(("cross_attention", lambda: sdpa("cross_attention", n(16, 512, 16, 64).transpose(1, 2), n(16, 1500, 16, 64).transpose(1, 2), n(16, 1500, 16, 64).transpose(1, 2), scale=0.125)))


@case_of("prefix_attention")
def prefix_attention():
    prefix = torch.tensor([100, 1000, 2000, 4096], device="cuda")
    yield from flex("prefix_attention", (4, 16, 4096, 128), mask=lambda b, h, i, j: (i >= j) | (j < prefix[b]), by_batch=True, scale=0.088)


@case_of("bucket_attention")
def bucket_attention():
    table = f(32, 16)

    def score(s, b, h, i, j):
        far = j - i
        m = torch.abs(far)
        large = 8 + (torch.log(m.float().clamp(min=1) / 8) / 2.772588722 * 8).to(torch.int32)
        return s + table[torch.where(m < 8, m, torch.clamp(large, max=15)) + torch.where(far > 0, 16, 0), h]

    yield from flex("bucket_attention", (8, 16, 2048, 64), score=score, scale=1.0)


@case_of("tree_attention")
def tree_attention():
    mask = torch.zeros(64, 4096, dtype=torch.bool, device="cuda")
    mask[:, :4000] = True
    mask[:, 4000:4064] = ints(2, 64, 64).bool()
    yield from sdpa("tree_attention", n(32, 32, 64, 128), n(32, 32, 4096, 128), n(32, 32, 4096, 128), attn_mask=mask, scale=0.088)


@case_of("chunked_prefill")
def chunked_prefill():
    q, kc, vc = n(4096, 32, 128), n(4096, 16, 8, 128), n(4096, 16, 8, 128)
    table, before = ints(4096, 4, 256), (0, 1000, 2000, 3000)
    masks = [ar(m + 1024)[None] <= ar(1024)[:, None] + m for m in before]

    def run():
        out = []
        for s, m in enumerate(before):
            pages = table[s, : (m + 1024 + 15) // 16]
            k, v = (c[pages].flatten(0, 1)[: m + 1024].transpose(0, 1)[None] for c in (kc, vc))
            out.append(F.scaled_dot_product_attention(q[1024 * s : 1024 * s + 1024].transpose(0, 1)[None], k, v, attn_mask=masks[s], enable_gqa=True, scale=0.088))
        return out

    yield "chunked_prefill, sdpa for each", lambda: captured(run)


case("merge_states", merge_states, lambda: (n(16384, 32, 128), f(16384, 32), n(16384, 32, 128), f(16384, 32)))
case("bgmv_shrink", lambda x, a, w: torch.bmm(a[w], x[..., None])[..., 0].float(), lambda: (n(256, 4096), n(64, 16, 4096), ints(64, 256)))
case("bgmv_expand", lambda h, w, at, y: y.add_((2 * torch.bmm(w[at].float(), h[..., None])[..., 0]).to(BF)), lambda: (f(256, 16), n(64, 4096, 16), ints(64, 256), n(256, 4096)))


@case_of("sgmv_shrink")
def sgmv_shrink():
    x, a, ends = n(8192, 4096), n(8, 16, 4096), torch.tensor([1000, 1500, 1501, 4000, 4000, 6000, 8000, 8192], device="cuda", dtype=I32)
    yield "sgmv_shrink, _grouped_mm", lambda: captured(lambda: torch._grouped_mm(x, a.transpose(1, 2), offs=ends, out_dtype=BF))


case("w8a8_linear", w8a8_linear, lambda: (ints(127, 4096, 4096, dtype=torch.int8, low=-127), ints(127, 4096, 4096, dtype=torch.int8, low=-127), u(4096), u(4096), n(4096), n(4096, 4096)))
case("ssd_step", ssd_step, lambda: (n(128, 64, 64), u(128, 64), f(64), n(128, 128), n(128, 128), f(64), f(128, 64, 64, 128)))
case("conv_step", conv_step, lambda: (n(2048, 8192), f(8192, 4), f(8192), n(2048, 8192, 3)))
case("delta_step", delta_step, lambda: (n(128, 32, 128), n(128, 32, 128), n(128, 32, 128), f(128, 32), f(128, 32), f(128, 32, 128, 128)))
case("copy_pages", lambda a, at, to: to.index_copy_(0, at[1], a[at[0]]), lambda: (n(4096, 16, 1024), torch.stack((torch.randperm(4096)[:2048], torch.randperm(4096)[:2048])).cuda(), n(4096, 16, 1024)))
case("pad_tokens", pad_tokens, lambda: (n(16384, 1024), torch.arange(0, 16385, 256, device="cuda")))

# ---- training -----------------------------------------------------------------------------------------------------------------------------


def adamw_master(g, scale, p, m, v):
    d = g.float() * scale
    m.mul_(0.9).add_(d, alpha=0.1)
    v.mul_(0.95).addcmul_(d, d, value=0.05)
    p.mul_(1 - 1e-4).sub_(1e-3 * (m / (1 - 0.9**10)) / (torch.sqrt(v / (1 - 0.95**10)) + 1e-8))
    return p.to(BF)


def sgd_nesterov(g, p, m):
    d = g.float().clamp(-1, 1)
    m.mul_(0.9).add_(d)
    p.sub_(1e-2 * (d + 0.9 * m))


def clip_to_norm(total, g):
    return g.copy_(g.float() * torch.clamp(1 / (torch.sqrt(total) + 1e-6), max=1))


def layernorm_backward(x, dy, g, mu, rstd):
    return torch.ops.aten.native_layer_norm_backward(dy, x, [4096], mu, rstd, g, g, [True, True, True])


def swiglu_backward(x, dy):
    g, w = (t.float() for t in x.chunk(2, -1))
    d, s = dy.float(), torch.sigmoid(g)
    return torch.cat((d * w * s * (1 + g * (1 - s)), d * g * s), -1).to(x.dtype)


def xent_backward(logits, target, lse, dloss):
    p = torch.exp(logits.float() - lse[:, None])
    q = torch.where(ar(logits.shape[1])[None] == target[:, None], 0.9, 0.0) + 0.1 / logits.shape[1]
    return torch.where(target[:, None] == -100, 0, dloss[:, None] * (p - q)).to(logits.dtype)


def kl(s, t):
    a, b = torch.log_softmax(s.float() / 2, -1), torch.log_softmax(t.float() / 2, -1)
    return (b.exp() * (b - a)).sum(-1)


def focal(x, y):
    v, t = x.float(), y.float()
    p = torch.sigmoid(v)
    pt = p * t + (1 - p) * (1 - t)
    return ((0.25 * t + 0.75 * (1 - t)) * (1 - pt) ** 2 * F.binary_cross_entropy_with_logits(v, t, reduction="none")).sum()


def triplet(a, p, m):
    x, y = a.float() - p.float(), a.float() - m.float()
    return (x.square().sum(-1).sqrt() - y.square().sum(-1).sqrt() + 0.2).clamp(min=0)


def answer_logp(logits, token, mask):
    l = logits.float()
    return ((l.gather(2, token[..., None])[..., 0] - torch.logsumexp(l, -1)) * mask).sum(-1)


def dropout_add_norm(x, res, g, b):
    t = res.float() + F.dropout(x.float(), 0.1)
    return t.to(BF), F.layer_norm(t, (4096,), g.float(), b.float()).to(BF)


def rope_backward(dy, c, s):
    a, b = dy[..., :64].float(), dy[..., 64:].float()
    c, s = c[:, None], s[:, None]
    return torch.cat((a * c + b * s, b * c - a * s), -1).to(dy.dtype)


def bn_backward(x, dy, g, mu, rstd):
    return torch.ops.aten.native_batch_norm_backward(dy, x, g, None, None, mu, rstd, True, 1e-5, [True, True, True])


def l2_backward(x, dy):
    v, d = x.float(), dy.float()
    r = torch.rsqrt((v * v).sum(-1, keepdim=True))
    return (r * (d - v * (r * r * (v * d).sum(-1, keepdim=True)))).to(x.dtype)


def hidden_gradient(dy, w, h):
    v = h.float()
    s = torch.sigmoid(1.702 * v)
    return ((dy @ w).float() * (s * (1 + 1.702 * v * (1 - s)))).to(BF)


def weight_gradient(x, dy):
    return torch.mm(dy.t(), x)  # in bf16: f32 out of bf16 is out_dtype of recent versions


def weight_gradient_f32(x, dy):
    return torch.mm(dy.t(), x, out_dtype=F32)


def gae(r, v, done):
    out, last = [], torch.zeros_like(r[:, 0])
    for t in range(r.shape[1] - 1, -1, -1):
        go = 1 - done[:, t]
        last = r[:, t] + 0.99 * v[:, t + 1] * go - v[:, t] + 0.99 * 0.95 * go * last
        out.append(last)
    return torch.stack(out[::-1], 1)


def ppo(logp, old, adv, mask):
    r = torch.exp(logp - old)
    l = -torch.minimum(r * adv, r.clamp(0.8, 1.2) * adv)
    return (l * mask).sum(), ((torch.abs(r - 1) > 0.2) & mask).sum()


def quantise_state(x):
    v = x.view(-1, 256)
    a = v.abs().amax(-1, keepdim=True)
    return torch.round(v / a.clamp(min=1e-30) * 127).to(torch.int8), a


def adam8(g, p, m, v, sm, sv):
    d = g.view(-1, 256)
    m2 = 0.9 * (m.view(-1, 256).float() / 127 * sm[:, None]) + 0.1 * d
    v2 = 0.95 * (v.view(-1, 256).float() / 255 * sv[:, None]) + 0.05 * d * d
    xm, xv = m2.abs().amax(-1).clamp(min=1e-30), v2.amax(-1).clamp(min=1e-30)
    p.view(-1, 256).sub_(1e-3 * m2 / (torch.sqrt(v2) + 1e-8))
    m.view(-1, 256).copy_(torch.round(m2 / xm[:, None] * 127))
    v.view(-1, 256).copy_(torch.round(v2 / xv[:, None] * 255))
    sm.copy_(xm)
    sv.copy_(xv)


def adafactor(g, r, c):
    s = g.float().square() + 1e-30
    r.mul_(0.9).add_(s.mean(1), alpha=0.1)
    c.mul_(0.9).add_(s.mean(0), alpha=0.1)


M24 = 1 << 24
case("adamw_master", adamw_master, lambda: (n(M24), u(1), f(M24), f(M24), u(M24)))
case("sgd_nesterov", sgd_nesterov, lambda: (n(2 * M24), f(2 * M24), f(2 * M24)))
case("norm_squared", lambda g: g.float().square().sum(), lambda: (n(8 * M24),))
only("norm_of", lambda g: torch.linalg.vector_norm(g, dtype=F32), lambda: (n(8 * M24),))
case("clip_to_norm", clip_to_norm, lambda: (ones(1, value=100.0), n(4 * M24)))
case("ema_weights", lambda w, e: e.mul_(0.999).add_(w.float(), alpha=0.001), lambda: (n(2 * M24), f(2 * M24)))
only("layernorm_backward", layernorm_backward, lambda: (n(16384, 4096), n(16384, 4096), n(4096), f(16384, 1), u(16384, 1)))
only("gelu_backward", lambda x, dy: torch.ops.aten.gelu_backward(dy, x, approximate="tanh"), lambda: (n(8192, 4096), n(8192, 4096)))
case("swiglu_backward", swiglu_backward, lambda: (n(4096, 16384), n(4096, 8192)))
case("geglu", lambda x: (F.gelu(x[:, :4096].float()) * x[:, 4096:].float()).to(BF), lambda: (n(8192, 8192),))
case("cross_entropy_smooth", lambda l, t: F.cross_entropy(l.float(), t, label_smoothing=0.1, reduction="none"), lambda: (n(4096, 50257), ints(50257, 4096)))
case("cross_entropy_smooth_backward", xent_backward, lambda: (n(4096, 50257), ints(50257, 4096), ones(4096, value=11.0), f(4096)))
case("kl_divergence", kl, lambda: (n(2048, 50257), n(2048, 50257)))
case("focal_loss", focal, lambda: (n(262144, 80), ints(2, 262144, 80).bool()))
case("info_nce", lambda a, b, t: F.cross_entropy((a @ b.t()).float() / 5, t, reduction="none"), lambda: (n(16384, 512), n(16384, 512), ar(16384)))
case("triplet", triplet, lambda: (n(65536, 512), n(65536, 512), n(65536, 512)))
case("answer_logp", answer_logp, lambda: (n(4, 1024, 50257), ints(50257, 4, 1024), ints(2, 4, 1024).bool()))
case("dropout_add_norm", dropout_add_norm, lambda: (n(8192, 4096), n(8192, 4096), n(4096), n(4096)))
case("rope_backward", rope_backward, lambda: (n(8, 4096, 32, 128), f(4096, 64), f(4096, 64)))
case("bias_gradient", lambda dy: dy.sum(0, dtype=F32), lambda: (n(65536, 2048),))
only("batchnorm", lambda x, g, b, m, v: torch.ops.aten.cudnn_batch_norm(x, g, b, m, v, True, 0.1, 1e-5), lambda: (n(64, 256, 56, 56), f(256), f(256), f(256), u(256)))
only("batchnorm_last", lambda x, g, b: F.batch_norm(x, None, None, g, b, True), lambda: (n(64, 256, 56, 56).to(memory_format=torch.channels_last), f(256), f(256)))
only("batchnorm_backward", bn_backward, lambda: (n(64, 256, 56, 56), n(64, 256, 56, 56), f(256), f(256), u(256)))
case("instance_norm", lambda x, g, b: F.instance_norm(x.float(), weight=g, bias=b).to(BF), lambda: (n(64, 256, 56, 56), f(256), f(256)))
case("group_norm_silu", lambda x, g, b: F.silu(F.group_norm(x.permute(0, 2, 1).float(), 32, g, b)).permute(0, 2, 1).to(BF), lambda: (n(32, 4096, 320), f(320), f(320)))
case("weight_norm", lambda v, g: (v.float() * (g * torch.rsqrt(v.float().square().sum(1)))[:, None]).to(BF), lambda: (n(8192, 4096), f(8192)))
case("l2_normalise", lambda x: F.normalize(x.float(), dim=-1).to(BF), lambda: (n(65536, 512),))
case("l2_normalise_backward", l2_backward, lambda: (n(65536, 512), n(65536, 512)))
case("cosine_loss", lambda x, y: 1 - F.cosine_similarity(x.float(), y.float(), dim=-1), lambda: (n(65536, 512), n(65536, 512)))
only("mish_map", F.mish, lambda: (n(4 * M24),))
only("hardswish_map", F.hardswish, lambda: (n(4 * M24),))
only("cummax", lambda x: torch.cummax(x, 1), lambda: (f(4096, 4096),))
only("weight_gradient, to bf16", weight_gradient, lambda: (n(8192, 4096), n(8192, 4096)))
only("weight_gradient", weight_gradient_f32, lambda: (n(8192, 4096), n(8192, 4096)))
only("weight_gradient_add", lambda x, dy, dw: dw.add_(torch.mm(dy.t(), x)), lambda: (n(8192, 4096), n(8192, 4096), f(4096, 4096)))
only("input_gradient", lambda dy, w: dy @ w, lambda: (n(4096, 4096), n(4096, 4096)))
case("hidden_gradient", hidden_gradient, lambda: (n(4096, 4096), n(4096, 4096), n(4096, 4096)))
only("small_products", torch.bmm, lambda: (f(16384, 32, 32), f(16384, 32, 32)))
only("small_products_bf16", torch.bmm, lambda: (n(32768, 32, 32), n(32768, 32, 32)))
case("attention_delta", lambda o, g: (o.float() * g.float()).sum(-1).transpose(1, 2).contiguous(), lambda: (n(4, 4096, 32, 128), n(4, 4096, 32, 128)))


@case_of("gqa_dkdv")
def gqa_dkdv():
    """dq too: PyTorch has no kernel for dk and dv alone."""
    q, k, v = (n(2, h, 2048, 128).requires_grad_() for h in (32, 8, 8))
    g = n(2, 32, 2048, 128)
    with torch.enable_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, scale=0.088)
        yield "gqa_dkdv, with dq, flash", lambda: (lambda: torch.autograd.grad(o, (q, k, v), g, retain_graph=True))


only("sorted_embedding_gradient", lambda ids, dy: torch.zeros(50257, 768, device="cuda").index_add_(0, ids, dy.float()), lambda: (ints(50257, 8192), n(8192, 768)))
case("ppo_loss", ppo, lambda: (f(M24), f(M24), f(M24), ints(2, M24).bool()))
case("gae", gae, lambda: (f(4096, 2048), f(4096, 2049), ints(2, 4096, 2048).float()), compiled=False)
case("quantise_state", quantise_state, lambda: (f(4 * M24),))
case("adam8", adam8, lambda: (f(2 * M24), f(2 * M24), ints(127, 2 * M24, dtype=torch.int8, low=-127), ints(255, 2 * M24, dtype=torch.uint8), u(131072), u(131072)))
case("adafactor_moments", adafactor, lambda: (n(8192, 8192), u(8192), u(8192)))

# ---- modern -------------------------------------------------------------------------------------------------------------------------------

CASES.append(("attention_dropout", lambda: sdpa("attention_dropout", n(4, 16, 4096, 128), n(4, 4, 4096, 128), n(4, 4, 4096, 128), is_causal=True, dropout_p=0.1, enable_gqa=True, scale=0.088)))


@case_of("window_attention")
def window_attention():
    mask = (f(1, 6, 49, 49) + f(64, 1, 49, 49)).repeat(64, 1, 1, 1).to(BF)
    yield from sdpa("window_attention", n(4096, 6, 49, 32), n(4096, 6, 49, 32), n(4096, 6, 49, 32), attn_mask=mask, scale=0.177)


@case_of("block_sparse_attention")
def block_sparse():
    def make():
        q, k, v = (n(2, 16, 4096, 128) for _ in range(3))
        blocks = ints(16, 2, 16, 64, 16, dtype=I32)
        mask = BlockMask.from_kv_blocks(torch.full((2, 16, 64), 16, device="cuda", dtype=I32), blocks, BLOCK_SIZE=64, mask_mod=lambda b, h, i, j: i >= j)
        run = torch.compile(flex_attention, dynamic=False)
        return captured(lambda: run(q, k, v, block_mask=mask, scale=0.088))

    yield "block_sparse_attention, flex_attention", make


def retention(q, k, v, decay):
    b, h, s, d = q.shape
    q, k, v = (t.view(b, h, s // 64, 64, d) for t in (q, k, v))
    g, i = torch.log2(decay)[:, None, None], torch.arange(64, device=q.device)
    w = torch.where(i[:, None] >= i, torch.exp2(g * (i[:, None] - i)), 0)[:, None]
    add = ((k.float() * torch.exp2(g * (63 - i)[:, None])[:, None]).to(q.dtype).transpose(-1, -2) @ v).float()
    state, states = torch.zeros_like(add[:, :, 0]), []
    for m in range(s // 64):
        states.append(state)
        state = state * torch.exp2(g * 64) + add[:, :, m]
    far = (q @ torch.stack(states, 2).to(q.dtype)).float() * torch.exp2(g * (i + 1)[:, None])[:, None]
    return (far + (((q @ k.transpose(-1, -2)).float() * w).to(q.dtype) @ v).float()).to(q.dtype).view(b, h, s, d)


def ssd_states(x, dt, a, bs):
    b, l, h, p = x.shape
    step = dt.view(b, l // 64, 64, h)
    sums = (step * a).cumsum(2)
    w = torch.exp(sums[:, :, -1:] - sums) * step
    return torch.einsum("bcthp,bctn->bchpn", (x.view(b, l // 64, 64, h, p).float() * w[..., None]).to(x.dtype), bs.view(b, l // 64, 64, -1)).float()


def lstm_cell(g, c):
    i, fo, z, o = (t.float() for t in g.chunk(4, -1))
    c.copy_(torch.sigmoid(fo) * c + torch.sigmoid(i) * torch.tanh(z))
    return (torch.sigmoid(o) * torch.tanh(c)).to(g.dtype)


def grouped_swiglu(x, ends, w):
    g, m = torch._grouped_mm(x, w.transpose(1, 2), offs=ends, out_dtype=BF).chunk(2, -1)
    return F.silu(g) * m


def ends8192():
    return torch.tensor([1000, 2000, 3000, 4000, 5000, 6000, 7000, 8192], device="cuda", dtype=I32)


def ternary(x, sx, w):
    q = torch.stack([(w >> s) & 3 for s in (0, 2, 4, 6)], -1).flatten(1).to(torch.int8) - 1
    return (torch._int_mm(x, q.t()).float() * sx[:, None] * 0.01).to(BF)


def hadamard_matrix(m):
    h = torch.ones(1, 1, device="cuda")
    while h.shape[0] < m:
        h = torch.cat((torch.cat((h, h), 1), torch.cat((h, -h), 1)))
    return h.to(BF)


def nvfp4(x):
    v = x.view(8192, 256, 16).float()
    a = (v.abs().amax(-1) / 6 / 0.01).to(F8)
    q = v / (a.float() * 0.01).clamp(min=1e-30)[..., None]
    m = q.abs()
    code = (m > 0.25).int() + (m >= 0.75) + (m > 1.25) + (m >= 1.75) + (m > 2.5) + (m >= 3.5) + (m > 5)
    code = (code + 8 * (q < 0)).to(torch.uint8).flatten(1)
    return code[:, 0::2] | (code[:, 1::2] << 4), a


def render(sigma, rgb, dt):
    t = sigma * dt
    w = torch.exp(-(t.cumsum(1) - t)) * (1 - torch.exp(-t))
    return (w[..., None] * rgb).sum(1), (w * dt.cumsum(1)).sum(1)


def encode_positions(x):
    a = (x[..., None] * torch.pi * torch.exp2(torch.arange(10, device=x.device))).flatten(1)
    return torch.stack((torch.sin(a), torch.cos(a)), -1).flatten(1)


def hash_grid(x, table):
    p = x * 512
    i = torch.floor(p).long()
    out = 0
    for k in range(8):
        c = i + torch.tensor([k & 1, k >> 1 & 1, k >> 2], device=x.device)
        w = (1 - (p - c).abs()).prod(-1)
        h = (c[:, 0] ^ (c[:, 1] * 2654435761 & 0xFFFFFFFF) ^ (c[:, 2] * 805459861 & 0xFFFFFFFF)) % 524288
        out = out + w[:, None] * table[h]
    return out


def sparse_conv(x, w, nbr):
    out = 0
    for k in range(27):
        out = out + (torch.where((nbr[:, k] >= 0)[:, None], x[nbr[:, k].clamp(min=0)], 0) @ w[k]).float()
    return out.to(BF)


case("index_scores", lambda q, k, w: ((torch.relu((q.flatten(0, 1) @ k.t()).float()).view(1024, 64, 8192)) * w[..., None]).sum(1), lambda: (n(1024, 64, 128), n(8192, 128), f(1024, 64)))
case("best_positions", lambda s, m: torch.topk(s.masked_fill(m, -torch.inf), 64).indices, lambda: (f(4096, 8192), ar(8192)[None] > ar(4096)[:, None]), compiled=False)
case("sparse_latent", lambda q, kv, at: (lambda t: torch.softmax((q @ t.transpose(1, 2)).float() * 0.04, -1).to(BF) @ t[..., :512])(kv[at]), lambda: (n(512, 128, 576), n(65536, 576), ints(65536, 512, 2048)))
case("retention", retention, lambda: (n(8, 16, 4096, 128), n(8, 16, 4096, 128), n(8, 16, 4096, 128), ones(16, value=0.97)))
case("ssd_states", ssd_states, lambda: (n(8, 4096, 32, 64), u(8, 4096, 32), ones(32, value=-1.0), n(8, 4096, 128)))
case("lstm_cell", lstm_cell, lambda: (n(4096, 8192), f(4096, 2048)))


@case_of("gru")
def gru():
    """cuDNN's, with the product of what goes in."""
    layer = torch.nn.GRU(256, 256).to("cuda", BF)
    x, h = n(256, 64, 256), n(1, 64, 256)
    yield "gru, cudnn (and its input product)", lambda: captured(lambda: layer(x, h))


case("expert_swiglu", grouped_swiglu, lambda: (n(8192, 2048), ends8192(), n(8, 2816, 2048)))
only("expert_gathered", lambda x, t, ends, w: torch._grouped_mm(x[t], w.transpose(1, 2), offs=ends, out_dtype=BF), lambda: (n(4096, 2048), ints(4096, 8192), ends8192(), n(8, 2816, 2048)))
case("gated_mlp", lambda x, a, b: F.silu(x @ a.t()) * (x @ b.t()), lambda: (n(4096, 2048), n(5632, 2048), n(5632, 2048)))
case("norm_linear", lambda x, g, w: F.rms_norm(x, (4096,), g, 1e-6) @ w.t(), lambda: (n(4096, 4096), n(4096), n(4096, 4096)))
case("ternary_linear", ternary, lambda: (ints(127, 2048, 4096, dtype=torch.int8, low=-127), u(2048), ints(256, 4096, 1024, dtype=torch.uint8)))
case("quantise_nvfp4", nvfp4, lambda: (n(8192, 4096),))
case("hadamard", lambda x, h: ((x.view(-1, 128) @ h).float() * 0.08838834764831845).to(BF), lambda: (n(8192, 4096), hadamard_matrix(128)))
only("triangle", lambda a, b: torch.einsum("ikc,jkc->ijc", a, b).contiguous(), lambda: (n(512, 512, 128), n(512, 512, 128)))
only("outer_mean", lambda a, b: (torch.einsum("sic,sje->ijce", a, b) / 512).contiguous(), lambda: (n(512, 128, 32), n(512, 128, 32)))
only("bilinear", lambda x, w, y: F.bilinear(x, y, w), lambda: (n(256, 512), n(256, 512, 512), n(256, 512)))
case("sddmm", lambda r, c, a, b: (a[r].float() * b[c].float()).sum(-1), lambda: (ints(65536, 1 << 20), ints(65536, 1 << 20), n(65536, 128), n(65536, 128)))
only("cholesky_batch", torch.linalg.cholesky_ex, lambda: ((lambda a: a @ a.mT + 32 * torch.eye(32, device="cuda"))(f(32768, 32, 32)),))


def nhwc(*shape):
    return n(*shape).to(memory_format=torch.channels_last)


only("conv_residual", lambda x, w, s, t, r: torch.relu(F.conv2d(x, w, padding=1).float() * s + t + r.float()).to(BF), lambda: (nhwc(32, 64, 56, 56), nhwc(64, 64, 3, 3), f(64, 1, 1), f(64, 1, 1), nhwc(32, 64, 56, 56)))
GRADS = lambda mask: lambda dy, x, w: [t for t in torch.ops.aten.convolution_backward(dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask) if t is not None]
only("conv_input_gradient", GRADS([True, False, False]), lambda: (nhwc(32, 128, 28, 28), nhwc(32, 128, 28, 28), nhwc(128, 128, 3, 3)))
only("conv_weight_gradient_last", GRADS([False, True, False]), lambda: (nhwc(32, 128, 28, 28), nhwc(32, 128, 28, 28), nhwc(128, 128, 3, 3)))
only("sparse_conv", sparse_conv, lambda: (n(200000, 64), n(27, 64, 64), ints(200000, 200000, 27, low=-100000)))
case("encode_positions", encode_positions, lambda: (f(2097152, 3),))
case("render", render, lambda: (u(65536, 128), f(65536, 128, 3), u(65536, 128)))
case("hash_grid", hash_grid, lambda: (u(4194304, 3), f(524288, 2)))

# ---- science ------------------------------------------------------------------------------------------------------------------------------


def jacobi3(x, g):
    y = x.clone()
    s = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1] + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]
    y[1:-1, 1:-1, 1:-1] = (s - 0.1 * g[1:-1, 1:-1, 1:-1]) / 6
    return y


def heat(v, kappa):
    p = F.pad(v[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
    return v + 0.1 * kappa * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * v)


def lattice_boltzmann(g, w):
    dx, dy = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
    v = torch.stack([torch.roll(g[q], (dy[q], dx[q]), (0, 1)) for q in range(9)])
    rho = v.sum(0)
    ux, uy = sum(v[q] * dx[q] for q in range(9)) / rho, sum(v[q] * dy[q] for q in range(9)) / rho
    out = []
    for q in range(9):
        cu = 3 * (dx[q] * ux + dy[q] * uy)
        out.append(v[q] + (w[q] * rho * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy)) - v[q]))
    return torch.stack(out)


def fdtd_h(ez, hx, hy):
    hx.sub_(0.5 * (F.pad(ez, (0, 1))[:, 1:] - ez))
    hy.add_(0.5 * (F.pad(ez, (0, 0, 0, 1))[1:] - ez))


def black_scholes(s, k, t):
    q = 0.3 * torch.sqrt(t)
    d1 = (torch.log(s / k) + (0.02 + 0.045) * t) / q
    n1, n2 = 0.5 * (1 + torch.erf(d1 * 0.70710678)), 0.5 * (1 + torch.erf((d1 - q) * 0.70710678))
    disc = k * torch.exp(-0.02 * t)
    return s * n1 - disc * n2, disc * (1 - n2) - s * (1 - n1)


def asian():
    z = torch.randn(64, 1048576, device="cuda")
    s = 100 * torch.exp(((0.02 - 0.045) * 0.015 + 0.3 * 0.015**0.5 * z).cumsum(0))
    return (s.mean(0) - 100).clamp(min=0).sum()


def csr(m=65536, z=1 << 20):
    at = torch.sort(ints(m, z)).values
    ptr = torch.searchsorted(at, ar(m + 1))
    return ptr, at, torch.sparse_csr_tensor(ptr, ints(m, z), f(z), (m, m))


def edge_softmax(end, s):
    at = end[:, None].expand_as(s)
    m = torch.full((65536, 8), -torch.inf, device=s.device).scatter_reduce(0, at, s, "amax")
    e = torch.exp(s - m[end])
    return e / torch.zeros(65536, 8, device=s.device).index_add_(0, end, e)[end]


def digit_counts(x):
    d = (x >> 8) & 255
    part = torch.arange(x.shape[0], device=x.device) // 4096
    return torch.zeros(x.shape[0] // 4096 * 256, dtype=I32, device=x.device).index_add_(0, part * 256 + d, torch.ones_like(d, dtype=I32))


def run_starts(x):
    b = torch.cat((torch.ones(1, dtype=torch.bool, device=x.device), x[1:] != x[:-1]))
    r = b.int().cumsum(0, dtype=I32)
    return b, r - 1, r[-1]


def butterfly(x):
    y = torch.view_as_complex(x).view(256, 512, 2, 64)
    w = torch.polar(torch.ones(64, device=x.device), -torch.pi * torch.arange(64, device=x.device) / 64)
    t = y[:, :, 1] * w
    return torch.stack((y[:, :, 0] + t, y[:, :, 0] - t), 2)


def interaction(x, i, j):
    return torch.bmm(x, x.transpose(1, 2))[:, i, j]


def factorisation(x):
    v = x.float()
    return 0.5 * (v.sum(1).square().sum(-1) - v.square().sum((1, 2)))


def pack_signs(x):
    return ((x.view(16384, 128, 32) >= 0).int() << torch.arange(32, device=x.device, dtype=I32)).sum(-1, dtype=I32)


def polynomial(x, c):
    s = torch.zeros_like(x)
    for k in range(15, -1, -1):
        s = s * x + c[k]
    return s


def interpolate(x, at, v):
    k = (torch.searchsorted(at, x, right=True) - 1).clamp(0, 4094)
    a = at[k]
    return v[k] + ((x - a) / (at[k + 1] - a)).clamp(0, 1) * (v[k + 1] - v[k])


def hash_ids(x):
    h = x ^ 5
    h = (h ^ (h >> 33)) * -0xAE502812AA7333
    h = (h ^ (h >> 33)) * -0x3B314601E57A13AD
    return ((h ^ (h >> 33)) % 1000003).int()


def lennard_jones(p, nbr):
    d = p[nbr] - p[:, None]
    r2 = d.square().sum(-1, keepdim=True) + 1e-6
    s = 1 / (r2 * r2 * r2)
    return (-24 * s * (2 * s - 1) / r2 * d).sum(1)


def moving(x):
    p = F.pad(x, (31, 0))
    return F.avg_pool1d(p[:, None], 32, 1), F.max_pool1d(F.pad(x, (31, 0), value=-torch.inf)[:, None], 32, 1)


def wave8(v, before, c):
    i = slice(4, -4)
    s = 3 * c[0] * v[i, i, i]
    for r in range(1, 5):
        a, b = slice(4 + r, v.shape[0] - 4 + r), slice(4 - r, v.shape[0] - 4 - r)
        s = s + c[r] * (v[a, i, i] + v[b, i, i] + v[i, a, i] + v[i, b, i] + v[i, i, a] + v[i, i, b])
    return F.pad(2 * v[i, i, i] - before[i, i, i] + 0.1 * s, (4,) * 6)


case("jacobi3", jacobi3, lambda: (f(256, 256, 256), f(256, 256, 256)))
case("heat", heat, lambda: (f(4096, 4096), f(4096, 4096)))
case("lattice_boltzmann", lattice_boltzmann, lambda: (u(9, 1024, 1024), u(9)))
case("fdtd_h", fdtd_h, lambda: (f(4096, 4096), f(4096, 4096), f(4096, 4096)))
case("rbf", lambda x, y: torch.exp(-0.01 * torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").square()), lambda: (f(4096, 64), f(4096, 64)), compiled=False)
case("rbf_product", lambda x, y: torch.exp(-0.001 * (x.square().sum(1)[:, None] + y.square().sum(1) - 2 * x @ y.t())), lambda: (f(8192, 256), f(8192, 256)))
case("black_scholes", black_scholes, lambda: (ones(M24, value=100.0), ones(M24, value=95.0), ones(M24)))
case("asian_option", asian, lambda: ())
only("solve_lower_batch", lambda l, b: torch.linalg.solve_triangular(l, b, upper=False), lambda: (f(32768, 32, 32) + 8 * torch.eye(32, device="cuda"), f(32768, 32, 1)))
only("lu_batch", lambda a: torch.linalg.lu_factor_ex(a, pivot=False), lambda: (f(32768, 32, 32) + 32 * torch.eye(32, device="cuda"),))
case("power_step", lambda a, x: (lambda y: (y, y.square().sum()))(a @ x), lambda: (f(8192, 8192), f(8192)))


@case_of("csr_matmul")
def csr_matmul():
    a, x = csr()[2], f(65536, 128)
    yield "csr_matmul, cusparse", lambda: (lambda: a @ x)


only("coo_matvec", lambda r, c, v, x: torch.zeros(1048576, device="cuda").index_add_(0, r, v * x[c]), lambda: (ints(1048576, M24), ints(1048576, M24), f(M24), f(1048576)))
case("edge_softmax", edge_softmax, lambda: (torch.sort(ints(65536, 1 << 20)).values, f(1 << 20, 8)))
case("neighbour_mean", lambda first, nbr, x: torch.segment_reduce(x[nbr].float(), "mean", offsets=first, axis=0).to(BF), lambda: (torch.cat((ar(65536) * 16, torch.tensor([1 << 20], device="cuda"))), ints(65536, 1 << 20), n(65536, 128)), compiled=False)
only("scatter_mean_parts", lambda at, x, one: (torch.zeros(65536, 64, device="cuda").index_add_(0, at, x.float()), torch.zeros(65536, device="cuda", dtype=I32).index_add_(0, at, one)), lambda: (ints(65536, 1 << 20), n(1 << 20, 64), torch.ones(1 << 20, device="cuda", dtype=I32)))
only("prefix_sum_i32", lambda x: torch.cumsum(x, 0, dtype=I32), lambda: (ints(5, M24, dtype=I32),))
case("digit_counts", digit_counts, lambda: (ints(1 << 31, M24),))
case("run_starts", run_starts, lambda: (ints(3, M24, dtype=I32),))
only("kmeans_update", lambda x, at, one: (torch.zeros(1024, 128, device="cuda").index_add_(0, at, x), torch.zeros(1024, device="cuda", dtype=I32).index_add_(0, at, one)), lambda: (f(262144, 128), ints(1024, 262144), torch.ones(262144, device="cuda", dtype=I32)))
only("covariance", lambda x: torch.cov(x.t()), lambda: (f(65536, 512),))
only("correlation", lambda x: torch.corrcoef(x.t()), lambda: (f(65536, 512),))
case("describe", lambda x: (x.amin(0), x.amax(0), *torch.var_mean(x, 0, unbiased=False)), lambda: (f(65536, 1024),))
only("argsort", lambda x: torch.sort(x, 1), lambda: (f(8192, 1024),))
only("quantiles", lambda x, q: torch.quantile(x, q, 1), lambda: (f(8192, 2048), u(5)))
case("moving", moving, lambda: (f(4096, 8192),))
case("butterfly", butterfly, lambda: (f(256, 65536, 2),))
only("complex_multiply", lambda a, b: a * b, lambda: (torch.randn(M24, device="cuda", dtype=torch.cfloat), torch.randn(M24, device="cuda", dtype=torch.cfloat)))
case("outer_update", lambda a, b, s: s.mul_(0.9).add_(a[:, :, None] * b[:, None]), lambda: (f(64, 512), f(64, 512), f(64, 512, 512)))
for order, shape in (((0, 2, 1), (64, 1024, 1024)), ((1, 0, 2), (1024, 1024, 64)), ((2, 1, 0), (256, 256, 1024)), ((2, 0, 1), (256, 256, 1024))):
    case("permute_" + "".join(map(str, order)), lambda x, order=order: x.permute(order).contiguous(), lambda shape=shape: (n(*shape),))
case("split_heads", lambda x: tuple(t.transpose(1, 2).contiguous() for t in x.unbind(2)), lambda: (n(8, 2048, 3, 16, 128),))
only("bag_mean", lambda i, t: F.embedding_bag(i, t, mode="mean"), lambda: (ints(1000000, 65536, 20), n(1000000, 128)))
case("dot_interaction", interaction, lambda: (n(16384, 27, 128), *torch.tril_indices(27, 27, -1, device="cuda").unbind()))
case("factorisation", factorisation, lambda: (n(65536, 39, 16),))
case("pack_signs", pack_signs, lambda: (f(16384, 4096),))
case("polynomial", polynomial, lambda: (f(2 * M24), f(16)))
case("interpolate", interpolate, lambda: (f(M24), ar(4096, F32), f(4096)))
case("hash_ids", hash_ids, lambda: (ints(1 << 62, M24),))


@case_of("filter_order")
def filter_order():
    x = f(M24)
    yield "filter_order, masked_select and nonzero", lambda: (lambda: (torch.masked_select(x, x > 0.5), torch.nonzero(x > 0.5)))


case("lennard_jones", lennard_jones, lambda: (f(262144, 3), ints(262144, 262144, 64)))
case("wave8", wave8, lambda: (f(256, 256, 256), f(256, 256, 256), f(5)))

# ---- vision -------------------------------------------------------------------------------------------------------------------------------


def rgb_to_yuv(x):
    r, g, b = (x[..., c].float() / 255 for c in range(3))
    l = 0.299 * r + 0.587 * g + 0.114 * b
    return torch.stack((l, 0.492 * (b - l), 0.877 * (r - l)), 1)


def rgb_to_grey(x):
    r, g, b = (x[..., c].int() for c in range(3))
    return ((77 * r + 150 * g + 29 * b + 128) >> 8).to(torch.uint8)


def sobel(x):
    p = F.pad(x.float(), (1, 1, 1, 1))
    h, w = x.shape
    t = lambda i, j: p[i : i + h, j : j + w]
    gx = t(0, 2) - t(0, 0) + 2 * (t(1, 2) - t(1, 0)) + t(2, 2) - t(2, 0)
    gy = t(2, 0) - t(0, 0) + 2 * (t(2, 1) - t(0, 1)) + t(2, 2) - t(0, 2)
    return torch.sqrt(gx * gx + gy * gy)


def bilateral(x):
    h, w = x.shape
    p = F.pad(x[None, None], (2, 2, 2, 2), mode="replicate")[0, 0]
    a = b = 0
    for r in range(5):
        for s in range(5):
            v = p[r : r + h, s : s + w]
            k = torch.exp(-((r - 2) ** 2 + (s - 2) ** 2) / 8 - (v - x).square() / 2)
            a, b = a + k * v, b + k
    return a / b


def erode(x):
    h, w = x.shape
    p = F.pad(x, (2, 2, 2, 2), value=255)
    m = p[:h, :w]
    for r in range(5):
        for s in range(5):
            m = torch.minimum(m, p[r : r + h, s : s + w])
    return m


def histograms(x):
    at = (x.int() + 256 * torch.arange(64, device=x.device)[:, None]).flatten()
    return torch.zeros(64 * 256, dtype=I32, device=x.device).index_add_(0, at, torch.ones_like(at, dtype=I32))


def iou(a, b):
    w = (torch.minimum(a[:, None, 2], b[:, 2]) - torch.maximum(a[:, None, 0], b[:, 0])).clamp(min=0)
    h = (torch.minimum(a[:, None, 3], b[:, 3]) - torch.maximum(a[:, None, 1], b[:, 1])).clamp(min=0)
    sa, sb = ((t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1]) for t in (a, b))
    return w * h / (sa[:, None] + sb - w * h)


def boxes(m, most, low, high):
    p, s = u(m, 2) * (most - high), low + u(m, 2) * (high - low)
    return torch.cat((p, p + s), 1)


def roi_align(x, box, image):
    g = (torch.arange(14, device=x.device) + 0.5) / 14
    gx, gy = (box[:, i, None] + g * (box[:, i + 2, None] - box[:, i, None]) for i in (0, 1))
    at = torch.stack((gx[:, None].expand(-1, 14, -1), gy[:, :, None].expand(-1, -1, 14)), -1) / 31.5 - 1
    return F.avg_pool2d(F.grid_sample(x[image], at, align_corners=True), 2)


def warp(x, flow):
    b, _, h, w = x.shape
    gx, gy = flow[:, 0] + torch.arange(w, device=x.device), flow[:, 1] + torch.arange(h, device=x.device)[:, None]
    return F.grid_sample(x.float(), torch.stack((gx * 2 / (w - 1) - 1, gy * 2 / (h - 1) - 1), -1), align_corners=True).to(x.dtype)


def blend(a, b):
    alpha = a[:, 3:].int()
    return ((a.int() * alpha + b.int() * (255 - alpha) + 127) // 255).to(torch.uint8)


def window_partition(x):
    return torch.roll(x, (-3, -3), (1, 2)).view(32, 8, 7, 8, 7, 192).permute(0, 1, 3, 2, 4, 5).contiguous()


def window_reverse(x):
    return torch.roll(x.permute(0, 1, 3, 2, 4, 5).reshape(32, 56, 56, 192), (3, 3), (1, 2))


only("upsample_nearest", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), lambda: (n(16, 64, 128, 128),))
only("upsample_bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False), lambda: (n(16, 64, 128, 128),))
only("avg_pool", lambda x: F.avg_pool2d(x, 2), lambda: (n(64, 64, 224, 224),))
only("adaptive_pool", lambda x: F.adaptive_avg_pool2d(x, 7), lambda: (n(64, 512, 32, 32),))
only("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), lambda: (n(64, 64, 112, 112),))
case("conv_last", lambda x, w, b: torch.relu(F.conv2d(x, w, b, padding=1)), lambda: (nhwc(32, 128, 56, 56), nhwc(128, 128, 3, 3), n(128)))
only("conv_groups", lambda x, w: F.conv2d(x, w, padding=1, groups=32), lambda: (n(32, 256, 56, 56), n(256, 8, 3, 3)))
only("conv_groups, channels last", lambda x, w: F.conv2d(x, w, padding=1, groups=32), lambda: (nhwc(32, 256, 56, 56), nhwc(256, 8, 3, 3)))
only("depthwise7", lambda x, w, b: F.conv2d(x, w, b, padding=3, groups=192), lambda: (n(32, 192, 56, 56), n(192, 1, 7, 7), n(192)))
case("depthwise3_last", lambda x, w: F.silu(F.conv2d(x, w, padding=1, groups=256)), lambda: (nhwc(32, 256, 56, 56), nhwc(256, 1, 3, 3)))
only("patch_embed", lambda x, w, b: F.conv2d(x, w, b, stride=16).flatten(2).transpose(1, 2).contiguous(), lambda: (n(64, 3, 224, 224), n(768, 3, 16, 16), n(768)))
case("window_partition", window_partition, lambda: (n(32, 56, 56, 192),))
case("window_reverse", window_reverse, lambda: (n(32, 8, 8, 7, 7, 192),))
only("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), lambda: (n(16, 64, 256, 256),))
case("rgb_to_yuv", rgb_to_yuv, lambda: (ints(256, 32, 512, 512, 3, dtype=torch.uint8),))
case("rgb_to_grey", rgb_to_grey, lambda: (ints(256, 8192, 8192, 3, dtype=torch.uint8),))
case("colour_matrix", lambda x, m: torch.round(x.float() @ m[:, :3].t() + m[:, 3]).clamp(0, 255).to(torch.uint8), lambda: (ints(256, 4096, 4096, 3, dtype=torch.uint8), f(3, 4)))
only("blur", lambda x, g: F.conv2d(F.conv2d(F.pad(x, (4, 4, 4, 4), mode="replicate"), g.view(1, 1, 9, 1)), g.view(1, 1, 1, 9)), lambda: (f(1, 1, 4096, 4096), f(9)))
case("sobel", sobel, lambda: (ints(256, 4096, 4096, dtype=torch.uint8),))
case("bilateral", bilateral, lambda: (f(4096, 4096),))
case("erode", erode, lambda: (ints(256, 8192, 8192, dtype=torch.uint8),))
case("histograms", histograms, lambda: (ints(256, 64, 1 << 20, dtype=torch.uint8),))
case("apply_table", lambda x, t: torch.gather(t, 1, x.long()), lambda: (ints(256, 64, 1 << 20, dtype=torch.uint8), ints(256, 64, 256, dtype=torch.uint8)))
case("iou", iou, lambda: (boxes(8192, 1000, 10, 100), boxes(8192, 1000, 10, 100)))
case("roi_align", roi_align, lambda: (f(4, 256, 64, 64), boxes(512, 64, 5, 40), ints(4, 512)), compiled=False)
case("warp", warp, lambda: (n(8, 32, 256, 256), f(8, 2, 256, 256)))
only("conv3d", lambda x, w: F.conv3d(x, w, padding=1), lambda: (n(4, 64, 16, 56, 56), n(64, 64, 3, 3, 3)))
only("conv3d, channels last", lambda x, w: F.conv3d(x, w, padding=1), lambda: tuple(t.to(memory_format=torch.channels_last_3d) for t in (n(4, 64, 16, 56, 56), n(64, 64, 3, 3, 3))))
only("fir", lambda x, w: F.conv1d(F.pad(x[:, None], (63, 0)), w.view(1, 1, 64)), lambda: (f(64, 262144), f(64)))
case("frames", lambda x, w: x.unfold(1, 400, 160) * w, lambda: (f(64, 480000), f(400)))
case("log_mel", lambda re, im, bank: torch.log(((re * re + im * im) @ bank).clamp(min=1e-10)), lambda: (f(192000, 201), f(192000, 201), f(201, 80)))
only("im2col", lambda x: F.unfold(x, 3, padding=1), lambda: (n(32, 64, 56, 56),))
case("integral_image", lambda x: x.cumsum(2, dtype=I32).cumsum(1, dtype=I32), lambda: (ints(256, 64, 512, 512, dtype=torch.uint8),))
only("integral_rows", lambda x: x.cumsum(2, dtype=I32), lambda: (ints(256, 64, 512, 512, dtype=torch.uint8),))
only("integral_columns", lambda x: x.cumsum(1, dtype=I32), lambda: (ints(256, 64, 512, 512, dtype=I32),))
case("blend", blend, lambda: (ints(256, M24, 4, dtype=torch.uint8), ints(256, M24, 4, dtype=torch.uint8)))
case("se_gates", lambda x, a, b: torch.sigmoid(torch.relu(x.float().mean(2) @ a.float().t()) @ b.float().t()), lambda: (n(64, 256, 3136), n(16, 256), n(256, 16)))
case("se_scale", lambda x, g: (x.float() * g[..., None]).to(BF), lambda: (n(64, 256, 3136), f(64, 256)))
only("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=4), lambda: (n(16, 256, 4096), n(256, 128, 8)))


def spoilt():
    """Reports a process in which a capture failed such that no random numbers can be made."""
    try:
        torch.randn(1, device="cuda")
        return False
    except Exception:
        return True


def main():
    torch.backends.cudnn.benchmark = True
    words, began, left = sys.argv[1:], float(os.environ.get("BEGAN", time.time())), []
    for at, (name, make) in enumerate(CASES):
        if at < int(os.environ.get("FROM", 0)) or words and not any(word in name for word in words):
            continue
        if time.time() - began > LIMIT:
            left.append(name)
            continue
        try:
            with torch.no_grad():
                for label, ready in make():
                    try:
                        run = ready()
                        print(f"{label}: {median(run, 20):.1f}", flush=True)
                        del run
                    except Exception as wrong:
                        print(f"{label}: failed {(str(wrong).splitlines() or [type(wrong).__name__])[0][:160]}", flush=True)
        except Exception as wrong:
            print(f"{name}: failed {(str(wrong).splitlines() or [type(wrong).__name__])[0][:160]}", flush=True)
        if torch.cuda.is_current_stream_capturing() or spoilt():  # nothing is captured in this process any more
            os.environ.update(FROM=str(at + 1), BEGAN=str(began))
            os.execv(sys.executable, [sys.executable, *sys.argv])
        torch.cuda.empty_cache()
    if left:
        print("left out after", int(LIMIT), "s:", " ".join(left))


if __name__ == "__main__":
    main()
