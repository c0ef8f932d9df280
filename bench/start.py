"""Times how long a process takes from its start to the first token of a GPT-2 of 124M, and what device memory it holds beyond weights and cache.

    python3 bench/start.py path/to/tilec

Both processes read the same checkpoint, of random bf16 weights, which this script makes in a folder of its own: tilec as `tilec run gpt.tile`,
with the caches that a first run has left, and beside it PyTorch alone, without transformers or compilation, which would only make it start later.
Memory is what the device says is used while the process runs, less what was used before; a process that does nothing but make a context is
measured too. Needs a GPU, PyTorch and nvidia-smi; prints a Markdown table.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 12, 12, 768, 1024, 50257
PROMPT = "the cat sat on the mat"
RUNS, TOKENS = 5, 900
SIZES = {
    "wte.weight": [VOCABULARY, WIDTH], "wpe.weight": [CONTEXT, WIDTH], "ln_f.weight": [WIDTH], "ln_f.bias": [WIDTH],
    **{f"h.{n}.{name}": size for n in range(LAYERS) for name, size in {
        "ln_1.weight": [WIDTH], "ln_1.bias": [WIDTH], "ln_2.weight": [WIDTH], "ln_2.bias": [WIDTH],
        "attn.c_attn.weight": [WIDTH, 3 * WIDTH], "attn.c_attn.bias": [3 * WIDTH],
        "attn.c_proj.weight": [WIDTH, WIDTH], "attn.c_proj.bias": [WIDTH],
        "mlp.c_fc.weight": [WIDTH, 4 * WIDTH], "mlp.c_fc.bias": [4 * WIDTH],
        "mlp.c_proj.weight": [4 * WIDTH, WIDTH], "mlp.c_proj.bias": [WIDTH],
    }.items()},
}


def elements(size):
    return size[0] * (size[1] if len(size) > 1 else 1)


WEIGHTS = 2 * sum(elements(s) for s in SIZES.values())
CACHE = 2 * 2 * LAYERS * CONTEXT * WIDTH


def checkpoint(folder):
    """Writes a checkpoint in GPT-2's format, whose tokens are bytes and pairs of them."""
    import torch

    torch.manual_seed(0)
    header, at = {}, 0
    for name, size in SIZES.items():
        header[name] = {"dtype": "BF16", "shape": size, "data_offsets": [at, at + 2 * elements(size)]}
        at += 2 * elements(size)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{folder}/model.safetensors", "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for name, size in SIZES.items():
            t = torch.ones(size) if name.endswith(("1.weight", "2.weight", "f.weight")) else 0.02 * torch.randn(size)
            f.write(t.to(torch.bfloat16).view(torch.int16).numpy().tobytes())
    with open(f"{folder}/config.json", "w") as f:
        json.dump({"model_type": "gpt2", "n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH, "n_positions": CONTEXT, "n_ctx": CONTEXT,
                   "vocab_size": VOCABULARY, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}, f)
    # GPT-2's names of bytes: those that print are themselves, the others follow from 256 on.
    prints = [*range(33, 127), *range(161, 173), *range(174, 256)]
    names, more = {}, 0
    for b in range(256):
        names[b] = chr(b) if b in prints else chr(256 + more)
        more += b not in prints
    pairs = [(names[n // 256], names[n % 256]) for n in range(VOCABULARY - 256)]
    with open(f"{folder}/vocab.json", "w") as f:
        json.dump({**{names[b]: b for b in range(256)}, **{a + b: 256 + n for n, (a, b) in enumerate(pairs)}}, f)
    with open(f"{folder}/merges.txt", "w") as f:
        f.write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in pairs))


def peer(folder, tokens):
    """What a program with PyTorch does: reads the weights, and chooses so many tokens, with a cache that stays where it is."""
    import torch
    import torch.nn.functional as F

    with open(f"{folder}/model.safetensors", "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = bytearray(f.read())
    w = {name: torch.frombuffer(data, dtype=torch.bfloat16, count=(t["data_offsets"][1] - t["data_offsets"][0]) // 2, offset=t["data_offsets"][0])
         .view(t["shape"]).cuda() for name, t in header.items()}
    caches = [torch.zeros(2, HEADS, CONTEXT, WIDTH // HEADS, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]

    def forward(ids, start):
        s = len(ids)
        x = w["wte.weight"][torch.tensor(ids, device="cuda")] + w["wpe.weight"][start:start + s]
        for n, cache in enumerate(caches):
            of = lambda name: w[f"h.{n}.{name}"]
            y = F.layer_norm(x, (WIDTH,), of("ln_1.weight"), of("ln_1.bias"))
            qkv = torch.addmm(of("attn.c_attn.bias"), y, of("attn.c_attn.weight")).view(s, 3, HEADS, -1).permute(1, 2, 0, 3)
            cache[:, :, start:start + s] = qkv[1:]
            k, v = cache[:, :, :start + s]
            o = F.scaled_dot_product_attention(qkv[0], k, v, is_causal=s > 1).transpose(0, 1).reshape(s, WIDTH)
            x = x + torch.addmm(of("attn.c_proj.bias"), o, of("attn.c_proj.weight"))
            y = F.layer_norm(x, (WIDTH,), of("ln_2.weight"), of("ln_2.bias"))
            y = F.gelu(torch.addmm(of("mlp.c_fc.bias"), y, of("mlp.c_fc.weight")), approximate="tanh")
            x = x + torch.addmm(of("mlp.c_proj.bias"), y, of("mlp.c_proj.weight"))
        return F.layer_norm(x[-1], (WIDTH,), w["ln_f.weight"], w["ln_f.bias"]) @ w["wte.weight"].T

    with torch.inference_mode():
        ids, start = list(PROMPT.encode()), 0
        for _ in range(tokens):
            token = int(forward(ids, start).argmax())
            start += len(ids)
            ids = [token]
            print(token, flush=True)


def bare():
    """A process that makes a context, and nothing else, for a second."""
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    if cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        sys.exit("no context")
    time.sleep(1)


def used():
    """The bytes of the device that are in use."""
    out = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True)
    return int(out.stdout.splitlines()[0]) << 20


def first(command):
    """The seconds from a command's start to its first byte on stdout behind the prompt."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        echoed = len(PROMPT) if command[0] != sys.executable else 0
        if len(p.stdout.read(echoed + 1)) <= echoed:
            sys.exit(f"no token came from: {' '.join(command)}")
        took = time.perf_counter() - begin
        p.stdout.read()
    return took


def most(command):
    """The most bytes of the device that a command has in use."""
    before = peak = used()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        while p.poll() is None:
            peak = max(peak, used())
    if p.returncode:
        sys.exit(f"exit {p.returncode}: {' '.join(command)}")
    return peak - before


def main(tilec):
    with tempfile.TemporaryDirectory() as folder:
        checkpoint(folder)
        ours = lambda n: [tilec, "run", "gpt.tile", "--model", folder, "--dtype", "bf16", "--device", "cuda", "--prompt", PROMPT,
                          "--temperature", "0", "--max-new-tokens", str(n)]
        theirs = lambda n: [sys.executable, os.path.abspath(__file__), "--peer", folder, str(n)]
        for command in ours(1), theirs(1):
            first(command)
        a, b = ([first(c) for _ in range(RUNS)] for c in (ours(1), theirs(1)))
        context = most([sys.executable, os.path.abspath(__file__), "--bare"])
        m, n = (most(c) - WEIGHTS - CACHE for c in (ours(TOKENS), theirs(TOKENS)))
    print("| GPT-2 of 124M, bf16 | tilec | PyTorch | ratio |\n|---|---|---|---|")
    a, b = statistics.median(a), statistics.median(b)
    print(f"| from the start of the process to the first token, s | {a:.3f} | {b:.3f} | {b / a:.1f} |")
    print(f"| device memory beyond weights and cache, MB, of which a context is {context / 1e6:.0f} | {m / 1e6:.0f} | {n / 1e6:.0f} | {n / m:.2f} |")
    print(f"| the same without the context, MB | {(m - context) / 1e6:.0f} | {(n - context) / 1e6:.0f} | |")


if __name__ == "__main__":
    if sys.argv[1] == "--peer":
        peer(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "--bare":
        bare()
    else:
        main(sys.argv[1])
