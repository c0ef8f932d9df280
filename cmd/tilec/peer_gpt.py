"""Times a GPT-2 in PyTorch, for `tilec bench gpt`, which runs this script and says on stdin, in JSON, what to time.

Each line of stdout is a JSON object: who the peer is, how long a row took in one of PyTorch's ways, or which tokens are the likeliest.
A step of decoding takes one token of each sequence, with a cache of which so many positions are in use and that stays where it is,
to the logits of the next. A prompt takes all its tokens to all logits. A token of a text is such a step and the choice of the token,
the likeliest or by chance, which the next step takes at the next position.
"""
import contextlib
import json
import sys
import time


def say(**what):
    print(json.dumps(what), flush=True)


job = json.load(sys.stdin)
try:
    import torch
    import torch.nn.functional as F
except ImportError as e:
    say(missing=f"python3 has no PyTorch: {e}")
    sys.exit()
DEVICE = job["device"]
if DEVICE == "cuda" and not torch.cuda.is_available():
    say(missing=f"PyTorch {torch.__version__} finds no CUDA device")
    sys.exit()
DTYPE = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[job["dtype"]]
LAYERS, HEADS, WIDTH, CONTEXT = (job["config"][key] for key in ("n_layer", "n_head", "n_embd", "n_positions"))


def read_weights(path):
    """The tensors of a safetensors file, all of them bf16, by name."""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = bytearray(f.read())
    tensors = {}
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            raw = torch.frombuffer(data, dtype=torch.bfloat16, count=(end - begin) // 2, offset=begin)
            tensors[name] = raw.view(t["shape"]).to(device=DEVICE, dtype=DTYPE)
    return tensors


class GPT:
    def __init__(self, w):
        both = lambda name: [w[name + ".weight"], w[name + ".bias"]]
        self.wte, self.wpe, self.final = w["wte.weight"], w["wpe.weight"], both("ln_f")
        self.layers = [
            [t for part in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj") for t in both(f"h.{n}.{part}")]
            for n in range(LAYERS)
        ]

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

    def token(self, tokens, position, caches, index, temperature):
        """Chooses a token for each of those in tokens, and puts them and their position in place of these."""
        logits = self.step(tokens, position, caches, index)
        if temperature > 0:  # the largest of the logarithms of a probability and a random number, without their logarithms
            p = F.softmax(logits.float() / temperature, -1)
            logits = p / torch.empty_like(p).exponential_()
        tokens.copy_(logits.argmax(-1))
        position.copy_((position + 1).clamp(max=CONTEXT - 1))

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
        return (F.layer_norm(x, (c,), *self.final) @ self.wte.T).view(b, s, -1)


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def seconds(f, runs=1):
    synchronize()
    begin = time.perf_counter()
    for _ in range(runs):
        f()
    synchronize()
    return (time.perf_counter() - begin) / runs


def micros(f, total):
    """The median time of f in us, of batches of runs that are long against the cost of waiting for the device, as tilec times itself."""
    for _ in range(3):
        f()
    runs = 1
    while runs * seconds(f, runs) < 2e-3:
        runs *= 2
    times, end = [], time.perf_counter() + total
    while len(times) < 5 or time.perf_counter() < end:
        times.append(seconds(f, runs))
    return sorted(times)[len(times) // 2] * 1e6


def captured(f):
    """f in a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            f()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f()
    return graph.replay


def work(row):
    """The function of a row, with its arguments."""
    b, n = row["sequences"], row["tokens"]
    if row["what"] == "prompt":
        return model.prompt, [torch.zeros(b, n, dtype=torch.long, device=DEVICE)]
    cache = lambda: torch.zeros(b, HEADS, CONTEXT, WIDTH // HEADS, device=DEVICE, dtype=DTYPE)
    position = torch.full((1,), n - 1, dtype=torch.long, device=DEVICE)
    caches = [(cache(), cache()) for _ in range(LAYERS)]
    args = [torch.zeros(b, dtype=torch.long, device=DEVICE), position, caches, torch.arange(CONTEXT, device=DEVICE)]
    if row["what"] == "text":
        return model.token, args + [row.get("temperature", 0.0)]
    return model.step, args


def time_row(n, row):
    f, args = work(row)
    for name, make in {"eager": lambda: f, "compiled": lambda: torch.compile(f)}.items():
        with telling(n, name):
            way = make()
            run = lambda: way(*args)
            say(row=n, way=name, us=micros(run, job["seconds"]))
            if DEVICE == "cuda":  # of both, tilec takes the faster
                say(row=n, way="graph", us=micros(captured(run), job["seconds"]))
    torch._dynamo.reset()


@contextlib.contextmanager
def telling(n, way):
    """A way that fails is not counted, and says so."""
    try:
        yield
    except Exception as e:
        say(row=n, way=way, error=f"{type(e).__name__}: {e}".splitlines()[0])


def hugging_face(w):
    """Hugging Face's model with the weights, or why there is none."""
    try:
        from transformers import GPT2Config, GPT2LMHeadModel

        config = GPT2Config(vocab_size=w["wte.weight"].shape[0], n_positions=CONTEXT, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS)
        hf = GPT2LMHeadModel(config).to(device=DEVICE, dtype=DTYPE).eval()
        hf.transformer.load_state_dict(w, strict=False)  # some versions have masks among their tensors
        hf.tie_weights()
        hf.generation_config.eos_token_id = None
        return hf, ""
    except Exception as e:
        return None, f"{type(e).__name__}: {e}".splitlines()[0]


def time_text(n, row):
    """The time of a token behind the first of a text, in us: the difference that so many of them make."""
    ids = torch.zeros(row["sequences"], row["tokens"], dtype=torch.long, device=DEVICE)
    temperature = row.get("temperature", 0.0)
    how = dict(do_sample=True, temperature=temperature, top_k=0, top_p=1.0) if temperature > 0 else dict(do_sample=False)
    text = lambda new: hf.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, pad_token_id=0, **how)
    shortest = lambda new: min(seconds(lambda: text(new)) for _ in range(4))
    with telling(n, "generate"):
        few = row["new"] // 4
        say(row=n, way="generate", us=(shortest(1 + row["new"]) - shortest(1 + few)) / (row["new"] - few) * 1e6)


torch.set_grad_enabled(False)
torch.backends.cuda.matmul.allow_tf32 = job["tf32"]
weights = read_weights(job["weights"])
model = GPT(weights)
hf, no_transformers = hugging_face(weights)
say(peer=f"PyTorch {torch.__version__}" + (f" on {torch.cuda.get_device_name()}" if DEVICE == "cuda" else ""), no_transformers=no_transformers)
say(likeliest=model.prompt(torch.tensor([job["text"]], device=DEVICE))[0].argmax(-1).tolist())
for n, row in enumerate(job["rows"]):
    with telling(n, "any way"):
        time_row(n, row)
    if row["what"] == "text" and hf is not None:
        time_text(n, row)
