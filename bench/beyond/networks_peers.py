"""What PyTorch takes for networks.tile, as fused_peers.py says it of fused.tile: each case is named by the graph, and has its arguments. Products and convolutions of f32 may be tf32, as
those of tilec are; batch norms are those of training. The recurrent networks are PyTorch's own, of cuDNN: their weights come as a module, since cuDNN wants them one behind the other."""
import math

import torch
import torch.nn.functional as F

import more_peers as m
from more_peers import case, f

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
m.CASES.clear()
relu, gelu, lin = torch.relu, F.gelu, F.linear


def bn(x, g, b):
    return F.batch_norm(x, None, None, g, b, True)


def ln(x, g, b):
    return F.layer_norm(x, x.shape[-1:], g, b)


def conv(x, w, b=None, stride=1, padding=0, groups=1):
    return F.conv2d(x, w, b, stride, padding, 1, groups)


def fs(*shapes):
    return tuple(f(*shape) for shape in shapes)


# ---- products -----------------------------------------------------------------------------------------------------------------------------


def mlp(x, w1, b1, w2, b2, w3, b3):
    return lin(relu(lin(relu(lin(x, w1, b1)), w2, b2)), w3, b3)


def deep_mlp(x, w1, b1, w, b, w2, b2):
    h = relu(lin(x, w1, b1))
    for l in range(len(w)):
        h = relu(lin(h, w[l], b[l]))
    return lin(h, w2, b2)


def mlp_of(M, K, N, O):
    return lambda: fs((M, K), (N, K), (N,), (N, N), (N,), (O, N), (O,))


case("mlp N=16384", mlp, mlp_of(128, 16384, 16384, 8192))
case("mlp N=32768", mlp, mlp_of(128, 16384, 32768, 16384))
case("deep_mlp", deep_mlp, lambda: fs((1024, 8192), (1024, 8192), (1024,), (15, 1024, 1024), (15, 1024), (8192, 1024), (8192,)))

# ---- images -------------------------------------------------------------------------------------------------------------------------------


def lenet(x, w1, b1, w2, b2, w3, b3, w4, b4, w5, b5):
    h = F.max_pool2d(relu(conv(x, w1, b1)), 2)
    h = F.max_pool2d(relu(conv(h, w2, b2)), 2)
    return lin(relu(lin(relu(lin(h.flatten(1), w3, b3)), w4, b4)), w5, b5)


def alexnet(x, w1, b1, w2, b2, w3, b3, w4, b4, w5, b5, w6, b6, w7, b7, w8, b8):
    h = F.max_pool2d(relu(conv(x, w1, b1, 4, 2)), 3, 2)
    h = F.max_pool2d(relu(conv(h, w2, b2, 1, 2)), 3, 2)
    h = relu(conv(relu(conv(h, w3, b3, 1, 1)), w4, b4, 1, 1))
    h = F.max_pool2d(relu(conv(h, w5, b5, 1, 1)), 3, 2)
    return mlp(h.flatten(1), w6, b6, w7, b7, w8, b8)


def inception(x, w1, b1, w2, b2, w3, b3, w4, b4, w5, b5, w6, b6):
    three = conv(conv(x, w2, b2), w3, b3, padding=1)
    five = conv(conv(x, w4, b4), w5, b5, padding=2)
    return torch.cat([conv(x, w1, b1), three, five, conv(F.max_pool2d(x, 3, 1, 1), w6, b6)], 1)


def basic_block(x, w1, w2, w3, g, b, stride=1):
    h = relu(bn(conv(x, w1, None, stride, 1), g[0], b[0]))
    h = bn(conv(h, w2, padding=1), g[1], b[1])
    return relu(h + bn(conv(x, w3, None, stride), g[2], b[2]))


def same_block(x, w, g, b):
    h = relu(bn(conv(x, w[0], padding=1), g[0], b[0]))
    return relu(bn(conv(h, w[1], padding=1), g[1], b[1]) + x)


def resnet18(x, w0, w1, g1, b1, w2, v2, u2, g2, b2, w3, v3, u3, g3, b3, w4, v4, u4, g4, b4, w5, b5):
    h = F.max_pool2d(relu(bn(conv(x, w0, None, 2, 3), g1[0], b1[0])), 3, 2, 1)
    h = same_block(h, w1[:2], g1[1:3], b1[1:3])
    h = same_block(h, w1[2:], g1[3:], b1[3:])
    for w, v, u, g, b in (w2, v2, u2, g2, b2), (w3, v3, u3, g3, b3), (w4, v4, u4, g4, b4):
        h = basic_block(h, w, v[0], u, g[:3], b[:3], 2)
        h = same_block(h, v[1:], g[3:], b[3:])
    return lin(h.mean((2, 3)), w5, b5)


def vgg16(x, w1, v1, b1, w2, v2, b2, w3, v3, b3, w4, v4, b4, w6, b6, w7, b7, w8, b8):
    def several(h, w, b):
        for l in range(len(w)):
            h = relu(conv(h, w[l], b[l], padding=1))
        return F.max_pool2d(h, 2)

    h = several(relu(conv(x, w1, b1[0], padding=1)), v1, b1[1:])
    h = several(relu(conv(h, w2, b2[0], padding=1)), v2, b2[1:])
    h = several(relu(conv(h, w3, b3[0], padding=1)), v3, b3[1:])
    h = several(relu(conv(h, w4, b4[0], padding=1)), v4[:2], b4[1:3])
    h = several(h, v4[2:], b4[3:])
    return mlp(h.flatten(1), w6, b6, w7, b7, w8, b8)


def transition(x, g, b, w):
    return F.avg_pool2d(conv(relu(bn(x, g, b)), w), 2)


def dense_block(x, *layers):
    for g, b, w in zip(layers[::3], layers[1::3], layers[2::3]):
        x = torch.cat([x, conv(relu(bn(x, g, b)), w, padding=1)], 1)
    return x


def fire(x, w1, b1, w2, b2, w3, b3):
    h = relu(conv(x, w1, b1))
    return torch.cat([relu(conv(h, w2, b2)), relu(conv(h, w3, b3, padding=1))], 1)


def separable(x, d, n, w, m, stride=1):
    return relu(bn(conv(relu(bn(conv(x, d, None, stride, 1, len(d)), n[0], n[1])), w), m[0], m[1]))


def mobilenet(x, w0, n0, *r):
    *r, w, b = r
    h = relu(bn(conv(x, w0, None, 2, 1), n0[0], n0[1]))
    for at, stride in enumerate((1, 2, 1, 2, 1, 2, 0, 2, 1)):
        d, n, v, m = r[4 * at : 4 * at + 4]
        if stride:
            h = separable(h, d, n, v, m, stride)
        else:
            for l in range(len(d)):
                h = separable(h, d[l], n[l], v[l], m[l])
    return lin(h.mean((2, 3)), w, b)


def mobilenet_args():
    r = [(10, 3, 224, 224), (32, 3, 3, 3), (2, 32)]
    for c, o, some in (32, 64, ()), (64, 128, ()), (128, 128, ()), (128, 256, ()), (256, 256, ()), (256, 512, ()), (512, 512, (5,)), (512, 1024, ()), (1024, 1024, ()):
        r += [(*some, c, 1, 3, 3), (*some, 2, c), (*some, o, c, 1, 1), (*some, 2, o)]
    return fs(*r, (1000, 1024), (1000,))


def mbconv(x, w1, g1, b1, w2, g2, b2, w3, g3, b3):
    h = F.relu6(bn(conv(x, w1), g1, b1))
    h = F.relu6(bn(conv(h, w2, None, 2, 2, len(w2)), g2, b2))
    return bn(conv(h, w3), g3, b3)


def shuffle_unit(x, w1, g1, b1, w2, g2, b2, w3, g3, b3, w4, g4, b4, G=3):
    h = relu(bn(conv(x, w1, groups=G), g1, b1))
    h = bn(conv(h, w2, padding=1, groups=len(w2)), g2, b2)
    h = h.unflatten(1, (G, -1)).transpose(1, 2).flatten(1, 2)
    return relu(bn(conv(h, w3, groups=G), g3, b3)) + bn(conv(x, w4), g4, b4)


def double_conv(x, w, v, p):
    h = torch.softmax(bn(conv(x, w, p[0], padding=1), p[1], p[2]), -1)
    return torch.softmax(bn(conv(h, v, p[3], padding=1), p[4], p[5]), -1)


def unet(x, *r):
    *r, w, b = r
    h, kept = x, []
    for at in range(0, 12, 3):
        kept.append(double_conv(h, *r[at : at + 3]))
        h = F.max_pool2d(kept[-1], 2)
    h = double_conv(h, *r[12:15])
    for at in range(15, len(r), 5):
        u, c = r[at], r[at + 1]
        h = double_conv(torch.cat([F.conv_transpose2d(h, u, c, stride=2), kept.pop()], 1), *r[at + 2 : at + 5])
    return conv(h, w, b)


def unet_args(B=8, C=8, H=64, W=512, N=64, O=4):
    def double(i, o):
        return [(o, i, 3, 3), (o, o, 3, 3), (6, o)]

    r = [(B, C, H, W)] + double(C, N)
    for k in 1, 2, 4, 8:
        r += double(k * N, 2 * k * N)
    for k in 8, 4, 2, 1:
        r += [(2 * k * N, k * N, 2, 2), (k * N,)] + double(2 * k * N, k * N)
    return fs(*r, (O, N, 1, 1), (O,))


def dense_args():
    r = []
    for at in range(6):
        c = 32 + 32 * at
        r += [(c,), (c,), (32, c, 3, 3)]
    return fs((10, 32, 224, 224), *r)


def of(*shapes):
    return lambda: fs(*shapes)


case("lenet", lenet, of((4096, 1, 32, 32), (6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 400), (120,), (84, 120), (84,), (20, 84), (20,)))
case(
    "alexnet",
    alexnet,
    of(
        (1024, 3, 224, 224), (96, 3, 11, 11), (96,), (256, 96, 5, 5), (256,), (384, 256, 3, 3), (384,), (384, 384, 3, 3), (384,), (256, 384, 3, 3), (256,),
        (4096, 9216), (4096,), (4096, 4096), (4096,), (1000, 4096), (1000,),
    ),
)  # fmt: skip
case("inception", inception, of((10, 480, 224, 224), (192, 480, 1, 1), (192,), (96, 480, 1, 1), (96,), (208, 96, 3, 3), (208,), (16, 480, 1, 1), (16,), (48, 16, 5, 5), (48,), (64, 480, 1, 1), (64,)))
case("basic_block", basic_block, of((10, 3, 224, 224), (64, 3, 3, 3), (64, 64, 3, 3), (64, 3, 1, 1), (3, 64), (3, 64)))
case(
    "resnet18",
    resnet18,
    of(
        (2, 3, 224, 224), (64, 3, 7, 7), (4, 64, 64, 3, 3), (5, 64), (5, 64), (128, 64, 3, 3), (3, 128, 128, 3, 3), (128, 64, 1, 1), (5, 128), (5, 128),
        (256, 128, 3, 3), (3, 256, 256, 3, 3), (256, 128, 1, 1), (5, 256), (5, 256), (512, 256, 3, 3), (3, 512, 512, 3, 3), (512, 256, 1, 1), (5, 512), (5, 512),
        (1000, 512), (1000,),
    ),
)  # fmt: skip
case(
    "vgg16",
    vgg16,
    of(
        (10, 3, 224, 224), (64, 3, 3, 3), (1, 64, 64, 3, 3), (2, 64), (128, 64, 3, 3), (1, 128, 128, 3, 3), (2, 128), (256, 128, 3, 3), (2, 256, 256, 3, 3), (3, 256),
        (512, 256, 3, 3), (5, 512, 512, 3, 3), (6, 512), (4096, 25088), (4096,), (4096, 4096), (4096,), (1000, 4096), (1000,),
    ),
)  # fmt: skip
case("transition", transition, of((128, 32, 256, 256), (32,), (32,), (64, 32, 1, 1)))
case("dense_block", dense_block, dense_args)
case("fire", fire, of((128, 3, 256, 256), (6, 3, 1, 1), (6,), (64, 6, 1, 1), (64,), (64, 6, 3, 3), (64,)))
case("mobilenet", mobilenet, mobilenet_args)
case("mbconv", mbconv, of((10, 112, 224, 224), (672, 112, 1, 1), (672,), (672,), (672, 1, 5, 5), (672,), (672,), (192, 672, 1, 1), (192,), (192,)))
case("shuffle_unit", shuffle_unit, of((10, 240, 224, 224), (120, 80, 1, 1), (120,), (120,), (120, 1, 3, 3), (120,), (120,), (480, 40, 1, 1), (480,), (480,), (480, 240, 1, 1), (480,), (480,)))
case("unet", unet, unet_args)

# ---- attention ----------------------------------------------------------------------------------------------------------------------------


def heads(x, w, b, H):
    """Queries, keys and values, [batch, heads, tokens, each]."""
    return (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in lin(x, w, b).chunk(3, -1))


def self_attention(x, w1, b1, w2, b2, H):
    """x is [tokens, batch, channels]."""
    q, k, v = heads(x.transpose(0, 1), w1, b1, H)
    return lin(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).transpose(0, 1), w2, b2)


def vit(x, w0, b0, t, p, w1, b1, w2, b2, w3, b3, w4, b4, g, d, w5, b5, w6, b6, H=8):
    h = lin(x.unfold(2, 16, 16).unfold(3, 16, 16).reshape(len(x), -1, 768), w0, b0)
    h = torch.cat([t.expand(len(x), 1, -1), h], 1) + p
    for l in range(len(w1)):
        h = ln(h + self_attention(h, w1[l], b1[l], w2[l], b2[l], H), g[l, 0], d[l, 0])
        h = ln(h + lin(relu(lin(h, w3[l], b3[l])), w4[l], b4[l]), g[l, 1], d[l, 1])
    return lin(gelu(lin(h[:, 0], w5, b5)), w6, b6)


def vision_attention(x, w1, b1, w2, b2, g, b, H=4):
    t = x.flatten(2).permute(2, 0, 1)
    return ln(self_attention(t, w1, b1, w2, b2, H) + t, g, b).permute(1, 2, 0)


def causal(x, w1, b1, w2, b2, H=8):
    q, k, v = heads(x, w1, b1, H)
    return lin(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2), w2, b2)


def gpt_block(x, g, b, w1, b1, w2, b2, w3, b3, w4, b4, H=8):
    h = x + causal(ln(x, g[0], b[0]), w1, b1, w2, b2, H)
    return h + lin(gelu(lin(ln(h, g[1], b[1]), w3, b3), approximate="tanh"), w4, b4)


def relu_attention(x, w, b, H=12):
    q, k, v = heads(x, w, b, H)
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), -math.inf)
    return (relu(s) @ v).transpose(1, 2).flatten(2)


def windows(x, W):
    b, y, v, c = x.shape
    return x.view(b, y // W, W, v // W, W, c).transpose(2, 3).reshape(-1, W * W, c)


def swin_layer(x, t, at, mask, w1, b1, e, u1, c1, u2, w2, b2, g, d, w3, b3, w4, b4, H, W, M):
    h = windows(torch.roll(x, (-M, -M), (1, 2)) if M else x, W)
    q, k, v = heads(h, w1, b1, H)
    s = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * torch.clamp(e, max=math.log(100)).exp().view(-1, 1, 1)
    far = lin(relu(lin(t, u1, c1)), u2)
    s = s + 16 * torch.sigmoid(far[at].permute(2, 0, 1))
    if M:
        s = (s.unflatten(0, (-1, len(mask))) + mask[:, None]).flatten(0, 1)
    o = lin((torch.softmax(s, -1) @ v).transpose(1, 2).flatten(2), w2, b2)
    o = o.view(len(x), x.shape[1] // W, x.shape[2] // W, W, W, -1).transpose(2, 3).reshape(x.shape)
    h = x + ln(torch.roll(o, (M, M), (1, 2)) if M else o, g[0], d[0])
    return h + ln(lin(gelu(lin(h, w3, b3)), w4, b4), g[1], d[1])


def swin(x, w0, b0, g0, d0, t, *r, H=3, W=7, M=3):
    *r, g5, d5, w5, b5 = r
    far = torch.stack(torch.meshgrid(torch.arange(W, device=x.device), torch.arange(W, device=x.device), indexing="ij")).flatten(1)
    far = far[:, :, None] - far[:, None] + W - 1
    at = far[0] * (2 * W - 1) + far[1]
    h = ln(conv(x, w0, b0, 4).permute(0, 2, 3, 1), g0, d0)
    for stage in range(4):
        if stage:
            w, g, d = r[:3]
            r = r[3:]
            h = ln(lin(torch.cat([h[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1), w), g, d)
        mask, *each = r[:15]
        r = r[15:]
        for l in range(len(each[0])):
            h = swin_layer(h, t, at, mask, *(w[l] for w in each), H << stage, W, M if l % 2 and stage < 3 else 0)
    return lin(ln(h, g5, d5).mean((1, 2)), w5, b5)


def swin_args(B=10, Z=7, C=96, L=6, N=512, O=1000, H=3, W=7):
    r = [(B, 3, 32 * Z, 32 * Z), (C, 3, 4, 4), (C,), (C,), (C,), ((2 * W - 1) ** 2, 2)]
    for at, l in enumerate((2, 2, L, 2)):
        c, h = C << at, H << at
        if at:
            r += [(c, 2 * c), (c,), (c,)]
        r += [(((8 * Z >> at) // W) ** 2, W * W, W * W), (l, 3 * c, c), (l, 3 * c), (l, h), (l, N, 2), (l, N), (l, h, N), (l, c, c), (l, c), (l, 2, c), (l, 2, c)]
        r += [(l, 4 * c, c), (l, 4 * c), (l, c, 4 * c), (l, c)]
    return fs(*r, (8 * C,), (8 * C,), (O, 8 * C), (O,))


case("vit", vit, of((2, 3, 224, 224), (512, 768), (512,), (512,), (197, 512), (6, 1536, 512), (6, 1536), (6, 512, 512), (6, 512), (6, 2048, 512), (6, 2048), (6, 512, 2048), (6, 512), (6, 2, 512), (6, 2, 512), (2048, 512), (2048,), (10, 2048), (10,)))
case("swin", swin, swin_args)
case("vision_attention", vision_attention, of((2, 128, 128, 128), (384, 128), (384,), (128, 128), (128,), (128,), (128,)))
case("causal_attention", causal, of((128, 512, 768), (2304, 768), (2304,), (768, 768), (768,)))
case("gpt_block", gpt_block, of((128, 512, 768), (2, 768), (2, 768), (2304, 768), (2304,), (768, 768), (768,), (3072, 768), (3072,), (768, 3072), (768,)))
case("relu_attention", relu_attention, of((16, 1024, 768), (2304, 768), (2304,)))

# ---- sequences ----------------------------------------------------------------------------------------------------------------------------


def rnn(x, h, w1, b1, w2, b2):
    return lin(torch.tanh(lin(torch.cat([x, h], 1), w1, b1)), w2, b2)


def lstm(x, h0, c0, net, w2, b2):
    return lin(net(x, (h0, c0))[0][:, -1], w2, b2)


def gru(x, h0, net):
    return net(x, h0)[0]


def net_vlad(x, w, g, b, c):
    K = c.shape[1]
    h = F.batch_norm(x.flatten(0, 1) @ w, None, None, g, b, True)
    a = torch.softmax(h, 1)[:, :K].unflatten(0, x.shape[:2])
    v = (a.transpose(1, 2) @ x).transpose(1, 2) - a.sum(1, keepdim=True) * c
    return F.normalize(F.normalize(v).flatten(1))


def sums_between(x):
    s = x.cumsum(-1)
    d = s[..., :, None] - s[..., None, :]
    return d.masked_fill(torch.ones(d.shape[-2:], dtype=torch.bool, device=x.device).triu(1), -math.inf)


def mamba(x, a, b, c, L=64):
    x, a, b, c = (t.unflatten(1, (-1, L)) for t in (x, a, b, c))
    a = a.permute(0, 3, 1, 2)
    s = a.cumsum(-1)
    inside = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", c, b, torch.exp(sums_between(a)), x)
    states = torch.einsum("bclhn,bhcl,bclhp->bchpn", b, torch.exp(s[..., -1:] - s), x)
    states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
    left = torch.exp(sums_between(F.pad(s[..., -1], (1, 0))))
    states = torch.einsum("bhzc,bchpn->bzhpn", left, states)[:, :-1]
    return (inside + torch.einsum("bclhn,bchpn,bhcl->bclhp", c, states, torch.exp(s))).flatten(1, 2)


case("rnn", rnn, of((256, 16384), (256, 16384), (16384, 32768), (16384,), (8192, 16384), (8192,)))
case("lstm", lstm, lambda: (f(10, 512, 128), f(6, 10, 256), f(6, 10, 256), torch.nn.LSTM(128, 256, 6, batch_first=True).cuda(), f(10, 256), f(10)))
case("gru", gru, lambda: (f(512, 10, 128), f(6, 10, 256), torch.nn.GRU(128, 256, 6).cuda()))
case("net_vlad", net_vlad, of((2048, 100, 512), (512, 48), (48,), (48,), (512, 32)))
case("mamba", mamba, of((2048, 128, 8, 64), (2048, 128, 8), (2048, 128, 8, 16), (2048, 128, 8, 16)))

if __name__ == "__main__":
    m.main()
