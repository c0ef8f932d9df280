"""The package on the CPU, with buffers, and with objects that stand for other libraries' arrays where these are not installed."""

import array
import ctypes
import gc
import os
import tempfile
import threading
import unittest

import tilec

try:
    import numpy
except ImportError:
    numpy = None

SOURCE = """
kernel scale<T: float>(x: T[M, N], s: f32, n: i32 = -2) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = (x[i, j] as f32 * s + n as f32) as T
}

kernel double(inout x: f32[N])
    grid i in N by BN
{
    x[i] = x[i] * 2.0
}

kernel two(x: f32[M, N]) -> (rows: f32[M], minus: f32[M, N])
    grid i in M by BM
{
    axis j in N
    rows[i] = sum(x[i, j], over j)
    minus[i, j] = -x[i, j]
}

struct Norm { w: f32[N], b: f32[N] }

kernel affine(x: f32[M, N], w: f32[N], b: f32[N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] * w[j] + b[j]
}

graph layers(x: f32[M, N], norms: [L]Norm) -> y: f32[M, N] {
    let h = for l in L with h = x {
        let norm = norms[l]
        affine(h, norm.w, norm.b)
    }
    y = h
}
"""


def matrix(values, rows, columns, code="f"):
    return memoryview(array.array(code, values)).cast("B").cast(code, (rows, columns))


class Interface:
    """An array as NumPy or CuPy describes theirs."""

    def __init__(self, name, data, **fields):
        self.data = data
        setattr(self, name, dict({"data": (ctypes.addressof(data), False), "version": 3}, **fields))


class DLDevice(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", DLDevice), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Exporter:
    """A tensor that has DLPack, as JAX's do: bf16, every other row of four."""

    def __init__(self, kind=1):
        self.data = (ctypes.c_uint16 * 9)(0, 0x3F80, 0x4000, 0, 0, 0x4040, 0x4080, 0, 0)
        self.shape, self.strides = (ctypes.c_int64 * 2)(2, 2), (ctypes.c_int64 * 2)(4, 1)
        self.managed = Managed(DLTensor(ctypes.addressof(self.data), DLDevice(kind, 0), 2, 4, 16, 1, self.shape, self.strides, 2))

    def __dlpack_device__(self):
        return (self.managed.tensor.device.kind, 0)

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


class TestTilec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device = tilec.Device("cpu")
        cls.program = cls.device.load(SOURCE, "test.tile")

    def test_call(self):
        x = matrix([1, 2, 3, 4, 5, 6], 2, 3)
        y = self.program.scale(x, 10)
        self.assertEqual(memoryview(y).tolist() if numpy is None else y.tolist(), [[8, 18, 28], [38, 48, 58]])
        out = matrix([0] * 6, 2, 3)
        self.assertIs(self.program.scale(x, s=1.5, n=0, BM=1, out=out), out)
        self.assertEqual(out.tolist(), [[1.5, 3, 4.5], [6, 7.5, 9]])
        self.program.scale(x, 2, T="f32", out={"y": out})
        self.assertEqual(out.tolist()[0], [0, 2, 4])

    def test_several_outputs(self):
        rows, minus = array.array("f", [0, 0]), matrix([0] * 6, 2, 3)
        rows_out, _ = self.program.two(matrix([1, 2, 3, 4, 5, 6], 2, 3), out=(rows, minus))
        self.assertEqual((rows.tolist(), minus.tolist()), ([6, 15], [[-1, -2, -3], [-4, -5, -6]]))
        self.assertIs(rows_out, rows)

    def test_empty(self):
        empty = Interface("__array_interface__", (ctypes.c_float * 1)(), shape=(0, 3), typestr="<f4")
        y = self.program.scale(empty, 1)
        self.assertEqual(len(y), 0)

    @unittest.skipIf(numpy is not None, "NumPy makes the outputs")
    def test_outputs_without_numpy(self):
        half = Interface("__array_interface__", (ctypes.c_uint16 * 2)(0x3C00, 0x4000), shape=(1, 2), typestr="<f2")
        with self.assertRaisesRegex(tilec.Error, "no array of f16.*give its memory by out="):
            self.program.scale(half, 1)
        y = Interface("__array_interface__", (ctypes.c_uint16 * 2)(), shape=(1, 2), typestr="<f2")
        self.program.scale(half, 2, n=0, out=y)
        self.assertEqual(list(y.data), [0x4000, 0x4400])

    def test_inout(self):
        x = array.array("f", [1, 2, 3])
        self.assertIsNone(self.program.double(x))
        self.assertEqual(x.tolist(), [2, 4, 6])
        with self.assertRaisesRegex(tilec.Error, "x of double.*it is changed"):
            self.program.double(memoryview(bytes(12)).cast("f"))

    def test_strides(self):
        x = matrix(range(8), 4, 2)
        out = matrix([0] * 4, 2, 2)
        self.program.scale(x[::2], 1, n=0, out=out)
        self.assertEqual(out.tolist(), [[0, 1], [4, 5]])

    def test_structs(self):
        v = lambda *values: array.array("f", values)
        out = matrix([0] * 2, 1, 2)
        self.program.layers(matrix([1, 2], 1, 2), [{"w": v(2, 2), "b": v(1, 1)}, {"w": v(3, 1), "b": v(0, 0)}], out=out)
        self.assertEqual(out.tolist(), [[9, 5]])
        with self.assertRaisesRegex(tilec.Error, r"norms\[0\].c"):
            self.program.layers(matrix([1, 2], 1, 2), [{"w": v(2, 2), "c": v(1, 1)}], out=out)

    def test_bound(self):
        x, out = matrix([1, 2], 1, 2), matrix([0, 0], 1, 2)
        bound = self.program.scale.bind(x, 1.0)
        self.assertEqual(bound.outputs, [("y", "f32", (1, 2))])
        for s in range(5):
            bound(x, s, out=out)
            self.assertEqual(out.tolist(), [[s - 2, 2 * s - 2]])
        with self.assertRaisesRegex(tilec.Error, r"x of scale is bound to f32\[1, 2\], and f32\[2, 1\] is given"):
            bound(matrix([1, 2], 2, 1), 1.0, out=out)
        self.assertIs(self.program.scale.bind(x, 7.0), bound)

    def test_errors(self):
        with self.assertRaisesRegex(tilec.Error, r"(?s)bad.tile:2:.*error"):
            self.device.load("\nkernel f(", "bad.tile")
        with self.assertRaisesRegex(tilec.Error, "nothing.tile"):
            self.device.load_file("nothing.tile")
        with self.assertRaisesRegex(AttributeError, "scales.*scale"):
            self.program.scales
        x, out = matrix([1, 2], 1, 2), matrix([0, 0], 1, 2)
        with self.assertRaisesRegex(tilec.Error, "BX"):
            self.program.scale(x, 1, BX=3)
        with self.assertRaisesRegex(tilec.Error, "no list is a tensor|no object is a tensor"):
            self.program.scale(object(), 1)
        with self.assertRaisesRegex(tilec.Error, "x.*not given"):
            self.program.scale(s=1)
        with self.assertRaisesRegex(tilec.Error, "takes 3 arguments"):
            self.program.scale(x, 1, 2, 3)
        with self.assertRaisesRegex(tilec.Error, r"output y of scale is f32\[1, 2\]"):
            self.program.scale(x, 1, out=matrix([0, 0], 2, 1))
        with self.assertRaisesRegex(tilec.Error, "shares elements"):
            self.program.scale(x, 1, out=x)
        with self.assertRaisesRegex(tilec.Error, "n of scale is 1.5"):
            self.program.scale(x, 1, n=1.5, out=out)
        with self.assertRaisesRegex(tilec.Error, "in memory of a GPU, and the device is cpu"):
            self.program.scale(Interface("__cuda_array_interface__", (ctypes.c_float * 2)(), shape=(1, 2), typestr="<f4"), 1)
        with self.assertRaisesRegex(tilec.Error, "cuda:99|driver|GPU"):
            tilec.Device("cuda:99")

    def test_array_interface(self):
        data, out = (ctypes.c_float * 4)(1, 2, 3, 4), matrix([0] * 4, 2, 2)
        self.program.scale(Interface("__array_interface__", data, shape=(2, 2), typestr="<f4", strides=(4, 8)), 1, n=0, out=out)
        self.assertEqual(out.tolist(), [[1, 3], [2, 4]])
        with self.assertRaisesRegex(tilec.Error, "element type '>f4'|big-endian"):
            self.program.scale(Interface("__array_interface__", data, shape=(2, 2), typestr=">f4"), 1)
        frozen = Interface("__array_interface__", data, shape=(4,), typestr="<f4")
        frozen.__array_interface__["data"] = (ctypes.addressof(data), True)
        with self.assertRaisesRegex(tilec.Error, "is read-only"):
            self.program.double(frozen)

    def test_dlpack(self):
        y = Interface("__array_interface__", (ctypes.c_uint16 * 4)(), shape=(2, 2), typestr="<V2")
        y.dtype = type("dtype", (), {"name": "bfloat16"})
        self.program.scale(Exporter(), tilec.Scalar(2, "f32"), n=0, out=y)
        self.assertEqual(list(y.data), [0x4000, 0x4080, 0x40C0, 0x4100])
        out = bytearray(8)  # bytes will do for what Python has no type for, if they are so many
        self.program.scale(Exporter(), tilec.Scalar(2, "f32"), n=0, out=out)
        self.assertEqual(out, bytes(y.data))
        for few in (bytearray(7), bytearray(4), bytearray(9)):
            with self.assertRaisesRegex(tilec.Error, r"output y of scale is bf16\[2, 2\] without gaps, and memory for u8"):
                self.program.scale(Exporter(), 2, n=0, out=few)
        with self.assertRaisesRegex(tilec.Error, "DLPack's kind 4"):
            self.program.scale(Exporter(kind=4), 1)

    def test_views_of_gpu_tensors(self):
        """What is read of tensors on a GPU; nothing is launched."""
        from tilec._views import view

        v = view(Exporter(kind=2), "x")
        self.assertEqual((v.dtype, v.shape, v.strides, v.cuda), ("bf16", (2, 2), (4, 1), True))
        data = (ctypes.c_float * 4)()
        v = view(Interface("__cuda_array_interface__", data, shape=(2, 2), typestr="<f4", strides=None, stream=7), "x")
        self.assertEqual((v.address, v.dtype, v.shape, v.strides, v.cuda, v.stream), (ctypes.addressof(data), "f32", (2, 2), None, True, 7))

    def test_scalars(self):
        from tilec._views import scalar_bytes

        self.assertEqual(scalar_bytes(1.0, "bf16", "s"), b"\x80\x3f")
        self.assertEqual(scalar_bytes(1.00390625, "bf16", "s"), b"\x80\x3f")  # half way: to even
        self.assertEqual(scalar_bytes(1.01171875, "bf16", "s"), b"\x82\x3f")
        self.assertEqual(scalar_bytes(float("nan"), "bf16", "s")[1] & 0x7F, 0x7F)
        with self.assertRaisesRegex(tilec.Error, "f8e4m3"):
            scalar_bytes(1, "f8e4m3", "s")

    def test_described(self):
        """What is known of shapes before anything is bound."""
        about = self.program.two.about
        self.assertEqual([(r["name"], r["dtype"], r["shape"]) for r in about["results"]], [("rows", "f32", ["M"]), ("minus", "f32", ["M", "N"])])
        leaves = {leaf["name"]: leaf for leaf in self.program.layers.about["leaves"]}
        self.assertEqual(list(leaves), ["x", "norms[].w", "norms[].b"])
        self.assertEqual(leaves["norms[].b"]["shape"], ["N"])
        leaves = {leaf["name"]: leaf for leaf in self.program.scale.about["leaves"]}
        self.assertEqual((leaves["x"]["dtype"], leaves["s"].get("scalar"), leaves["s"]["dtype"]), ("T", True, "f32"))
        shapes = self.device.load("kernel f<const G: int = 4>(x: f32[N]) -> y: f32[G * N + N // 2, (N + 1) % G]\n    grid i in N by B\n{\n    y[index(i), 0] = x[i]\n}\n", "f.tile").f.about
        self.assertEqual((shapes["results"][0]["shape"], shapes["constants"]), (["G * N + N // 2", "(N + 1) % G"], {"G": 4}))

    def test_threads(self):
        failures = []

        def work(k):
            x, out = matrix([k] * 6, 2, 3), matrix([0] * 6, 2, 3)
            for s in range(50):
                self.program.scale(x, s, n=0, out=out)
                if out.tolist() != [[k * s] * 3] * 2:
                    failures.append((k, s, out.tolist()))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_close(self):
        device = tilec.Device("cpu")
        program = device.load(SOURCE)
        program.close()
        program.close()
        with self.assertRaisesRegex(tilec.Error, "no open program"):
            program.functions()
        self.assertEqual(self.program.functions(), ["scale", "double", "two", "affine", "layers"])
        del program, device
        gc.collect()

    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "k.tile")
            with open(path, "w") as f:
                f.write(SOURCE)
            program = self.device.load_file(path)
            x = array.array("f", [1])
            program["double"](x)
            self.assertEqual(x[0], 2)

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_numpy(self):
        x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
        y = self.program.scale(x.T, 2, n=1)
        self.assertIsInstance(y, numpy.ndarray)
        numpy.testing.assert_array_equal(y, x.T * 2 + 1)
        self.assertEqual(self.program.scale(x.astype(numpy.float16), 2).dtype, numpy.float16)


if __name__ == "__main__":
    unittest.main()
