"""Times a GPT-2 of 124M parameters, with random weights in bf16, beside PyTorch, and prints a Markdown table.

    python3 bench/peer_gpt.py TILEC [--contexts 128,1000] [--batches 1,8,32] [--prompts 1x128,8x128,1x1024,8x1024]

A step of decoding takes one token of each sequence, with a cache of which so many positions are in use, to the logits of
the next. PyTorch's cache has 1024 positions; ours has the room that `tilec run` gives it. A prompt takes all its tokens to all
logits. PyTorch runs it eagerly and by torch.compile, each in a CUDA graph that is captured by hand, with a cache that stays
where it is; the faster one counts. Ours is what `tilec run gpt.tile GRAPH --time`
says, which replays a recorded graph as well. Both are medians of the device's own clock, and find the weights of the
step before in the L2, as far as they fit.
"""
import argparse
import re
import subprocess
import sys

import torch
import torch.nn.functional as F

LAYERS, HEADS, WIDTH, VOCABULARY, CONTEXT = 12, 12, 768, 50257, 1024


def randn(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02


class GPT:
    def __init__(self):
        c = WIDTH
        self.wte, self.wpe = randn(VOCABULARY, c), randn(CONTEXT, c)
        self.layers = [
            [torch.ones_like(randn(c)), randn(c), randn(c, 3 * c), randn(3 * c), randn(c, c), randn(c),
             torch.ones_like(randn(c)), randn(c), randn(c, 4 * c), randn(4 * c), randn(4 * c, c), randn(c)]
            for _ in range(LAYERS)
        ]
        self.final = [torch.ones_like(randn(c)), randn(c)]

    def step(self, tokens, position, caches, index):
        """tokens [B], position [1], caches of [B, H, P, D] pairs: the logits [B, V]."""
        b, c = tokens.shape[0], WIDTH
        x = self.wte[tokens] + self.wpe[position]
        mask = (index <= position)[None, None, None, :]
        for (g1, b1, aw, ab, pw, pb, g2, b2, fw, fb, ow, ob), (k, v) in zip(self.layers, caches):
            qkv = torch.addmm(ab, F.layer_norm(x, (c,), g1, b1), aw).view(b, 3, HEADS, c // HEADS)
            k.index_copy_(2, position, qkv[:, 1].unsqueeze(2))
            v.index_copy_(2, position, qkv[:, 2].unsqueeze(2))
            o = F.scaled_dot_product_attention(qkv[:, 0].unsqueeze(2), k, v, attn_mask=mask)
            x = x + torch.addmm(pb, o.reshape(b, c), pw)
            h = F.gelu(torch.addmm(fb, F.layer_norm(x, (c,), g2, b2), fw), approximate="tanh")
            x = x + torch.addmm(ob, h, ow)
        return F.layer_norm(x, (c,), *self.final) @ self.wte.T

    def prompt(self, tokens):
        """tokens [B, S]: the logits [B, S, V]."""
        (b, s), c = tokens.shape, WIDTH
        x = (self.wte[tokens] + self.wpe[:s]).view(b * s, c)
        for g1, b1, aw, ab, pw, pb, g2, b2, fw, fb, ow, ob in self.layers:
            qkv = torch.addmm(ab, F.layer_norm(x, (c,), g1, b1), aw).view(b, s, 3, HEADS, c // HEADS)
            q, k, v = (qkv[:, :, n].transpose(1, 2) for n in range(3))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + torch.addmm(pb, o.transpose(1, 2).reshape(b * s, c), pw)
            h = F.gelu(torch.addmm(fb, F.layer_norm(x, (c,), g2, b2), fw), approximate="tanh")
            x = x + torch.addmm(ob, h, ow)
        return F.layer_norm(x, (c,), *self.final) @ self.wte.T


def micros(f, runs=50):
    """The median time of f in a CUDA graph, in us."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            f()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f()
    for _ in range(5):
        graph.replay()
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(runs)]
    for begin, end in events:
        begin.record()
        graph.replay()
        end.record()
    torch.cuda.synchronize()
    times = sorted(begin.elapsed_time(end) * 1e3 for begin, end in events)
    return times[runs // 2]


def best(f, *args):
    """The fastest of PyTorch's ways, and which one that is."""
    ways = {"eager": f, "compiled": torch.compile(f)}
    found = []
    for name, way in ways.items():
        try:
            found.append((micros(lambda: way(*args)), name))
        except Exception as e:  # a way that fails is not counted, and says so
            print(f"{name}: {str(e).splitlines()[0]}", file=sys.stderr)
    torch._dynamo.reset()
    return min(found)


def ours(tilec, graph, room, *sizes):
    command = [tilec, "run", "gpt.tile", graph, *sizes, "L=12", "C=768", "H=12", "F=3072", "V=50257", "P=1024", f"R={room}", "T=bf16", "eps=1e-5", "--time"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r"median ([0-9.]+) (us|ms)", text.stderr + text.stdout)
    if not found:
        raise RuntimeError(f"{' '.join(command)}: {text.stderr[-300:]}")
    return float(found[1]) * {"us": 1, "ms": 1e3}[found[2]]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("tilec")
    args.add_argument("--contexts", default="128,1000")
    args.add_argument("--batches", default="1,8,32")
    args.add_argument("--prompts", default="1x128,8x128,1x1024,8x1024")
    args = args.parse_args()
    torch.set_grad_enabled(False)
    model = GPT()
    index = torch.arange(CONTEXT, device="cuda")
    print("| GPT-2 124M, bf16, random weights | ours us | PyTorch us | | ratio of PyTorch's time to ours |\n|---|---|---|---|---|", flush=True)

    def row(name, mine, peer):
        print(f"| {name} | {mine:.0f} | {peer[0]:.0f} | {peer[1]} | {peer[0] / mine:.2f} |", flush=True)

    for batch in map(int, args.batches.split(",")):
        cache = lambda: torch.zeros(batch, HEADS, CONTEXT, WIDTH // HEADS, device="cuda", dtype=torch.bfloat16)
        caches = [(cache(), cache()) for _ in range(LAYERS)]
        tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
        for context in map(int, args.contexts.split(",")):
            position = torch.full((1,), context - 1, dtype=torch.long, device="cuda")
            room = 256  # as tilec run takes it for a text that ends there
            while room < context:
                room *= 2
            mine = ours(args.tilec, "forward", room, f"B={batch}", "S=1", f"start=full({context - 1})")
            row(f"a step, batch {batch}, context {context}", mine, best(model.step, tokens, position, caches, index))
        del caches
    for prompt in filter(None, args.prompts.split(",")):
        batch, length = map(int, prompt.split("x"))
        tokens = torch.zeros(batch, length, dtype=torch.long, device="cuda")
        mine = ours(args.tilec, "scores", 1024, f"B={batch}", f"S={length}", "start=zeros")
        row(f"a prompt of {batch} x {length}, all logits", mine, best(model.prompt, tokens))


if __name__ == "__main__":
    main()
