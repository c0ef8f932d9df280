"""Times models in PyTorch, one JSON object a line: the peer of `bench/run model`. Kernels are timed by `tilec bench run --peer torch`.

    python3 bench/peer.py > peers.jsonl
"""
import json
import time

import torch
import torch.nn.functional as F

def randn(dtype, *shape):
    return torch.randn(*shape, device="cuda", dtype=dtype)


class Decoder:
    """GPT-2 decoding one token a step with a static cache: mini's shape, random weights."""

    def __init__(self, dtype, layers=6, heads=6, width=192, vocab=1024, context=256):
        self.heads, self.context = heads, context
        r = lambda *shape: randn(dtype, *shape) * 0.02
        c = width
        self.wte, self.wpe = r(vocab, c), r(context, c)
        self.norms = [[torch.ones_like(r(c)), r(c), torch.ones_like(r(c)), r(c)] for _ in range(layers)]
        self.weights = [[r(c, 3 * c), r(3 * c), r(c, c), r(c), r(c, 4 * c), r(4 * c), r(4 * c, c), r(c)] for _ in range(layers)]
        self.final = [torch.ones_like(r(c)), r(c)]
        zeros = lambda: torch.zeros(1, heads, context, c // heads, device="cuda", dtype=dtype)
        self.cache = [(zeros(), zeros()) for _ in range(layers)]
        self.token = torch.zeros(1, dtype=torch.long, device="cuda")
        self.position = torch.zeros(1, dtype=torch.long, device="cuda")
        self.index = torch.arange(context, device="cuda")

    def step(self):
        c = self.wte.shape[1]
        x = self.wte[self.token] + self.wpe[self.position]
        mask = (self.index <= self.position)[None, None, None, :]
        for (g1, b1, g2, b2), (aw, ab, pw, pb, fw, fb, ow, ob), (k, v) in zip(self.norms, self.weights, self.cache):
            qkv = torch.addmm(ab, F.layer_norm(x, (c,), g1, b1), aw).view(1, 3, self.heads, c // self.heads)
            k.index_copy_(2, self.position, qkv[:, 1].unsqueeze(2))
            v.index_copy_(2, self.position, qkv[:, 2].unsqueeze(2))
            o = F.scaled_dot_product_attention(qkv[:, 0].unsqueeze(2), k, v, attn_mask=mask)
            x = x + torch.addmm(pb, o.reshape(1, c), pw)
            h = F.gelu(torch.addmm(fb, F.layer_norm(x, (c,), g2, b2), fw), approximate="tanh")
            x = x + torch.addmm(ob, h, ow)
        logits = F.layer_norm(x, (c,), *self.final) @ self.wte.T
        self.token.copy_(logits.argmax(-1))
        self.position.add_(1)


def tokens_per_second(step, decoder, steps=200):
    decoder.position.zero_()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
        decoder.token.item()  # as a generator does that shows each token
    return steps / (time.perf_counter() - begin)


def decoders():
    for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        d = Decoder(dtype)
        for _ in range(3):
            d.step()
        yield f"mini {name} eager", tokens_per_second(d.step, d)
        d.position.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            d.step()
        yield f"mini {name} graph", tokens_per_second(graph.replay, d)


def main():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_grad_enabled(False)
    for name, rate in decoders():
        print(json.dumps({"name": name, "tokens_per_s": rate}), flush=True)


if __name__ == "__main__":
    main()
