"""CuPy on the workloads of tilec: `tilec bench run --peer cupy` runs this."""
import statistics

from conversation import converse, places, runs

try:
    import cupy
except ImportError as problem:
    cupy, missing = None, problem

DTYPES = {"f32": "float32", "f16": "float16", "f64": "float64", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64"}


class Arrays:
    def __init__(self, job):
        self.seconds, self.offset, self.sampled = job["seconds"], job["offset"], job["sampled"]
        self.normals = cupy.frombuffer(open(job["normals"], "rb").read(), dtype="float32")
        self.wholes = cupy.frombuffer(open(job["wholes"], "rb").read(), dtype="uint32").astype("int64")
        self.flushed = cupy.empty(max(job["flush"] // 4, 1), dtype="int32")
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()

    def pattern(self, x, number, count):
        start = number * self.offset % len(x)
        return cupy.tile(x, -(-(start + count) // len(x)))[start:start + count]

    def array(self, a):
        if a["dtype"] not in DTYPES:
            raise TypeError(f"CuPy has no {a['dtype']}")
        dtype, shape, count = DTYPES[a["dtype"]], a["shape"], 1
        for n in shape:
            count *= n
        what = a.get("integers", {})
        low, high = what.get("low", 0), what.get("high", 0)
        if a.get("changed"):
            return cupy.zeros(shape, dtype)
        if dtype.startswith("float"):
            return self.pattern(self.normals, a["number"], count).astype(dtype).reshape(shape)
        if what.get("step"):
            n = cupy.arange(count)
            return ((n * n if what.get("squares") else n) * what["step"]).astype(dtype).reshape(shape)
        if high > low:
            return (self.pattern(self.wholes, a["number"], count) % (high - low) + low).astype(dtype).reshape(shape)
        return cupy.zeros(shape, dtype)

    def arguments(self, described):
        return {a["name"]: self.array(a) if a["shape"] is not None else a.get("scalar", 0) for a in described}

    def reset(self, described, arguments):
        for a in described:
            if a.get("changed"):
                arguments[a["name"]].fill(0)

    def samples(self, result):
        found = []
        for t in result if isinstance(result, (tuple, list)) else (result,):
            flat = t.reshape(-1)
            found.append(flat[cupy.array(places(flat.size, self.sampled))].astype("float64").tolist())
        return found

    def median(self, f):
        for _ in range(3):
            f()
        self.stream.synchronize()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        run, how = f, ""
        try:
            self.stream.begin_capture()
            f()
            graph = self.stream.end_capture()
            run, how = lambda: graph.launch(self.stream), ", in a graph"
        except Exception:  # what allocates memory or asks the host cannot be captured
            try:
                self.stream.end_capture()
            except Exception:
                pass

        def once():
            self.flushed.fill(0)
            begin.record(self.stream)
            run()
            end.record(self.stream)
            end.synchronize()
            return cupy.cuda.get_elapsed_time(begin, end) * 1e3

        first = once() * 1e-6
        return statistics.median(once() for _ in range(runs(self.seconds, first + 100e-6))), how

    def forget(self):
        cupy.get_default_memory_pool().free_all_blocks()


def gelu(x):
    return 0.5 * x * (1 + cupy.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def softmax(a):
    def f():
        e = cupy.exp(a["x"] - a["x"].max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return {"operations": f}


def operations(f):
    return lambda a: {"operations": lambda: f(a)}


def open_cupy(job):
    if cupy is None:
        raise missing
    peer = Arrays(job)
    peer.name = f"CuPy {cupy.__version__}"
    fused = cupy.fuse()(gelu)
    peer.kernels = {
        "linear": operations(lambda a: a["x"] @ a["w"]),
        "linear_bias": operations(lambda a: a["x"] @ a["w"] + a["b"]),
        "batched_matmul": operations(lambda a: a["a"] @ a["b"]),
        "softmax": softmax,
        "gelu_map": lambda a: {"operations": lambda: gelu(a["x"]), "fused": lambda: fused(a["x"])},
        "relu_of": operations(lambda a: cupy.maximum(a["x"], 0)),
        "tanh_of": operations(lambda a: cupy.tanh(a["x"])),
        "twice_and_one": operations(lambda a: 2 * a["x"] + 1),
        "row_sum": operations(lambda a: a["x"].sum(axis=1)),
        "column_sum": operations(lambda a: a["x"].sum(axis=0)),
        "middle_max": operations(lambda a: a["x"].max(axis=1)),
        "row_argmax": operations(lambda a: a["x"].argmax(axis=1)),
        "sort_rows": operations(lambda a: cupy.sort(a["x"], axis=1)),
        "prefix_sum": operations(lambda a: cupy.cumsum(a["x"], axis=1)),
        "histogram": operations(lambda a: cupy.bincount(a["x"], minlength=a["counts"].shape[0])),
        "gather_rows": operations(lambda a: a["x"].take(a["id"], axis=0)),
        "transpose": operations(lambda a: cupy.ascontiguousarray(a["x"].T)),
        "transpose3": operations(lambda a: cupy.ascontiguousarray(a["x"].transpose(2, 0, 1))),
    }
    return peer


if __name__ == "__main__":
    converse(open_cupy)
