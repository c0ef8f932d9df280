"""The programs of docs/side-by-side.md: each compiles as what it is, and where a machine has what they need, all give the same. By itself, with a GPU, Triton
and nvcc, in some twenty seconds:

    TILEC_LIBRARY=path/to/libtilec.so python3 -m unittest -v tests.test_pages
"""

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tilec
from tests.test_torch import torch

page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "side-by-side.md")


@unittest.skipUnless(os.path.exists(page), "the pages are not beside the package")
class SideBySide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(page) as f:
            blocks = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", f.read())
        cls.pytorch, cls.triton = [text for language, text in blocks if language == "python"]
        (cls.cuda,) = [text for language, text in blocks if language == "cuda"]
        (cls.tile,) = [text for language, text in blocks if language == "tile"]

    def test_python_compiles(self):
        for text in (self.pytorch, self.triton):
            compile(text, page, "exec")
        self.assertIn("def softmax(x):", self.pytorch)
        self.assertIn("@triton.jit", self.triton)

    def test_pytorch(self):
        if torch is None:
            self.skipTest("PyTorch is not installed")
        self.compare("cpu", self.run_python(self.pytorch))

    def test_triton(self):
        self.needs_gpu()
        try:
            import triton  # noqa: F401
        except ImportError as e:
            self.skipTest("Triton is not installed: %s" % e)
        self.compare("cuda", self.run_python(self.triton))

    def test_cuda(self):
        self.needs_gpu()
        launch = self.compile_cuda(self.cuda, b"softmax")

        def softmax(x):
            y = torch.empty_like(x)
            launch(x.shape[0], 256, ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_int(x.shape[1]))
            return y

        self.compare("cuda", softmax, narrow=False)

    def compile_cuda(self, text, name):
        """A kernel of CUDA C++, by nvcc and the driver: it is launched in PyTorch's stream on a number of blocks, of threads, and parameters."""
        nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
        if not nvcc:
            self.skipTest("nvcc is not installed")
        driver = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")  # PyTorch's context is current from here on
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        with tempfile.TemporaryDirectory() as folder:
            source, code = os.path.join(folder, "side.cu"), os.path.join(folder, "side.cubin")
            with open(source, "w") as f:
                f.write(text)
            subprocess.run([nvcc, "-cubin", "-arch=sm_%d%d" % torch.cuda.get_device_capability(), "-o", code, source], check=True)
            self.assertEqual(driver.cuModuleLoad(ctypes.byref(module), code.encode()), 0)
        self.assertEqual(driver.cuModuleGetFunction(ctypes.byref(function), module, name), 0)

        def launch(blocks, threads, *parameters):
            addresses = (ctypes.c_void_p * len(parameters))(*(ctypes.addressof(p) for p in parameters))
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            self.assertEqual(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, addresses, None), 0)

        return launch

    def needs_gpu(self):
        if torch is None or not torch.cuda.is_available():
            self.skipTest("there is no GPU that PyTorch sees")

    def run_python(self, text):
        """The function softmax of a program. Triton reads the source of its kernels from a file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "side.py")
            with open(path, "w") as f:
                f.write(text)
            names = {"__name__": "side", "__file__": path}
            exec(compile(text, path, "exec"), names)
            import linecache

            linecache.getlines(path)  # kept when the file is gone
        return names["softmax"]

    def compare(self, device, softmax, narrow=True):
        here = tilec.Device(device).load(self.tile, "softmax.tile").softmax
        for rows, columns in ((1, 1), (5, 100), (64, 1000), (3, 5000)):
            x = torch.randn(rows, columns, device=device)
            for dtype in (torch.float32, torch.bfloat16) if narrow else (torch.float32,):
                y = x.to(dtype)
                torch.testing.assert_close(softmax(y), here(y))


if __name__ == "__main__":
    unittest.main()
