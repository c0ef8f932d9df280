"""Tensors of PyTorch with the data of tilec, and times of functions of them, for the scripts of PyTorch and Triton."""
import statistics

import torch

from conversation import places, runs, timed_on_host

DTYPES = {
    "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
    "i8": torch.int8, "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64,
}


class Tensors:
    def __init__(self, job):
        self.device, self.seconds, self.offset, self.sampled = job["device"], job["seconds"], job["offset"], job["sampled"]
        if self.device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("PyTorch sees no GPU")
        with open(job["normals"], "rb") as f:
            self.normals = torch.frombuffer(bytearray(f.read()), dtype=torch.float32).to(self.device)
        with open(job["wholes"], "rb") as f:  # u32
            self.wholes = (torch.frombuffer(bytearray(f.read()), dtype=torch.int32).to(torch.int64) & 0xFFFFFFFF).to(self.device)
        self.flushed = torch.empty(max(job["flush"] // 4, 1), dtype=torch.int32, device=self.device)
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        torch.set_grad_enabled(False)

    def pattern(self, x, number, count):
        start = number * self.offset % len(x)
        times = -(-(start + count) // len(x))
        return (x.repeat(times) if times > 1 else x)[start:start + count]

    def tensor(self, a):
        shape, count = a["shape"], 1
        for n in shape:
            count *= n
        if a["dtype"] == "f4e2m1":
            return self.fours(self.pattern(self.normals, a["number"], count)).view(*shape[:-1], shape[-1] // 2)
        dtype = DTYPES[a["dtype"]]
        what = a.get("integers", {})
        if a.get("changed"):
            return torch.zeros(shape, dtype=dtype, device=self.device)
        if dtype.is_floating_point:  # a copy, which begins at an aligned address
            return self.pattern(self.normals, a["number"], count).to(dtype, copy=True).view(shape)
        if what.get("step"):
            n = torch.arange(count, device=self.device)
            return ((n * n if what.get("squares") else n) * what["step"]).to(dtype).view(shape)
        low, high = what.get("low", 0), what.get("high", 0)
        if high > low:
            return (self.pattern(self.wholes, a["number"], count) % (high - low) + low).to(dtype).view(shape)
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def fours(self, x):
        """Floats of 4 bits, two a byte: the sign and, of eight magnitudes, the nearest."""
        middles = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], device=self.device)
        codes = torch.bucketize(x.abs(), middles).to(torch.uint8) | (x < 0).to(torch.uint8) << 3
        return codes[0::2] | codes[1::2] << 4

    def arguments(self, described):
        return {a["name"]: self.tensor(a) if a["shape"] is not None else a.get("scalar", 0) for a in described}

    def reset(self, described, arguments):
        for a in described:
            if a.get("changed"):
                arguments[a["name"]].zero_()

    def samples(self, result):
        found = []
        for t in result if isinstance(result, (tuple, list)) else (result,):
            flat = t.reshape(-1)
            at = torch.tensor(places(flat.numel(), self.sampled), device=flat.device)
            found.append(flat[at].double().tolist())
        return found

    def median(self, f):
        """The median time of a run in us, and how it was run."""
        if self.device == "cpu":
            return timed_on_host(f, self.seconds), ""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                f()
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.synchronize()
        try:
            run, how = self.captured(f), ", in a graph"
        except Exception:  # what asks the host for a result cannot be captured
            torch.cuda.synchronize()
            run, how = self.called(f), ""
        first = run() * 1e-6
        return statistics.median(run() for _ in range(runs(self.seconds, first + 100e-6))), how

    def captured(self, f):
        graph = torch.cuda.CUDAGraph()
        try:
            begin, end = (torch.cuda.Event(enable_timing=True, external=True) for _ in range(2))
        except TypeError:  # an older PyTorch, whose events cannot be part of a graph
            with torch.cuda.graph(graph):
                f()
            return self.called(graph.replay)
        with torch.cuda.graph(graph):
            self.flushed.zero_()
            begin.record()
            f()
            end.record()

        def run():
            graph.replay()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) * 1e3

        run()
        return run

    def called(self, f):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def run():
            self.flushed.zero_()
            begin.record()
            f()
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) * 1e3

        return run

    def forget(self):
        if self.device == "cuda":
            torch.cuda.empty_cache()
