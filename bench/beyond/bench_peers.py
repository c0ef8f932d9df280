"""What PyTorch takes for kernelbench.tile, as more_peers.py says it of other files: each case is named by the kernel and, where there are several sizes of it, the first words of
its arguments in sizes.txt. Products and convolutions of f32 may be tf32, as those of tilec are. Convolutions are timed as they lie and with their channels last, too."""
import torch
import torch.nn.functional as F

import more_peers as m
from more_peers import case, f, n, only, u

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
m.CASES.clear()


def conv(name, fn, x, w, *more):
    """A convolution of an image and weights of these shapes."""
    only(name, fn, lambda: (f(*x), f(*w), *(f(*s) for s in more)))
    if len(x) > 3:
        last = torch.channels_last if len(x) == 4 else torch.channels_last_3d
        only(f"{name}, channels last", fn, lambda: (f(*x).to(memory_format=last), f(*w).to(memory_format=last), *(f(*s) for s in more)))


case("matvec", lambda a, b: a @ b, lambda: (f(512, 262144), f(262144)))
case("matmul K=262144", lambda a, b: a @ b, lambda: (f(256, 262144), f(262144, 256)))
case("matmul K=64", lambda a, b: a @ b, lambda: (f(16384, 64), f(64, 16384)))
case("matmul K=32", lambda a, b: a @ b, lambda: (f(16384, 32), f(32, 16384)))
case("matmul K=8192", lambda a, b: a @ b, lambda: (f(2048, 8192), f(8192, 4096)))
case("matmul4", lambda a, b: torch.einsum("bijl,lk->bijk", a, b), lambda: (f(8, 64, 512, 256), f(256, 768)))
case("diagonal", lambda a, b: a[:, None] * b, lambda: (f(8192), f(8192, 8192)))
case("upper_matmul", lambda a, b: torch.triu(a @ b), lambda: (f(4096, 4096).triu(), f(4096, 4096).triu()))
case("lower_matmul", lambda a, b: torch.tril(a @ b), lambda: (f(4096, 4096).tril(), f(4096, 4096).tril()))
case("matmul_ta", lambda a, b: a.t() @ b, lambda: (f(8192, 2048), f(8192, 4096)))
case("matmul_tab", lambda a, b: a.t() @ b.t(), lambda: (f(8192, 2048), f(4096, 8192)))
case("selu", torch.selu, lambda: (f(4096, 24576),))
case("softsign", F.softsign, lambda: (f(4096, 24576),))
case("softmax", lambda x: torch.softmax(x, 1), lambda: (f(256, 393216),))
case("log_softmax", lambda x: torch.log_softmax(x, 1), lambda: (f(256, 393216),))
case("batch_norm", lambda x, g, b: F.batch_norm(x, None, None, g, b, True), lambda: (f(64, 64, 128, 128), f(64), f(64)))
case("instance_norm", lambda x: F.instance_norm(x), lambda: (f(4, 64, 512, 512),))
case("group_norm", lambda x, g, b: F.group_norm(x, 8, g, b), lambda: (f(4, 64, 512, 512), f(64), f(64)))
case("channel_rms", lambda x: x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5), lambda: (f(4, 64, 512, 512),))
case("frobenius", lambda x: x / torch.norm(x), lambda: (f(67108864),))
case("l1_norm", lambda x: x / x.abs().mean(1, keepdim=True), lambda: (f(1024, 65535),))
case("l2_norm", lambda x: x / torch.norm(x, dim=1, keepdim=True), lambda: (f(1024, 65535),))
case("layer_norm", lambda x, g, b: F.layer_norm(x, x.shape[1:], g, b), lambda: (f(16, 4194304), f(4194304), f(4194304)))
case("max_pool1", lambda x: F.max_pool1d(x, 8, 1, 4, 3), lambda: (f(16, 64, 65536),))
case("max_pool2", lambda x: F.max_pool2d(x, 4, 1, 1), lambda: (f(4, 64, 512, 512),))
case("max_pool3", lambda x: F.max_pool3d(x, 3, 2, 1, 3), lambda: (f(4, 16, 128, 128, 128),))
case("avg_pool1", lambda x: F.avg_pool1d(x, 8, 1, 4), lambda: (f(16, 64, 65536),))
case("avg_pool2", lambda x: F.avg_pool2d(x, 11), lambda: (f(1, 16, 2048, 2048),))
case("avg_pool3", lambda x: F.avg_pool3d(x, 3, 2, 1), lambda: (f(2, 8, 128, 128, 256),))
case("middle_sum", lambda x: x.sum(1), lambda: (f(8, 4096, 4095),))
case("middle_min", lambda x: x.amin(1), lambda: (f(8, 4096, 4095),))
case("middle_argmax", lambda x: x.argmax(1), lambda: (f(8, 4096, 4095),))
conv("conv11", lambda x, w, b: F.conv2d(x, w, b, stride=4, padding=2), (256, 3, 224, 224), (96, 3, 11, 11), (96,))
conv("conv3 D=64", F.conv3d, (16, 3, 64, 64, 64), (64, 3, 3, 3, 3))
conv("conv3 D=256", F.conv3d, (16, 3, 256, 256, 10), (64, 3, 3, 3, 1))
conv("conv3 D=16", F.conv3d, (8, 3, 16, 128, 128), (64, 3, 3, 5, 7))
conv("conv2 W=1024", F.conv2d, (2, 64, 512, 1024), (128, 64, 3, 3))
conv("conv2 W=256", F.conv2d, (2, 64, 512, 256), (128, 64, 5, 7))
conv("conv2 B=8", F.conv2d, (8, 32, 512, 512), (64, 32, 5, 9))
conv("conv2 C=16", F.conv2d, (2, 16, 1024, 1024), (128, 16, 3, 3))
conv("transposed2 B=1", F.conv_transpose2d, (1, 64, 1024, 1024), (64, 64, 3, 3))
conv("transposed2 B=4", F.conv_transpose2d, (4, 64, 512, 512), (64, 64, 3, 7))
conv("transposed3 B=16", F.conv_transpose3d, (16, 32, 16, 32, 64), (32, 16, 3, 5, 7))
conv("transposed3 B=4", F.conv_transpose3d, (4, 48, 64, 64, 64), (48, 48, 3, 3, 3))
conv("transposed1", F.conv_transpose1d, (8, 128, 65536), (128, 128, 3))
conv("conv1", F.conv1d, (8, 64, 131072), (128, 64, 3))
conv("transposed3_groups", lambda x, w: F.conv_transpose3d(x, w, stride=2, padding=1, groups=4), (4, 32, 32, 64, 128), (32, 8, 3, 3, 3))
conv("transposed1_dilated", lambda x, w: F.conv_transpose1d(x, w, dilation=3), (8, 32, 131072), (32, 64, 5))
conv("conv1_dilated", lambda x, w: F.conv1d(x, w, stride=3, dilation=4), (4, 64, 524280), (128, 64, 3))
conv("transposed2_same", lambda x, w: F.conv_transpose2d(x, w, padding=(1, 3)), (4, 32, 512, 1024), (32, 32, 3, 7))
conv("transposed1_steps", lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1, dilation=2), (16, 32, 131072), (32, 64, 3))
conv("conv2_dilated", lambda x, w: F.conv2d(x, w, padding=(2, 4), dilation=(2, 3)), (4, 32, 512, 512), (64, 32, 5, 9))
conv("depthwise B=4", lambda x, w: F.conv2d(x, w, groups=64), (4, 64, 512, 512), (64, 1, 3, 3))
conv("depthwise C=8", lambda x, w: F.conv2d(x, w, groups=8), (16, 8, 512, 512), (8, 1, 3, 1))
conv("depthwise C=128", lambda x, w: F.conv2d(x, w, groups=128), (16, 128, 128, 256), (128, 1, 3, 7))
conv("separable", lambda x, w, p: F.conv2d(F.conv2d(x, w, padding=1, groups=64), p[..., None, None]), (4, 64, 512, 512), (64, 1, 3, 3), (128, 64))
case("new_gelu", lambda x: F.gelu(x, approximate="tanh"), lambda: (f(8192, 8192),))
case("cumulative", lambda x: x.cumsum(1), lambda: (f(4096, 32768),))
case("cumulative_reverse", lambda x: x.flip(1).cumsum(1).flip(1), lambda: (f(4096, 32768),))
case("cumulative_before", lambda x: x.cumsum(1) - x, lambda: (f(4096, 32768),))
case("cumulative_masked", lambda x, k: (x * k).cumsum(1), lambda: (f(4096, 32768), u(4096, 32768) < 0.5))
case("huber", lambda x, t: F.smooth_l1_loss(x, t), lambda: (f(8192, 8192), f(8192, 8192)))
m.CASES.append(("attention", lambda: m.sdpa("attention", *(n(4, 32, 512, 1024, dtype=torch.half) for _ in range(3)))))
case("attention, by steps", lambda q, k, v: torch.softmax(q @ k.transpose(2, 3) * 0.03125, 3) @ v, lambda: tuple(n(4, 32, 512, 1024, dtype=torch.half) for _ in range(3)))
case("kl", lambda p, t: F.kl_div(p.log(), t, reduction="batchmean"), lambda: (u(8192, 8192), u(8192, 8192)))
case("triplet", lambda a, p, q: F.triplet_margin_loss(a, p, q), lambda: (f(8192, 8192), f(8192, 8192), f(8192, 8192)))
case("hinge", lambda x, t: torch.clamp(1 - x * t, min=0).mean(), lambda: (f(8192, 8192), f(8192)))

if __name__ == "__main__":
    m.main()
