"""Triton on the workloads of tilec: `tilec bench run --peer triton` runs this. The kernels are what Triton's tutorials teach."""
from conversation import converse

try:
    import torch
    import triton
    import triton.language as tl

    from tensors import Tensors
except ImportError as problem:
    triton, missing = None, problem

if triton is not None:
    SHAPES = [(128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 64, 4, 4), (64, 128, 64, 4, 4), (128, 64, 64, 4, 4), (64, 64, 64, 4, 4), (128, 128, 32, 8, 3)]

    @triton.autotune(
        configs=[triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_warps=w, num_stages=s) for m, n, k, w, s in SHAPES], key=["M", "N", "K"])
    @triton.jit
    def product(x, w, b, y, M, N, K, BIAS: tl.constexpr, GELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
        block = tl.program_id(0)
        rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
        group = block // (GROUP * columns)
        first = group * GROUP
        size = min(rows - first, GROUP)
        i = (first + block % (GROUP * columns) % size) * BM + tl.arange(0, BM)
        j = block % (GROUP * columns) // size * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BK)):
            d = step * BK + k
            p = tl.load(x + i[:, None] * K + d[None, :], mask=(i[:, None] < M) & (d[None, :] < K), other=0.0)
            q = tl.load(w + d[:, None] * N + j[None, :], mask=(d[:, None] < K) & (j[None, :] < N), other=0.0)
            acc = tl.dot(p, q, acc)
        if BIAS:
            acc += tl.load(b + j, mask=j < N, other=0.0)[None, :].to(tl.float32)
        if GELU:
            acc = acc * tl.sigmoid(1.5957691216057308 * (acc + 0.044715 * acc * acc * acc))
        tl.store(y + i[:, None] * N + j[None, :], acc.to(y.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))

    @triton.jit
    def softmax_row(x, y, N, BLOCK: tl.constexpr):
        row, j = tl.program_id(0), tl.arange(0, BLOCK)
        v = tl.load(x + row * N + j, mask=j < N, other=-float("inf")).to(tl.float32)
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + row * N + j, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty), mask=j < N)

    @triton.jit
    def layernorm_row(x, g, b, y, N, BLOCK: tl.constexpr):
        row, j = tl.program_id(0), tl.arange(0, BLOCK)
        v = tl.load(x + row * N + j, mask=j < N, other=0.0).to(tl.float32)
        c = tl.where(j < N, v - tl.sum(v, axis=0) / N, 0.0)
        r = tl.rsqrt(tl.sum(c * c, axis=0) / N + 1e-5)
        s = tl.load(g + j, mask=j < N, other=0.0).to(tl.float32)
        t = tl.load(b + j, mask=j < N, other=0.0).to(tl.float32)
        tl.store(y + row * N + j, (c * r * s + t).to(y.dtype.element_ty), mask=j < N)

    @triton.jit
    def gelu_block(x, y, N, BLOCK: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < N, other=0.0).to(tl.float32)
        tl.store(y + i, (v * tl.sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v))).to(y.dtype.element_ty), mask=i < N)


def products(bias, gelu):
    def ways(a):
        x, w = a["x"], a["w"]
        (m, k), n = x.shape, w.shape[1]
        b = a["b"] if bias else w
        y = torch.empty(m, n, dtype=x.dtype, device=x.device)

        def run():
            product[lambda c: (triton.cdiv(m, c["BM"]) * triton.cdiv(n, c["BN"]),)](x, w, b, y, m, n, k, BIAS=bias, GELU=gelu)
            return y

        return {"matmul of the tutorial, autotuned": run}

    return ways


def by_rows(kernel, *names):
    def ways(a):
        x = a["x"]
        m, n = x.shape
        y, block = torch.empty_like(x), triton.next_power_of_2(n)

        def run(warps):
            kernel[(m,)](x, *[a[name] for name in names], y, n, BLOCK=block, num_warps=warps)
            return y

        return {f"a block a row, {warps} warps": lambda warps=warps: run(warps) for warps in (1, 4, 8, 16)}

    return ways


def gelu_map(a):
    x = a["x"]
    y = torch.empty_like(x)

    def run(block):
        gelu_block[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
        return y

    return {f"blocks of {block}": lambda block=block: run(block) for block in (1024, 4096)}


def open_triton(job):
    if triton is None:
        raise missing
    if job["device"] != "cuda":
        raise RuntimeError("Triton needs a GPU")
    peer = Tensors(job)
    peer.name = f"Triton {triton.__version__}"
    peer.kernels = {
        "linear": products(False, False), "linear_bias": products(True, False), "linear_gelu": products(True, True),
        "softmax": by_rows(softmax_row), "layernorm": by_rows(layernorm_row, "g", "b"), "gelu_map": gelu_map,
    }
    return peer


if __name__ == "__main__":
    converse(open_triton)
