"""Launches on PyTorch's tensors, with stand-ins for PyTorch and for the GPU's driver: what is checked of every call, and what arrives. The driver is
../../testdata/driver.c, whose kernels scale and double compute 6 elements. To be run in a process of its own, as it takes PyTorch's place:

    python3 -m unittest tests.on_standin
"""

import ctypes
import threading
import unittest

import tests.standin_torch as torch

import tilec
from tilec import _launchers


SOURCE = """
kernel scale(x: f32[M, N], s: f32, n: i32 = -2) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] * s + n as f32
}

kernel double(inout x: f32[N])
    grid i in N by BN
{
    x[i] = x[i] * 2.0
}

kernel shift(x: bf16[N], d: bf16) -> y: bf16[N]
    grid i in N by BN
{
    y[i] = (x[i] as f32 + d as f32) as bf16
}

struct Norm { w: f32[N], b: f32[N] }

kernel affine(x: f32[M, N], w: f32[N], b: f32[N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] * w[j] + b[j]
}

graph layer(x: f32[M, N], norm: Norm, unused: f32 = 1.0) -> y: f32[M, N] {
    y = affine(x, norm.w, norm.b)
}
"""


def scaled(x, s, n=-2):
    return [v * s + n for v in x.tolist()]


class OnCPU(unittest.TestCase):
    where, space = torch.device("cpu"), "on_cpu"

    @classmethod
    def setUpClass(cls):
        cls.program = tilec.Device(cls.where.type).load(SOURCE, "test.tile")
        cls.op = staticmethod(cls.program.scale.torch_op(cls.space + "::scale"))

    def tensor(self, shape=(2, 3), dtype=torch.float32, first=0):
        x = torch.empty(shape, dtype=dtype, device=self.where)
        return x.fill(range(first, first + x.numel()))

    def each_way(self):
        """The ways to call scale: what compiles for the types that come, an operator, and what is bound to the type of an x."""
        return self.program.scale, self.op, self.program.scale.bind(self.tensor(), 1.0)

    def test_results(self):
        for scale in self.each_way():
            for s in (1.0, 2, 3.5, True):
                x = self.tensor(first=4)
                y = scale(x, s)
                self.assertEqual((y.tolist(), y.shape, y.dtype, y.get_device()), (scaled(x, s), (2, 3), torch.float32, x.get_device()))

    def test_memory_for_results(self):
        x, y = self.tensor(), self.tensor()
        for scale in (self.program.scale, self.program.scale.bind(x, 1.0)):
            for s in (1.0, 2.0, 3.0):
                self.assertIs(scale(x, s, out=y), y)
                self.assertEqual(y.tolist(), scaled(x, s))
                self.assertIs(scale(x, s, out=(y,)), y)
            for bad, message in (
                (self.tensor((3, 2)), r"is f32\[2, 3\] without gaps, and memory for f32\[3, 2\]"),
                (self.tensor(dtype=torch.int64), "and memory for i64"),
                (self.tensor((2, 6)).view((2, 3), (6, 1)), r"with the strides \[6, 1\] is given"),
                (x, "shares elements"),
                ((y, y), "has 1 outputs, and out has 2"),
            ):
                with self.assertRaisesRegex(tilec.Error, message):
                    scale(x, 1.0, out=bad)

    def test_changed(self):
        """What comes after a call may be of another kind: it is compiled for, or refused where the function is bound."""
        bound = self.program.scale.bind(self.tensor(), 1.0)
        others = [
            (self.tensor((3, 2)), r"is bound to f32\[2, 3\], and f32\[3, 2\] is given"),
            (self.tensor((3, 2)).view((2, 3), (1, 2)), r"with the strides \[1, 2\] is given"),
            (self.tensor((2, 3), torch.int64), r"and i64\[2, 3\] is given"),
            (torch.empty((2, 3), device=self.elsewhere()), "move it"),
            (object(), "no object is a tensor"),
        ]
        for _ in range(2):
            x = self.tensor()
            self.assertEqual(bound(x, 2.0).tolist(), scaled(x, 2.0))
            self.assertEqual(self.program.scale(x, 2.0).tolist(), scaled(x, 2.0))
            for other, message in others:
                with self.assertRaisesRegex(tilec.Error, message):
                    bound(other, 2.0)
            for other, message in others[2:]:
                with self.assertRaises(tilec.Error):
                    self.program.scale(other, 2.0)
            turned = self.program.scale(others[0][0], 2.0)
            self.assertEqual((turned.shape, turned.tolist()), ((3, 2), scaled(others[0][0], 2.0)))
            with self.assertRaisesRegex(tilec.Error, "is bound to 2 arguments, and 3 are given|is bound to x, s, and x, s, n are given"):
                bound(x, 2.0, 1)
            with self.assertRaisesRegex(tilec.Error, "given"):
                bound(x)

    def elsewhere(self):
        return torch.device("cuda", 0)

    def test_numbers(self):
        x = self.tensor()
        for scale in self.each_way():
            scale(x, 1.0)
            with self.assertRaisesRegex(tilec.Error, "s of scale is 1e\\+300, and must be a number of type f32"):
                scale(x, 1e300)
        for n, message in ((1.5, "n of scale is 1.5, and must be"), (1 << 40, "n of scale is 1099511627776, and must be")):
            self.program.scale(x, 1.0, 1)
            with self.assertRaisesRegex(tilec.Error, message):
                self.program.scale(x, 1.0, n)

    def test_changed_in_place(self):
        double = self.program.double.torch_op(self.space + "::double")
        bound = self.program.double.bind(self.tensor((6,)))
        for call in (self.program.double, double, bound):
            for _ in range(3):
                x = self.tensor((6,), first=1)
                self.assertIsNone(call(x))
                self.assertEqual(x.tolist(), [2, 4, 6, 8, 10, 12])
                self.assertEqual(x._version, call is double)

    def test_threads(self):
        """Threads that call one function, each on memory of its own."""
        failures = []

        def work(k):
            try:
                x, y = self.tensor(first=k), self.tensor()
                for i in range(300):
                    call = calls[i % len(calls)]
                    s = float(k * 1000 + i)
                    if call(x, s).tolist() != scaled(x, s) or bound(x, s, out=y).tolist() != scaled(x, s):
                        failures.append((k, i))
                    try:
                        bound(x, s, out=x)
                        failures.append("x shares its elements")
                    except tilec.Error as e:
                        if "shares elements" not in str(e):
                            failures.append(str(e))
            except Exception as e:
                failures.append(e)

        calls = self.each_way()
        bound = calls[2]
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_dispatched(self):
        """An operator's call goes through PyTorch's dispatcher where that has something to do with it."""
        op, x = self.op, self.tensor()

        def dispatched(*arguments):
            before = len(torch.dispatched)
            self.assertEqual(op(*arguments).tolist(), scaled(*arguments))
            return len(torch.dispatched) - before

        op(x, 2.0)
        self.assertEqual(dispatched(x, 3.0), 0)
        for mode in ("keys", "functions", "autocast", "profiler"):
            setattr(torch.Mode, mode, 5)
            self.assertEqual(dispatched(x, 3.0), 1, mode)
            setattr(torch.Mode, mode, 0)
        with torch.inference_mode():
            self.assertEqual(dispatched(x, 3.0), 0)
        parameter, subclass, gradient, negated = torch.Parameter((2, 3), device=self.where), type("Sub", (torch.Tensor,), {})((2, 3), device=self.where), self.tensor(), self.tensor()
        gradient.requires_grad = negated.negated = True
        for _ in range(2 * _launchers._Look.TRIES):  # guards are of the last kind that was found right, and given up in the end
            self.assertEqual((dispatched(x, 3.0), dispatched(parameter.fill(range(6)), 3.0), dispatched(x, 3.0)), (0, 0, 0))
        for y, want in ((parameter.fill(range(6)), 0), (subclass.fill(range(6)), 1), (gradient, 1), (negated, 1), (self.tensor((3, 2)), 1), (x, 0)):
            self.assertEqual(dispatched(y, 3.0), want)
        self.assertEqual(dispatched(x, 3.0, 4), 1)
        self.assertEqual(dispatched(x, 3.0, 4), 0)

    def test_gradients(self):
        """A tensor that needs a gradient is PyTorch's business where gradients are recorded, also when it was launched on at once where they were not."""
        op, x = self.program.scale.torch_op(self.space + "::with_gradients"), self.tensor()
        op(x, 2.0)
        x.requires_grad = True
        for torch.Mode.no_grad in (1, 1, 0, 0, 1, 0):
            before = len(torch.dispatched)
            op(x, 3.0)
            self.assertEqual(len(torch.dispatched) - before, 1 - torch.Mode.no_grad)
        torch.Mode.no_grad = 0

    def test_structs(self):
        op = self.program.layer.torch_op(self.space + "::layer")
        x, w, b = self.tensor(), self.tensor((3,), first=1), self.tensor((3,), first=10)
        for _ in range(2):
            for norm in ({"w": w, "b": b}, {"b": b, "w": w}):
                y = op(x, norm)
                before = len(torch.dispatched)
                y = op(x, norm)
                self.assertEqual(len(torch.dispatched), before)
                if self.where.type == "cpu":
                    self.assertEqual(y.tolist(), [10, 13, 18, 13, 19, 27])
        self.assertEqual(len(op.operator.launchers.by_key), 2)

    def test_kept(self):
        """Launchers of types that came long ago go."""
        scale = tilec.Device(self.where.type).load(SOURCE, "test.tile").scale
        scale.KEPT = 3
        for columns in range(1, 6):
            scale(self.tensor((6, columns)), 1.0)
        self.assertEqual(len(scale._launchers.by_key), 3)

    def test_closed(self):
        bound = self.program.scale.bind(self.tensor((2, 3)), 1.0, BM=1)
        x = self.tensor()
        self.assertEqual(bound(x, 1.0).tolist(), scaled(x, 1.0))
        self.assertEqual(bound(x, 1.0).tolist(), scaled(x, 1.0))
        bound.close()
        with self.assertRaisesRegex(tilec.Error, "no open bound function"):
            bound(x, 1.0)

    def test_types_that_struct_lacks(self):
        x = self.tensor((4,), torch.bfloat16).fill([0x3F80, 0x4000, 0x4040, 0x4080])
        for _ in range(2):
            y = self.program.shift(x, 2.0)
            if self.where.type == "cpu":
                self.assertEqual(y.tolist(), [0x4040, 0x4080, 0x40A0, 0x40C0])


class OnOlderPyTorch(OnCPU):
    """What some versions have for guards and for new memory is not everywhere."""

    space, guards = "on_older", None

    def setUp(self):
        self.had = _launchers._TensorGuards, _launchers._new_memory
        _launchers._TensorGuards, _launchers._new_memory = self.guards, {"cpu": None, "cuda": None}

    def tearDown(self):
        _launchers._TensorGuards, _launchers._new_memory = self.had


class OnNewerPyTorch(OnOlderPyTorch):
    """Guards that are made otherwise."""

    space, guards = "on_newer", type("TensorGuards", (), {"__init__": lambda self, how: None})


class Seen(ctypes.Structure):
    _fields_ = [("launches", ctypes.c_uint), ("maps", ctypes.c_uint), ("others", ctypes.c_uint), ("stream", ctypes.c_void_p)]


class OnGPU(OnCPU):
    where, space = torch.device("cuda", 0), "on_cuda"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        driver = ctypes.CDLL("libcuda.so.1")
        driver.driver_seen.restype = ctypes.POINTER(Seen)
        cls.seen = staticmethod(lambda: driver.driver_seen().contents)

    def elsewhere(self):
        return torch.device("cpu")

    def test_streams(self):
        """Launches are in the current stream of PyTorch's, or in the one that is named, and nothing but the launch is asked of the driver."""
        x = self.tensor()
        for scale in self.each_way():
            for torch.stream in (0, 1 << 44):
                scale(x, 1.0)
                before = self.seen().others, self.seen().launches
                scale(x, 1.0)
                self.assertEqual(self.seen().stream or 0, torch.stream)
                self.assertEqual((self.seen().others, self.seen().launches), (before[0], before[1] + 1))
            if scale is not self.op:
                scale(x, 1.0, stream=1 << 45)
                self.assertEqual(self.seen().stream, 1 << 45)
        torch.stream = 0

    def test_current_device(self):
        """Where another GPU is PyTorch's current one, results are still on the program's."""
        scale = self.program.scale
        scale(self.tensor(), 1.0)
        torch.current_device = 1
        try:
            self.assertEqual(scale(self.tensor(), 1.0).get_device(), 0)
        finally:
            torch.current_device = 0
        with self.assertRaisesRegex(tilec.Error, "is on the device"):
            scale(torch.empty((2, 3), device=torch.device("cuda", 1)), 1.0)

    def test_alignment(self):
        """Code that copies 16 bytes at a time is for memory that begins at a multiple of 16 bytes."""
        x = self.tensor((2, 6))
        odd = x.view((2, 3), offset=1)
        bound = self.program.scale.bind(self.tensor(), 1.0)
        for _ in range(2):
            self.assertEqual(bound(x.view((2, 3)), 1.0).tolist(), scaled(x.view((2, 3)), 1.0))
            with self.assertRaisesRegex(tilec.Error, "multiple of 16 bytes, and is given at one of 4"):
                bound(odd, 1.0)
            for y in (self.tensor(), odd, self.tensor()):
                self.assertEqual(self.program.scale(y, 1.0).tolist(), scaled(y, 1.0))


if __name__ == "__main__":
    unittest.main()
