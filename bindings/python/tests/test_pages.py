"""The programs of docs/side-by-side.md: each compiles as what it is, and where a machine has what they need, all give the same."""

import os
import re
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
        if not hasattr(torch.cuda, "_compile_kernel"):
            self.skipTest("this PyTorch compiles no CUDA C++")
        kernel = torch.cuda._compile_kernel(self.cuda, "softmax")

        def softmax(x):
            y = torch.empty_like(x)
            kernel((x.shape[0], 1, 1), (256, 1, 1), (x, y, x.shape[1]))
            return y

        self.compare("cuda", softmax, narrow=False)

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
