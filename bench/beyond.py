"""What PyTorch takes for what is no workload of tilec bench: `python3 bench/beyond.py [WORD ...]` prints the medians, in us, of those whose
name has one of the words. Inside CUDA graphs, but for the gradients, which take a millisecond each; the L2 holds what it held."""
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

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


def llama(texts, new, seen, layers=16, width=2048, inner=8192, heads=32, kv=8, size=64, words=128256, room=1024):
    """A step of the network of Llama 3.2 1B, or its prompt, with weights that are random, queries, keys and values one product and gate and up another."""
    rows = [dict(qkv=0.02 * normal((heads + 2 * kv) * size, width), o=0.02 * normal(width, heads * size), up=0.02 * normal(2 * inner, width),
                 down=0.02 * normal(width, inner)) for _ in range(layers)]
    table, gain = 0.02 * normal(words, width), normal(width)
    keys, values = (torch.zeros(layers, texts, kv, room, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    frequency = 500000 ** (-torch.arange(0, size, 2, device="cuda").float() / size)
    token = torch.randint(0, words, (texts, new), device="cuda")
    place = torch.arange(seen - new, seen, device="cuda")
    mask = (torch.arange(room, device="cuda")[None] <= place[:, None])[None, None]

    def norm(x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * gain

    def turn(x, c, s):
        a, b = x.float().chunk(2, -1)
        return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)

    def step():
        x, angle = table[token], place[:, None].float() * frequency
        c, s = angle.cos(), angle.sin()
        for n, w in enumerate(rows):
            q, k, v = (y.view(texts, new, -1, size).transpose(1, 2) for y in (norm(x) @ w["qkv"].t()).split((heads * size, kv * size, kv * size), -1))
            keys[n].index_copy_(2, place, turn(k, c, s))
            values[n].index_copy_(2, place, v)
            o = F.scaled_dot_product_attention(turn(q, c, s), keys[n], values[n], attn_mask=mask, enable_gqa=True)
            x = x + o.transpose(1, 2).reshape(texts, new, heads * size) @ w["o"].t()
            gate, up = (norm(x) @ w["up"].t()).chunk(2, -1)
            x = x + (F.silu(gate) * up) @ w["down"].t()
        return (norm(x)[:, -1] @ table.t()).float()

    torch._dynamo.reset()
    with torch.no_grad():
        yield f"llama 1B, {texts} x {new} at {seen}, eager", captured(step)
        yield f"llama 1B, {texts} x {new} at {seen}, compiled", captured(torch.compile(step))


def cases():
    for size in (64, 128):
        yield "gradients", lambda size=size: gradients(size)
    yield "groups", lambda: attention("groups 4x32(8)x4096x128", normal(4, 32, 4096, 128), normal(4, 8, 4096, 128), normal(4, 8, 4096, 128), is_causal=True, enable_gqa=True)
    for texts in (16, 64):
        yield "decode", lambda texts=texts: attention(f"decode {texts}x32(8)x1x4096x128", normal(texts, 32, 1, 128), normal(texts, 8, 4096, 128), normal(texts, 8, 4096, 128), enable_gqa=True)
    yield "experts", grouped
    yield "dropout", lambda: iter([("dropout 8192x4096", captured(torch.compile(lambda x=normal(8192, 4096): F.dropout(x, 0.1))))])
    for texts, new, seen in ((1, 1, 500), (8, 1, 500), (1, 512, 512)):
        yield "llama", lambda texts=texts, new=new, seen=seen: llama(texts, new, seen)


def main():
    for family, make in cases():
        if len(sys.argv) > 1 and not any(word in family for word in sys.argv[1:]):
            continue
        with torch.enable_grad() if family == "gradients" else torch.no_grad():
            for name, run in make():
                print(f"{name}: {median(run):.1f}", flush=True)


main()
