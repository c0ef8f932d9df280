"""Times a model of PyTorch that has a norm and an attention of ours in it, compiled, beside the same in PyTorch alone:

    python3 tests/model_on_torch.py path/to/libtilec.so

in the folder bindings/python, on a machine with a GPU. Layers of GPT-2 124M go through a prompt in bf16. Both models are compiled by torch.compile and
captured in a CUDA graph; their results are compared with those of the same layers in f32. It ends with 1 where ours are further off than PyTorch's by
more than half.
"""

import math
import os
import sys

folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SOURCE = """
import "std/nn"

/// The sum of both, and its layernorm.
kernel add_norm<T: float>(x: T[M, N], r: T[M, N], g: T[N], b: T[N]) -> (sum: T[M, N], y: T[M, N])
    grid i in M by BM
{
    axis j in N
    let s = x[i, j] + r[i, j]
    let v = s as f32
    let c = v - mean(v, over j)
    sum[i, j] = s
    y[i, j] = (c * rsqrt(mean(c * c, over j) + 1e-5) * g[j] as f32 + b[j] as f32) as T
}

/// Causal attention of a prompt to itself.
graph causal<T: float>(q: T[B, S, H, D], k: T[B, H, S, D], v: T[B, H, S, D]) -> o: T[B, S, H, D] {
    o = attention(q, k, v, zeros(i32, [B]), 1 / sqrt(D as f32))
}
"""

LAYERS, WIDTH, HEADS = 4, 768, 12


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 tests/model_on_torch.py path/to/libtilec.so")
    os.environ["TILEC_LIBRARY"] = os.path.abspath(sys.argv[1])
    sys.path.insert(0, folder)
    import torch
    import torch.nn.functional as F

    import tilec

    if not torch.cuda.is_available():
        sys.exit("nothing is measured without a GPU that PyTorch sees")
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    program = tilec.Device("cuda").load(SOURCE, "model.tile")
    add_norm, causal = program.add_norm.torch_op("tilec_model::add_norm"), program.causal.torch_op("tilec_model::causal")

    def weights(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) / math.sqrt(shape[0])

    layers = [
        [weights(WIDTH, 3 * WIDTH), weights(WIDTH, WIDTH), weights(WIDTH, 4 * WIDTH), weights(4 * WIDTH, WIDTH)]
        + [1 + 0.1 * torch.randn(WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
        for _ in range(LAYERS)
    ]

    def their_norm(x, r, g, b):
        s = x + r
        return s, F.layer_norm(s, (WIDTH,), g, b)

    def their_attention(q, k, v):
        return F.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True).transpose(1, 2)

    def model(norm, attention, x, layers):
        b, s, c = x.shape
        x = x.view(b * s, c)
        r = torch.zeros_like(x)
        for aw, pw, fw, ow, g1, b1, g2, b2 in layers:
            x, h = norm(x, r, g1, b1)
            qkv = (h @ aw).view(b, s, 3, HEADS, c // HEADS)
            o = attention(qkv[:, :, 0], qkv[:, :, 1].transpose(1, 2), qkv[:, :, 2].transpose(1, 2))
            x, h = norm(x, o.reshape(b * s, c) @ pw, g2, b2)
            r = F.gelu(h @ fw, approximate="tanh") @ ow
        return x + r

    def captured(f):
        for _ in range(3):
            f()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = f()
        return graph, y

    def micros(graph):
        times = []
        for _ in range(30):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(10):
                graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 100)
        return sorted(times)[len(times) // 2]

    failed = False
    print("%d layers of width %d, bf16, compiled, in a CUDA graph; PyTorch %s on %s" % (LAYERS, WIDTH, torch.__version__, torch.cuda.get_device_name()))
    for b, s in ((1, 1024), (8, 128), (8, 1024)):
        x = torch.randn(b, s, WIDTH, device="cuda", dtype=torch.bfloat16)
        exact = model(their_norm, their_attention, x.float(), [[w.float() for w in layer] for layer in layers])
        us, error = {}, {}
        for name, norm, attention in (("PyTorch", their_norm, their_attention), ("with ours", add_norm, causal)):
            torch._dynamo.reset()
            compiled = torch.compile(lambda x, norm=norm, attention=attention: model(norm, attention, x, layers), fullgraph=True)
            graph, y = captured(lambda: compiled(x))
            us[name] = micros(graph)
            error[name] = (y.float() - exact).square().mean().sqrt().item() / exact.square().mean().sqrt().item()
        failed |= not error["with ours"] <= 1.5 * error["PyTorch"]
        print("%d x %d: PyTorch %.1f us, with ours %.1f us, ratio %.2f; off by %.4f and %.4f" % (
            b, s, us["PyTorch"], us["with ours"], us["PyTorch"] / us["with ours"], error["PyTorch"], error["with ours"]))
    sys.exit(failed)


if __name__ == "__main__":
    main()
