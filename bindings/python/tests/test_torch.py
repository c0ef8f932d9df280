"""Operators of PyTorch, on the CPU and on a GPU where there is one. PyTorch 2.4 or later has what they need."""

import ctypes
import unittest

import tilec

try:
    import torch
except ImportError:
    torch = None

missing = "PyTorch is not installed" if torch is None else None if hasattr(torch.library, "register_fake") else "PyTorch %s is older than 2.4" % torch.__version__
if not missing:
    import torch._dynamo.testing

SOURCE = """
import "std/nn"

/// y = s x + n, row by row.
kernel scale<T: float>(x: T[M, N], s: f32, n: i32 = -2) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = (x[i, j] as f32 * s + n as f32) as T
}

kernel double(inout x: f32[N]) -> was: f32[N]
    grid i in N by BN
{
    let v = x[i]
    was[i] = v
    x[i] = v * 2.0
}

/// The sums of pairs of neighbours, and each row twice.
kernel pairs(x: f32[M, N]) -> (halves: f32[M, N // 2], twice: f32[2 * M, N])
    grid i in M by BM
{
    axis j in N
    axis h in N//2
    axis t in 2
    halves[i, h] = (x[i, 2 * index(h)] else 0) + (x[i, 2 * index(h) + 1] else 0)
    twice[2 * i + t, j] = x[i, j]
}

struct Norm { w: f32[N], b: f32[N] }

/// Layers of norms, one after the other.
graph layers(x: f32[M, N], norms: [L]Norm, eps: f32 = 1e-5) -> y: f32[M, N] {
    let h = for l in L with h = x {
        let norm = norms[l]
        layernorm(h, norm.w, norm.b, eps)
    }
    y = h
}

graph mlp(x: bf16[M, K], up: bf16[K, N], down: bf16[N, K]) -> y: bf16[M, K] {
    y = linear(gelu_rows(linear(x, up)), down)
}

kernel gelu_rows(x: bf16[M, N]) -> y: bf16[M, N]
    grid i in M by BM
{
    axis j in N
    let v = x[i, j] as f32
    y[i, j] = (v * 0.5 * (1 + erf(v * 0.70710678))) as bf16
}
"""


@unittest.skipIf(missing, missing)
class OnCPU(unittest.TestCase):
    """Each test runs on both devices: what is fixed is the device's name, a compiler of PyTorch, and a namespace for the operators."""

    name, backend = "cpu", "aot_eager"

    @classmethod
    def setUpClass(cls):
        try:
            cls.device = tilec.Device(cls.name)
        except tilec.Error as e:
            raise unittest.SkipTest("there is no device %s: %s" % (cls.name, e))
        if cls.name != "cpu" and not torch.cuda.is_available():
            raise unittest.SkipTest("PyTorch has no GPU")
        cls.program = cls.device.load(SOURCE, "torch.tile")
        space = "tilec_tests_" + cls.name
        cls.scale = staticmethod(cls.program.scale.torch_op(space + "::scale"))
        cls.double = staticmethod(cls.program.double.torch_op(space + "::double"))
        cls.pairs = staticmethod(cls.program.pairs.torch_op(space + "::pairs"))
        cls.layers = staticmethod(cls.program.layers.torch_op(space + "::layers"))
        cls.mlp = staticmethod(cls.program.mlp.torch_op(space + "::mlp"))

    def setUp(self):
        torch.manual_seed(1)
        torch._dynamo.reset()

    def randn(self, *shape, dtype=None):
        return torch.randn(*shape, device=self.name, dtype=dtype)

    def compile(self, f, **options):
        return torch.compile(f, fullgraph=True, backend=self.backend, **options)

    def norms(self, n, layers=2):
        return [{"w": self.randn(n), "b": self.randn(n)} for _ in range(layers)]

    def normed(self, x, norms, eps=1e-5):
        for norm in norms:
            x = torch.nn.functional.layer_norm(x, x.shape[-1:], norm["w"], norm["b"], eps)
        return x

    def test_call(self):
        x = self.randn(5, 6)
        torch.testing.assert_close(self.scale(x, 3.0), x * 3 - 2)
        torch.testing.assert_close(self.scale(x.t(), 3.0, 1), x.t() * 3 + 1)
        torch.testing.assert_close(self.scale(x.half(), 2.0, n=0), x.half() * 2)
        halves, twice = self.pairs(x)
        torch.testing.assert_close(halves, x[:, ::2] + x[:, 1::2])
        torch.testing.assert_close(twice, x.repeat_interleave(2, dim=0))
        norms = self.norms(6)
        torch.testing.assert_close(self.layers(x, norms), self.normed(x, norms), rtol=1e-4, atol=1e-4)
        self.assertIs(self.program.scale.torch_op("tilec_tests_%s::scale" % self.name), self.scale)

    def test_fake(self):
        """Shapes and types without running anything agree with what is bound."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        for rows, columns in ((1, 2), (3, 6), (7, 5), (2, 1)):
            x = self.randn(rows, columns)
            with FakeTensorMode() as mode:
                f = mode.from_tensor(x)
                fake = [self.scale(f, 1.0), self.scale(f.half(), 1.0), *self.pairs(f)]
            real = [self.scale(x, 1.0), self.scale(x.half(), 1.0), *self.pairs(x)]
            self.assertEqual([(y.shape, y.dtype, y.device) for y in fake], [(y.shape, y.dtype, y.device) for y in real])
        bound = self.program.pairs.bind(x)
        self.assertEqual([shape for _, _, shape in bound.outputs], [tuple(y.shape) for y in fake[2:]])

    def test_opcheck(self):
        """PyTorch's own tests of operators: schema, aliases and mutations, fake results, tracing with symbolic sizes."""
        x = self.randn(4, 6)
        torch.library.opcheck(self.scale.overload, (x, 2.0))
        torch.library.opcheck(self.scale.overload, (x.half(), 2.0, 3))
        torch.library.opcheck(self.pairs.overload, (x,))
        torch.library.opcheck(self.double.overload, (self.randn(8),))
        torch.library.opcheck(self.layers.overload, (x, [n for norm in self.norms(6) for n in norm.values()], "norms[0].w,norms[0].b,norms[1].w,norms[1].b"))

    def test_compile(self):
        def f(x, norms):
            return torch.relu(self.scale(x, 0.5)) + self.layers(x * 2, norms)

        x, norms = self.randn(16, 64), self.norms(64)
        want = torch.relu(x * 0.5 - 2) + self.normed(x * 2, norms)
        torch.testing.assert_close(self.compile(f)(x, norms), want, rtol=1e-4, atol=1e-4)

    def test_compile_products(self):
        x, up, down = (self.randn(*shape, dtype=torch.bfloat16) for shape in ((64, 32), (32, 128), (128, 32)))
        want = torch.nn.functional.gelu(x.double() @ up.double()) @ down.double()
        got = self.compile(lambda x: self.mlp(x, up, down) + 1)(x)
        # Each of 128 products has the error of a bf16 factor and of their sum.
        torch.testing.assert_close(got.double(), want + 1, rtol=0.05, atol=0.05 * want.abs().max().item())

    def test_mutation(self):
        """What an operator changes is changed in compiled code too, in the order of the program."""

        def f(x):
            before = x + 1
            was = self.double(x)
            return before, was, x + 1

        x = self.randn(100)
        old = x.clone()
        for got, want in zip(self.compile(f)(x), (old + 1, old, old * 2 + 1)):
            torch.testing.assert_close(got, want)
        torch.testing.assert_close(x, old * 2)
        version = x._version
        self.double(x)
        self.assertGreater(x._version, version)

    def test_dynamic(self):
        """Symbolic sizes remain symbols: a second size, a third, need no second compilation."""
        counter = torch._dynamo.testing.CompileCounterWithBackend(self.backend)
        f = torch.compile(lambda x: [y + 1 for y in self.pairs(self.scale(x, 1.0))], fullgraph=True, dynamic=True, backend=counter)
        for rows, columns in ((4, 6), (5, 8), (9, 7)):
            x = self.randn(rows, columns)
            halves, twice = f(x)
            y = x - 2
            torch.testing.assert_close(halves, y[:, : columns // 2 * 2 : 2] + y[:, 1::2] + 1)
            torch.testing.assert_close(twice, y.repeat_interleave(2, dim=0) + 1)
        self.assertEqual(counter.frame_count, 1)

    def test_at_once(self):
        """An operator of which PyTorch has only the launch to do is not dispatched; with a mode, an autograd or a profiler it is, with the same results."""
        from torch.utils._python_dispatch import TorchDispatchMode

        class Seen(TorchDispatchMode):
            def __torch_dispatch__(self, operator, types, arguments=(), named=None):
                seen.append(operator)
                return operator(*arguments, **(named or {}))

        seen, x = [], self.randn(5, 6)
        want = x * 3 - 2
        for _ in range(3):
            torch.testing.assert_close(self.scale(x, 3.0), want)
        self.assertIsNot(self.scale.operator.at_once((x, 3.0)), NotImplemented)
        with Seen():
            torch.testing.assert_close(self.scale(x, 3.0), want)
        self.assertIn(self.scale.overload, seen)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            torch.testing.assert_close(self.scale(x, 3.0), want)
        self.assertTrue(any("tilec_tests" in e.key for e in profile.key_averages()), [e.key for e in profile.key_averages()])
        with torch.inference_mode():
            torch.testing.assert_close(self.scale(x, 3.0), want)
        torch.testing.assert_close(self.scale(torch._neg_view(x), 3.0), -3 * x - 2)
        torch.testing.assert_close(self.scale(torch.nn.Parameter(x), 3.0).detach(), want)
        with self.assertRaisesRegex(Exception, "s of scale is 1e\\+300, and must be a number of type f32"):
            self.scale(x, 1e300)

    def test_gradient(self):
        """A derivative is registered as for any operator."""
        op = self.program.scale.torch_op("tilec_tests_%s::differentiable" % self.name)

        def setup(ctx, inputs, output):
            ctx.s = inputs[1]

        torch.library.register_autograd("tilec_tests_%s::differentiable" % self.name, lambda ctx, g: (g * ctx.s, None, None), setup_context=setup)
        x = self.randn(3, 4).requires_grad_()
        op(x, 3.0, 0).sum().backward()
        torch.testing.assert_close(x.grad, torch.full_like(x, 3))

    def test_errors(self):
        x = self.randn(2, 4)
        for message, work in {
            "registered already, for scale": lambda: self.program.pairs.torch_op("tilec_tests_%s::scale" % self.name),
            "must be of the form NAMESPACE::NAME": lambda: self.program.scale.torch_op("scale"),
            "has the shape \\[M, N\\]": lambda: self.scale(x[0], 1.0),
            "T: float allows, and i64 is not": lambda: self.scale(x.long(), 1.0),
            "has no norms\\[0\\].c": lambda: self.layers(x, [{"w": x[0], "c": x[0]}]),
            "dimension N of layers is": lambda: self.layers(x, [{"w": x[0, :2], "b": x[0]}]),
        }.items():
            with self.assertRaisesRegex(Exception, message):
                work()

    def test_bound(self):
        x, out = self.randn(4, 8), self.randn(4, 8)
        bound = self.program.scale.bind(x, 1.0)
        for s in (1.0, 2.0, 3.0):
            self.assertIs(bound(x, s, out=out), out)
            torch.testing.assert_close(out, x * s - 2)
            torch.testing.assert_close(bound(x, s), x * s - 2)
            torch.testing.assert_close(self.program.scale(x, s), x * s - 2)
        with self.assertRaisesRegex(tilec.Error, "is bound to f32"):
            bound(x.t(), 1.0)
        with self.assertRaisesRegex(tilec.Error, "shares elements"):
            bound(x, 1.0, out=x)


class OnGPU(OnCPU):
    name, backend = "cuda", "inductor"

    def test_capture(self):
        """Launches that PyTorch captures are replayed on what the tensors then hold, also when the function's code was given back."""
        x, norms = self.randn(32, 64), self.norms(64)
        up, down = self.randn(64, 128, dtype=torch.bfloat16), self.randn(128, 64, dtype=torch.bfloat16)

        def f():
            y = self.layers(x, norms)
            return self.scale(y, 2.0, 0), self.mlp(y.bfloat16(), up, down)

        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(3):
                f()
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scaled, through = f()
        for _ in range(3):
            x.copy_(self.randn(32, 64))
            graph.replay()
            want = f()
            torch.testing.assert_close(scaled, want[0])
            torch.testing.assert_close(through, want[1])
        for columns in range(1, tilec.Function.KEPT + 3):  # so many other types that those of the graph go
            self.layers(self.randn(2, columns), self.norms(columns))
        graph.replay()
        torch.testing.assert_close(scaled, f()[0])

    def test_streams(self):
        """Work waits for what is in the current stream, and what comes after waits for it."""
        x = torch.zeros(1 << 22, device="cuda")
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for i in range(20):
                torch.cuda._sleep(100000)
                x.fill_(i)
                self.double(x)
                y = x + 1
                self.assertEqual((y.min().item(), y.max().item()), (2 * i + 1, 2 * i + 1))

    def test_graphs_on_streams(self):
        """A graph of several launches has one memory for what lies between them: calls on several streams, with other tensors each time and with the same ones
        again, come one after the other."""
        up, down = self.randn(512, 1024, dtype=torch.bfloat16), self.randn(1024, 512, dtype=torch.bfloat16)
        inputs = [self.randn(512, 512, dtype=torch.bfloat16) for _ in range(6)]
        want = [self.mlp(x, up, down) for x in inputs]
        bound = self.program.mlp.bind(inputs[0], up, down)
        streams = [torch.cuda.Stream() for _ in range(3)]
        got = [torch.empty_like(x) for x in inputs]
        torch.cuda.synchronize()
        for same in (1, 2, 6):  # how often a call comes with the same values
            for y in got:
                y.zero_()
            torch.cuda.synchronize()
            for i in range(12):
                for _ in range(same):
                    with torch.cuda.stream(streams[i % 3]):
                        bound(inputs[i % 6], up, down, out=got[i % 6])
            torch.cuda.synchronize()
            for y, w in zip(got, want):
                torch.testing.assert_close(y, w, rtol=0, atol=0)

    def test_current_context(self):
        """The context that is current to the thread when a function is bound or called, is so again behind that, by C's way and by Go's."""
        driver = ctypes.CDLL("libcuda.so.1")

        def check(code):
            self.assertEqual(code, 0)

        def current():
            context = ctypes.c_void_p()
            check(driver.cuCtxGetCurrent(ctypes.byref(context)))
            return context.value

        x, out = self.randn(7, 24), torch.empty(7, 24, device="cuda")
        torch.cuda.synchronize()
        before, elsewhere = current(), ctypes.c_void_p()
        check(driver.cuCtxCreate_v2(ctypes.byref(elsewhere), 0, 0))  # and makes it current
        try:
            bound = self.program.scale.bind(x, 1.0)
            self.assertEqual(current(), elsewhere.value)
            for s in (1.0, 2.0, 3.0):
                bound(x, s, out=out)
                self.assertEqual(current(), elsewhere.value)
        finally:
            check(driver.cuCtxSetCurrent(ctypes.c_void_p(before)))
            check(driver.cuCtxDestroy_v2(elsewhere))
        torch.cuda.synchronize()
        torch.testing.assert_close(out, x * 3 - 2)

    def test_another_gpu(self):
        """Calls on another GPU leave the thread on the one that it was on; with one GPU there is nothing to see."""
        for index in range(1, torch.cuda.device_count()):
            program = tilec.Device("cuda:%d" % index).load(SOURCE, "torch.tile")
            x = torch.randn(4, 8, device="cuda:%d" % index)
            for _ in range(3):
                torch.testing.assert_close(program.scale(x, 3.0), x * 3 - 2)
                self.assertEqual(torch.ones(4, device="cuda").sum().item(), 4)

    def test_reduce_overhead(self):
        """torch.compile's own CUDA graphs have the operators in them."""
        f = torch.compile(lambda x, n: self.layers(torch.relu(x), n) * 2, fullgraph=True, mode="reduce-overhead")
        norms = self.norms(64)
        for _ in range(5):
            x = self.randn(32, 64)
            torch.testing.assert_close(f(x, norms).clone(), self.normed(torch.relu(x), norms) * 2, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
