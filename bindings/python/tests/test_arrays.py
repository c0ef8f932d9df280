"""CuPy's and JAX's own arrays on a GPU, where these libraries are."""

import os
import unittest

import tilec

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes most of the GPU's memory otherwise

SOURCE = """
kernel scale<T: float>(x: T[M, N], s: f32, n: i32 = -2) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = (x[i, j] as f32 * s + n as f32) as T
}
"""


def library(name):
    try:
        return __import__(name)
    except Exception as e:  # a library that is installed and finds no GPU says so in its own way
        raise unittest.SkipTest("there is no %s: %s" % (name, e)) from None


class OnArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.program = tilec.Device("cuda").load(SOURCE, "arrays.tile")
        except tilec.Error as e:
            raise unittest.SkipTest("there is no GPU: %s" % e) from None

    def test_cupy(self):
        cupy = library("cupy")
        x = cupy.arange(4 * 64, dtype="f4").reshape(4, 64)
        for _ in range(3):
            y = self.program.scale(x, 3.0)
            self.assertIsInstance(y, cupy.ndarray)
            self.assertTrue((y == x * 3 - 2).all())
        self.assertTrue((self.program.scale(x.T, 3.0) == x.T * 3 - 2).all())
        out = cupy.empty_like(x)
        with cupy.cuda.Stream():  # in the stream that is current, behind what fills x and before what reads y
            for i in range(20):
                x.fill(i)
                self.program.scale(x, 2.0, out=out)
                self.assertTrue((out + 1 == 2 * i - 1).all())

    def test_jax(self):
        jax = library("jax")
        cupy = library("cupy")  # JAX's arrays do not change: memory for results is somebody else's
        try:
            gpu = jax.devices("gpu")[0]
        except RuntimeError as e:
            raise unittest.SkipTest("JAX sees no GPU: %s" % e) from None
        product = jax.jit(lambda x: x @ x / x.shape[0])
        for dtype in ("float32", "bfloat16"):
            x = jax.device_put(jax.numpy.ones((2048, 2048), dtype), gpu)
            y = product(product(x))  # is computed while the call begins
            out = cupy.empty((2048, 2048), dtype="f4") if dtype == "float32" else cupy.empty(2 * 2048 * 2048, dtype="u1")  # CuPy has no bf16: bytes
            self.program.scale(y, 3.0, n=0, out=out)
            cupy.cuda.Device().synchronize()
            self.assertTrue((out == 3.0).all() if dtype == "float32" else (out.view("u2") == 0x4040).all())
            self.assertEqual(float(y[5, 5]), 1.0)


if __name__ == "__main__":
    unittest.main()
