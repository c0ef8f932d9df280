"""What PyTorch takes for fused.tile, as more_peers.py says it of other files: each case is named by the graph. Products and convolutions of f32 may be tf32, as those of tilec are;
batch norms are those of training, and `compiled` chooses the order of an image's memory itself. With PART=4 images come in batches of a fourth, as `PART=4 bench/device.sh run beyond` has
them: at its own sizes the problems take gigabytes, and minutes to make."""
import os

import torch
import torch.nn.functional as F

import more_peers as m
from more_peers import case, f

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
m.CASES.clear()
PART = int(os.environ.get("PART", 1))


def bn(x, g, b):
    return F.batch_norm(x, None, None, g, b, True)


def lse(x, d=1):
    return torch.logsumexp(x, d, keepdim=True)


def flat(x):
    return x.mean(tuple(range(2, x.dim())))


def ch(*shape):
    """A number for each channel."""
    return f(shape[0], *(1 for _ in range(shape[1])))


def lin(name, fn, M=1024, K=8192, N=8192, more=()):
    case(name, lambda x, w, b, *r: fn(F.linear(x, w, b), *r), lambda: (f(M, K), f(N, K), f(N), *(f(*s) for s in more)))


def conv(name, fn, B, C, O, size, k=3, more=lambda: (), **options):
    """A convolution of an image or a volume, and fn of what it gives."""
    run = {2: F.conv2d, 3: F.conv3d}[len(size)]
    case(name, lambda x, w, b, *r: fn(run(x, w, b, **options), *r), lambda: (f(B // PART, C, *size), f(O, C, *([k] * len(size))), f(O), *more()))


def back(name, fn, B, C, O, size, k=3, more=lambda: (), **options):
    """A transposed one."""
    run = {2: F.conv_transpose2d, 3: F.conv_transpose3d}[len(size)]
    case(name, lambda x, w, b, *r: fn(run(x, w, b, **options), *r), lambda: (f(B // PART, C, *size), f(C, O, *([k] * len(size))), f(O), *more()))


def up(name, fn, B, C, O, size, k=3, extra=1, border=1, **options):
    back(name, fn, B, C, O, size, k, stride=2, padding=border, output_padding=extra, **options)


def two(O):
    return lambda: (f(O), f(O))


def sq(n):
    return (n, n)


hs, gelu, mish, leaky, gn = F.hardswish, F.gelu, F.mish, F.leaky_relu, F.group_norm
conv("conv2_relu_add", lambda h, d: torch.relu(h) + d, 128, 64, 128, sq(128), more=lambda: (ch(128, 2),))
up("up2_clamps", lambda h, d: torch.clamp(torch.clamp(h + d, 0, 1) * 2, 0, 1) / 2, 128, 64, 64, sq(128), more=lambda: (ch(64, 2),))
up("up3_layer_norm_pool", lambda h, g, d: gelu(F.avg_pool3d(F.layer_norm(h + 1.0, (64,), g, d), 2)), 32, 32, 64, (16, 32, 32), more=two(64))
conv("conv2_mish_mish", lambda h: mish(mish(h)), 64, 64, 128, sq(256))
up("up2_subtract_tanh", lambda h, d: torch.tanh(h - d), 32, 64, 64, sq(256), k=4, more=lambda: (ch(64, 2),))
conv("conv3_softmax_pools", lambda h: F.max_pool3d(F.max_pool3d(torch.softmax(h, 1), 2), 2), 128, 3, 16, (16, 32, 32))
conv("conv3_activations", lambda h, d: torch.sigmoid(gelu(leaky(torch.relu(h), 0.01))) + d, 64, 8, 32, (32, 64, 64), more=lambda: (ch(32, 3),))
conv("conv3_pool_sum", lambda h, d: (F.adaptive_avg_pool3d(F.max_pool3d(h / 2, 2), 1) + d).sum(1), 128, 8, 16, (16, 64, 64), more=lambda: (ch(16, 3),))
lin("linear_subtract_relu", lambda h: torch.relu((h - 2.0) * 1.5))
back("transposed2_pool_mean", lambda h: torch.tanh(torch.mean(F.hardtanh(F.max_pool2d(h, 2)), (2, 3), keepdim=True)), 128, 64, 64, sq(256), padding=1)
back("transposed2_norms", lambda h, g, d, e, b: gn(F.max_pool2d(torch.tanh(bn(h, g, d)), 2), 8, e, b), 512, 64, 128, sq(32), k=5, padding=1, more=lambda: (f(128), f(128), f(128), f(128)))
lin("linear_leaky", lambda h: leaky(h * 2, 0.1))
back("transposed3_mean_softmax", lambda h, d: torch.tanh(torch.softmax(h.mean(2, keepdim=True) + d, 1)) * 2, 16, 16, 64, (32, 128, 128), padding=1, more=lambda: (ch(64, 3),))
case("product_sum", lambda x, w: torch.sum((x @ w.t()) / 2, 1, keepdim=True) * 1.5, lambda: (f(1024, 8192), f(8192, 8192)))
up("up3_batch_norm_centre", lambda h, g, d: (lambda t: t - t.mean((2, 3, 4), keepdim=True))(bn(h, g, d)), 16, 16, 32, (16, 32, 32), extra=0, more=two(32))
up("up2_mish_clamp", lambda h: F.hardtanh(mish(h) + 0.5) * 2, 128, 64, 64, sq(128))
conv("conv2_instance_norm", lambda h: F.instance_norm(h) / 2, 128, 64, 128, sq(128))
lin("linear_sum_of_one", lambda h: lse(lse(torch.mean(torch.max(torch.sum(h, 1, keepdim=True), 1, keepdim=True)[0], 1, keepdim=True))))
back("transposed2_gelu_group_norm", lambda h, g, d: gn(gelu(h), 8, g, d), 128, 64, 64, sq(256), more=two(64))
up("up3_residuals", lambda h, d: (h + d + h) * h + h, 16, 32, 64, (16, 32, 32), more=lambda: (ch(64, 3),))
conv("conv2_sigmoid_group_norm", lambda h, e, s, g, d: gn(torch.sigmoid((h + e) * s), 8, g, d), 128, 8, 32, sq(256), more=lambda: (ch(32, 2), ch(32, 2), f(32), f(32)))
lin("linear_clamp_logsumexp", lambda h: (lambda u: u * mish(u))(lse(torch.clamp(h * 2 + h * 2, -10, 10))))
conv("conv3_group_norm_mean", lambda h, g, d: gn(h, 8, g, d).mean((1, 2, 3, 4)), 128, 3, 24, (24, 32, 32), more=two(24))
conv("conv3_min_softmax", lambda h: torch.softmax(torch.min(h, 2)[0], 1), 128, 3, 24, (24, 32, 32))
conv("conv2_min_tanh", lambda h: torch.tanh(torch.tanh(torch.min(h, 1, keepdim=True)[0])), 128, 16, 64, sq(256))
up("up3_add_hardswish", lambda h, z: (h + z) * hs(h + z), 128, 32, 64, (16, 16, 16), more=lambda: (f(128 // PART, 64, 32, 32, 32),))
conv("conv3_hardswish_group_norm", lambda h, g, d: flat(gn(hs(h), 4, g, d)), 1024, 3, 16, (16, 32, 32), k=4, more=two(16))
lin("linear_instance_norm", lambda h, z: (F.instance_norm(h[:, None, None])[:, 0, 0] + z) * z, more=((1024, 8192),))
lin("linear_mish_mish", lambda h: mish(mish(h)))
lin("linear_group_norm_clamp", lambda h, g, d: F.hardtanh(gn(h, 16, g, d), -2, 2), more=((8192,), (8192,)))
conv("conv2_min_add", lambda h, d: (torch.clamp(h, max=0.5) + d) * 2, 128, 64, 128, sq(128), more=lambda: (ch(128, 2),))
conv("conv2_scale_min", lambda h: torch.min(h * 2, 1, keepdim=True)[0], 64, 64, 128, sq(256))
lin("linear_scale_batch_norm M=1024", lambda h, s, g, d: bn(h * s, g, d), more=((8192,),) * 3)
up("up3_layer_norm_gelu", lambda h, g, d: gelu(F.layer_norm(h, (64,), g, d)) * 1.0, 32, 32, 64, (16, 32, 32), k=4, extra=0, more=two(64))
conv("conv2_hardswish_pool", lambda h: mish(F.max_pool2d(hs(h - 0.5), 2)), 128, 64, 128, sq(128))
up("up2_min_sum", lambda h: gelu(torch.sum(torch.min(h, 1, keepdim=True)[0], 2, keepdim=True)) + 0.5, 16, 64, 128, sq(128))
lin("linear_swish_group_norm", lambda h, e, g, d: gn(torch.sigmoid(h) * h + e, 64, g, d), 32768, 1024, 4096, more=((4096,),) * 3)
case("pool_up3_softmax", lambda x, w, b, s: torch.softmax(torch.clamp(F.conv_transpose3d(F.avg_pool3d(x, 2), w, b, stride=2, padding=1, output_padding=1), 0, 1).flatten(2), 2).unflatten(2, (32, 64, 64)) * s, lambda: (f(32 // PART, 32, 32, 64, 64), f(32, 64, 3, 3, 3), f(64), ch(64, 3)))
lin("linear_scale_batch_norm M=16384", lambda h, s, g, d: bn(h * s, g, d), 16384, 4096, 4096, more=((4096,),) * 3)
lin("linear_scale_add", lambda h: h * 0.5 + h, 16384, 4096, 4096)
lin("linear_batch_norm_gelu", lambda h, g, d: torch.relu(gelu(bn(h, g, d))), 16384, 4096, 4096, more=((4096,),) * 2)
back("transposed2_mean_logsumexp", lambda h, d: torch.sum(lse(h.mean((2, 3), keepdim=True) + d), (2, 3)) * 10, 16, 64, 128, sq(512), more=lambda: (ch(128, 2),))
conv("conv3_pool_logsumexp", lambda h: torch.relu(lse(F.max_pool3d(h, 2))), 4, 32, 64, (32, 128, 128), padding=1)
up("up2_scale_mean", lambda h: (h * 0.5).mean((2, 3), keepdim=True).mean((2, 3), keepdim=True), 16, 64, 128, sq(128))
case("linears_logsumexp", lambda x, w, b, v, c: torch.logsumexp(F.linear(torch.sigmoid(F.linear(x, w, b)), v, c), 1), lambda: (f(16384, 2048), f(4096, 2048), f(4096), f(1024, 4096), f(1024)))
conv("conv2_tanh_pool", lambda h: F.avg_pool2d(torch.tanh(h - 0.5) - 0.2, 2), 128, 64, 128, sq(128))
conv("conv3_mish_tanh", lambda h: torch.tanh(mish(h)), 16, 32, 64, (32, 64, 64))
conv("conv3_scales_sigmoid", lambda h, s, t: torch.sigmoid(torch.tanh(h * s) * t), 128, 3, 16, (16, 64, 64), more=lambda: (ch(16, 3), ch(16, 3)))
up("up3_softmax_sigmoid", lambda h: torch.sigmoid(torch.softmax(h, 1)), 16, 32, 64, (16, 32, 32))
up("up3_pool_add", lambda h, d: (F.avg_pool3d(h * 0.5, 2) + d) * 1.0, 128, 3, 16, (16, 32, 32), extra=0, more=lambda: (ch(16, 3),))
case("linear_mean_gelu_add", lambda x, w, b, d: gelu(lse((F.linear(x, w, b) - d).mean(1, keepdim=True))) + x, lambda: (f(2048, 8192), f(8192, 8192), f(8192), f(8192)))
conv("conv2_mish_batch_norm", lambda h, g, d: bn(torch.tanh(F.softplus(h)) * h, g, d), 64, 64, 128, sq(128), more=two(128))
lin("linear_clamp_gelu", lambda h: gelu(F.hardtanh(h * 0.5, -2, 2)), M=2048)
conv("conv2_scale_leaky_gelu", lambda h, s: gelu(leaky(h * s)), 64, 64, 64, sq(256), more=lambda: (ch(64, 2),))
lin("linear_pool_sum", lambda h: torch.sum(F.max_pool1d(h.unsqueeze(1), 2).squeeze(1), 1) * 0.5, 128, 32768, 32768)
lin("linear_sigmoid_sum", lambda h: torch.sum(torch.sigmoid(h), 1, keepdim=True), 128, 32768, 32768)
conv("conv2_relu_hardswish", lambda h: (lambda t: t * torch.clamp((t + 3) / 6, 0, 1))(torch.relu(h)), 128, 8, 64, sq(128))
up("up3_logsumexp_clamp", lambda h: (lambda t: torch.clamp(t * torch.sigmoid(t + 3) / 6 - 0.5, -1, 1))(lse(h)), 128, 3, 16, (16, 32, 32), extra=0)
lin("linear_swish_scale", lambda h: h * torch.sigmoid(h) * 2, 128, 32768, 32768)
up("up3_swish_group_norm", lambda h, g, d: hs(gn(torch.sigmoid(h) * h, 4, g, d)), 128, 3, 16, (16, 32, 32), extra=0, more=two(16))
back("transposed3_relu_group_norm", lambda h, g, d: gn(torch.relu(h), 8, g, d), 16, 64, 128, (32, 32, 32), more=two(128))
lin("linear_group_norm_leaky", lambda h, g, d: leaky(gn(h, 512, g, d)) * 2, more=((8192,), (8192,)))
lin("linear_relu_divide", lambda h: torch.relu(h) / 2)
lin("linear_logsumexp_gelu", lambda h: gelu(gelu(leaky(leaky(lse(h))))))
conv("conv2_pool_sigmoid_sum", lambda h: torch.sigmoid(F.avg_pool2d(h, 4)).sum((1, 2, 3)), 128, 8, 64, sq(384))
lin("linear_softmax", lambda h: torch.softmax(h, 1), 128, 16384, 16384)
conv("conv2_gelu_mean", lambda h: F.adaptive_avg_pool2d(gelu(h), 1), 128, 8, 64, sq(256))
lin("linear_min_subtract", lambda h: torch.clamp(h, max=2.0) - 2.0, 128, 16384, 16384)
conv("conv2_hardswish_relu", lambda h: torch.relu(hs(h)), 128, 8, 64, sq(128))
lin("linear_sigmoid_add", lambda h: torch.sigmoid(h) * 2 + h)
conv("conv2_divide_leaky", lambda h: leaky(h / 2), 128, 8, 64, sq(128))
up("up3_batch_norm_pools", lambda h, g, d: F.avg_pool3d(F.avg_pool3d(bn(h, g, d), 2), 2), 64, 3, 16, (32, 32, 32), extra=0, more=two(16))
conv("conv2_batch_norm_scale", lambda h, g, d: bn(h, g, d) * 2, 128, 8, 64, sq(128), more=two(64))
up("up3_leaky_pool", lambda h, s: F.max_pool3d(leaky(leaky(h, 0.2) * s, 0.2), 2), 16, 16, 32, (16, 32, 32), more=lambda: (ch(32, 3),))
lin("linear_group_norm_min", lambda h, g, d, e: torch.min(gn(h, 512, g, d), 1, keepdim=True)[0] + e.view(1, -1, 1, 1), more=((8192,),) * 3)
case("product_add_relu", lambda x, w, d: torch.relu(x @ w.t() + d), lambda: (f(1024, 8192), f(8192, 8192), f(8192)))
back("transposed3_batch_norm_mean", lambda h, g, d: flat(bn(h * 2, g, d)), 16, 64, 128, (16, 32, 32), k=5, more=two(128))
up("up3_pools_sum", lambda h: F.max_pool3d(F.max_pool3d(h, 2), 3).sum(1, keepdim=True), 16, 32, 64, (32, 32, 32), k=5, extra=0, border=2)
conv("conv3_instance_norm_max", lambda h, s: torch.max(torch.clamp(F.instance_norm(h * s), -1, 1) * s, 1)[0], 128, 3, 16, (16, 32, 32), more=lambda: (ch(16, 3),))
lin("linear_max_gelu", lambda h: (lambda t: gelu(t - t.mean(1, keepdim=True)))(torch.max(h, 1, keepdim=True).values))
lin("linear_swish_clamp_tanh", lambda h: torch.clamp(torch.tanh(torch.clamp(h * torch.sigmoid(h) / 2, -1, 1)), -1, 1))
conv("conv2_tanh_add_pool", lambda h, d: F.max_pool2d(torch.tanh(h) * 2 + d, 4), 128, 8, 64, sq(256), more=lambda: (ch(64, 2),))
conv("conv3_group_norm_clamp", lambda h, g, d: torch.clamp(torch.clamp(gn(h, 8, g, d), max=0.0), 0, 1), 128, 3, 16, (16, 64, 64), more=two(16))
lin("linear_batch_norm_softmax", lambda h, g, d: torch.softmax(bn(h, g, d) * 1.0, 1), more=((8192,),) * 2)
conv("conv2_group_norm_pool", lambda h, s, g, d: torch.clamp(F.max_pool2d(gn(h, 16, g, d) * s, 4), 0, 1), 128, 8, 64, sq(128), more=lambda: (ch(64, 2), f(64), f(64)))
lin("linear_divide_gelu", lambda h: gelu(h / 10))
conv("conv2_subtract_mish", lambda h: mish(h - 0.5 - 0.2), 128, 8, 64, sq(256))
lin("linear_group_norm_swish", lambda h, s, g, d: F.silu(F.silu(gn(h, 256, g, d)) * s), more=((8192,),) * 3)
up("up3_pool_softmax_max", lambda h, d: torch.max(F.silu(torch.softmax(F.max_pool3d(h, 2), 1) - d), 1)[0], 128, 3, 16, (16, 32, 32), more=lambda: (ch(16, 3),))
conv("conv3_leaky_add_gelu", lambda h, d: gelu(torch.clamp(leaky(h, 0.2) + d, -1, 1)), 128, 8, 64, (16, 64, 64), more=lambda: (ch(64, 3),))
up("up2_softmax_add_sigmoid", lambda h, d: torch.sigmoid((torch.softmax(h, 1) + d) * 2), 128, 64, 128, sq(64), k=4, more=lambda: (ch(128, 2),))
conv("conv2_group_norm_logsumexp", lambda h, g, d: lse(h + hs(torch.tanh(gn(h, 16, g, d)))), 128, 8, 64, sq(128), more=two(64))
back("up2_min_gelu", lambda h: gelu(torch.clamp(h + 0.5, max=0.0)) * 2, 128, 64, 128, sq(64), k=4, stride=2)
lin("linear_mish_group_norm", lambda h, e, g, d: gn(mish(F.hardtanh(h + e)), 256, g, d), more=((8192,),) * 3)
lin("linear_activations", lambda h, d: F.hardtanh(gelu(torch.tanh(F.silu(h + d)))), more=((8192,),))
up("up3_pool_mean_clamp", lambda h: torch.clamp(F.adaptive_avg_pool3d(F.max_pool3d(h * 0.5, 2), 1), 0, 1), 128, 3, 16, (16, 32, 32), extra=0)
lin("linear_batch_norm_swish", lambda h, g, d: F.silu((bn(h, g, d) + 0.5) / 1.0), more=((8192,),) * 2)
lin("linear_pool_gelu_max", lambda h: torch.max(gelu(F.avg_pool1d(h.unsqueeze(1), 16).squeeze(1)) * 2, 1).values)
lin("linear_gelu_softmax", lambda h: torch.softmax(gelu(h), 1))
up("up3_clamp_divide", lambda h: torch.clamp(h, min=-1.0) / 2, 16, 64, 128, (24, 48, 48), extra=0)

if __name__ == "__main__":
    m.main()
