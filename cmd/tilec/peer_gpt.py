"""Times a GPT-2 or a Llama in PyTorch, for `tilec bench gpt`, which runs this script and says on stdin, in JSON, what to time.

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
CONFIG = job["config"]
IS_LLAMA = CONFIG["model_type"] == "llama"
NAMES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings") if IS_LLAMA else ("n_layer", "n_head", "n_embd", "n_positions")
LAYERS, HEADS, WIDTH, CONTEXT = (CONFIG[key] for key in NAMES)
GROUPS, SIZE = (CONFIG["num_key_value_heads"], CONFIG["head_dim"]) if IS_LLAMA else (HEADS, WIDTH // HEADS)


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


class Network:
    def token(self, tokens, position, caches, index, temperature):
        """Chooses a token for each of those in tokens, and puts them and their position in place of these."""
        logits = self.step(tokens, position, caches, index)
        if temperature > 0:  # the largest of the logarithms of a probability and a random number, without their logarithms
            p = F.softmax(logits.float() / temperature, -1)
            logits = p / torch.empty_like(p).exponential_()
        tokens.copy_(logits.argmax(-1))
        position.copy_((position + 1).clamp(max=CONTEXT - 1))


class GPT(Network):
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


class Llama(Network):
    """Queries, keys and values are one product, and gate and up another: nobody's checkpoint has them so, and everybody's server."""

    def __init__(self, w):
        names = lambda n, *parts: torch.cat([w[f"model.layers.{n}.{part}.weight"] for part in parts])
        self.table, self.final = w["model.embed_tokens.weight"], w["model.norm.weight"]
        self.head = w.get("lm_head.weight", self.table)
        self.layers = [
            (names(n, "input_layernorm"), names(n, "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), names(n, "self_attn.o_proj"),
             names(n, "post_attention_layernorm"), names(n, "mlp.gate_proj", "mlp.up_proj"), names(n, "mlp.down_proj"))
            for n in range(LAYERS)
        ]
        r = CONFIG["rope_scaling"]
        frequency = CONFIG["rope_theta"] ** (-torch.arange(0, SIZE, 2, device=DEVICE).float() / SIZE)
        turns = r["original_max_position_embeddings"] * frequency / (2 * torch.pi)
        kept = ((turns - r["low_freq_factor"]) / (r["high_freq_factor"] - r["low_freq_factor"])).clamp(0, 1)
        self.frequency = frequency * (kept + (1 - kept) / r["factor"])

    def norm(self, x, gain):
        return F.rms_norm(x, (WIDTH,), gain, CONFIG["rms_norm_eps"])

    def turn(self, x, cosine, sine):
        a, b = x.float().chunk(2, -1)
        return torch.cat((a * cosine - b * sine, b * cosine + a * sine), -1).to(x.dtype)

    def layer(self, x, weights, angle, attend):
        """x [B, S, C], the angles [S, D / 2] of its positions: what the next layer gets."""
        g1, qkv, o, g2, up, down = weights
        b, s, _ = x.shape
        heads = (self.norm(x, g1) @ qkv.T).view(b, s, HEADS + 2 * GROUPS, SIZE).transpose(1, 2)
        q, k, v = heads.split((HEADS, GROUPS, GROUPS), 1)
        cosine, sine = angle.cos(), angle.sin()
        y = attend(self.turn(q, cosine, sine), self.turn(k, cosine, sine), v)
        x = x + y.transpose(1, 2).reshape(b, s, HEADS * SIZE) @ o.T
        gate, up = (self.norm(x, g2) @ up.T).chunk(2, -1)
        return x + (F.silu(gate) * up) @ down.T

    def step(self, tokens, position, caches, index):
        x, angle = self.table[tokens][:, None], position[:, None] * self.frequency
        mask = (index <= position)[None, None, None, :]
        for weights, (keys, values) in zip(self.layers, caches):
            def attend(q, k, v):
                keys.index_copy_(2, position, k)
                values.index_copy_(2, position, v)
                return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, enable_gqa=True)
            x = self.layer(x, weights, angle, attend)
        return self.norm(x[:, 0], self.final) @ self.head.T

    def prompt(self, tokens):
        x, angle = self.table[tokens], torch.arange(tokens.shape[1], device=DEVICE)[:, None] * self.frequency
        for weights in self.layers:
            x = self.layer(x, weights, angle, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))
        return self.norm(x, self.final) @ self.head.T


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
    cache = lambda: torch.zeros(b, GROUPS, CONTEXT, SIZE, device=DEVICE, dtype=DTYPE)
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
        from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

        if IS_LLAMA:
            hf = LlamaForCausalLM(LlamaConfig(**{key: value for key, value in CONFIG.items() if key != "model_type"})).to(device=DEVICE, dtype=DTYPE).eval()
            hf.load_state_dict(w, strict=False)  # a head that is tied has no weights of its own
            hf.tie_weights()
            hf.generation_config.eos_token_id = None
            return hf, ""
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
model = Llama(weights) if IS_LLAMA else GPT(weights)
hf, no_transformers = hugging_face(weights)
say(peer=f"PyTorch {torch.__version__}" + (f" on {torch.cuda.get_device_name()}" if DEVICE == "cuda" else ""), no_transformers=no_transformers)
say(likeliest=model.prompt(torch.tensor([job["text"]], device=DEVICE))[0].argmax(-1).tolist())
for n, row in enumerate(job["rows"]):
    with telling(n, "any way"):
        time_row(n, row)
    if row["what"] == "text" and hf is not None:
        time_text(n, row)
