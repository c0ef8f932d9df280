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


def cases():
    for size in (64, 128):
        yield "gradients", lambda size=size: gradients(size)
    yield "groups", lambda: attention("groups 4x32(8)x4096x128", normal(4, 32, 4096, 128), normal(4, 8, 4096, 128), normal(4, 8, 4096, 128), is_causal=True, enable_gqa=True)
    for texts in (16, 64):
        yield "decode", lambda texts=texts: attention(f"decode {texts}x32(8)x1x4096x128", normal(texts, 32, 1, 128), normal(texts, 8, 4096, 128), normal(texts, 8, 4096, 128), enable_gqa=True)
    yield "experts", grouped
    yield "dropout", lambda: iter([("dropout 8192x4096", captured(torch.compile(lambda x=normal(8192, 4096): F.dropout(x, 0.1))))])


def main():
    for family, make in cases():
        if len(sys.argv) > 1 and not any(word in family for word in sys.argv[1:]):
            continue
        with torch.enable_grad() if family == "gradients" else torch.no_grad():
            for name, run in make():
                print(f"{name}: {median(run):.1f}", flush=True)


main()
