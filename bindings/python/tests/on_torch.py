"""Runs the package's tests with a library, and measures what a call on PyTorch's tensors costs the host:

    python3 tests/on_torch.py path/to/libtilec.so

in the folder bindings/python. It ends with 1 where a test fails, or where a GPU, PyTorch, Triton, nvcc, CuPy or JAX is missing: nothing is skipped in silence.
"""

import itertools
import os
import sys
import timeit
import unittest

folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def tests():
    """Whether all tests pass, and those of both devices ran, of other libraries' arrays, and of what the pages show."""
    suite = unittest.defaultTestLoader.discover(os.path.join(folder, "tests"), top_level_dir=folder)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return result.wasSuccessful() and not any(name in str(test) for test, _ in result.skipped for name in ("OnGPU", "OnCPU", "OnArrays", "SideBySide"))


SORTED = """
kernel sorted(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = sort(x[i, j], over j)
}

graph chain(x: f32[M, N]) -> y: f32[M, N] {
    y = %s
}
"""


def chain(tilec, x, y, launches):
    """A call of a graph of so many launches on x, or on x and another tensor by turns, into y."""
    source = SORTED % ("sorted(" * launches + "x" + ")" * launches)
    bound = tilec.Device("cuda").load(source, "chain.tile").chain.bind(x)
    bound(x, out=y)
    launcher, other = bound._launcher, x.clone()
    blocks = [launcher.pack(launcher.handle, 0, t.data_ptr(), y.data_ptr()) for t in (x, other)]
    kept, turn = (bound, other), itertools.cycle((0, 1))

    def work(same, kept=kept):
        launcher.launch(blocks[0 if same else next(turn)])

    return work


def overhead():
    """Prints what a call costs, in microseconds: the least of several rounds, of calls that the GPU is done with before the next one comes."""
    import torch

    import tilec
    from tests.test_torch import SOURCE
    from tilec import _launchers, _torch

    program = tilec.Device("cuda").load(SOURCE, "torch.tile")
    double, layers = program.double.torch_op("tilec_overhead::double"), program.layers.torch_op("tilec_overhead::layers")
    scale = program.scale.torch_op("tilec_overhead::scale")
    x, v, out = torch.randn(4, 64, device="cuda"), torch.randn(64, device="cuda"), torch.empty(4, 64, device="cuda")
    norms = [{"w": v, "b": v} for _ in range(4)]
    bound = program.scale.bind(x, 1.0)
    bound(x, 1.0, out=out)  # makes what the library is called by
    launcher = bound._launcher
    block = launcher.pack(launcher.handle, 0, x.data_ptr(), 2.0, out.data_ptr())
    # Graphs of so many launches, which are nothing but these to C: what one more takes is the driver's.
    chains = {launches: chain(tilec, x, out, launches) for launches in (1, 2, 6)}
    captured = torch.cuda.CUDAGraph()
    for _ in range(3):
        scale(x, 2.0)
    torch.cuda.synchronize()
    with torch.cuda.graph(captured):
        for _ in range(10):
            scale(x, 2.0)
    compiled = torch.compile(lambda x: scale(x, 2.0), fullgraph=True)
    rows = [
        ("PyTorch: torch.neg(x)", lambda: torch.neg(x), 1),
        ("PyTorch: torch.addcmul(x, x, x)", lambda: torch.addcmul(x, x, x), 1),
        ("operator, one tensor and a number: scale(x, 2.0)", lambda: scale(x, 2.0), 1),
        ("operator, through PyTorch's dispatcher: scale.overload(x, 2.0)", lambda: scale.overload(x, 2.0), 1),
        ("operator that changes a tensor: double(v)", lambda: double(v), 1),
        ("operator of a graph of 4 layers, 9 tensors: layers(x, norms)", lambda: layers(x, norms), 1),
        ("operator in torch.compile", lambda: compiled(x), 1),
        ("operator in a captured CUDA graph, of ten", captured.replay, 10),
        ("function: program.scale(x, 2.0)", lambda: program.scale(x, 2.0), 1),
        ("bound: bound(x, 2.0)", lambda: bound(x, 2.0), 1),
        ("bound, into memory that is there: bound(x, 2.0, out=y)", lambda: bound(x, 2.0, out=out), 1),
        ("of that: looking at x, 2.0 and y", lambda: launcher.take((x, 2.0), out), 1),
        ("of that: the current stream", lambda: _launchers._raw_stream(0), 1),
        ("of that: tilec_launch_block, by ctypes, with the driver's launch", lambda: launcher.launch(block), 1),
        *(("graph of %d launches, other values each time, by ctypes" % n, lambda work=work: work(False), 1) for n, work in chains.items()),
        *(("graph of %d launches, the same values again, by ctypes" % n, lambda work=work: work(True), 1) for n, work in chains.items() if n > 1),
        ("new memory: what a call makes", launcher.new, 1),
        ("new memory: torch.empty", lambda: torch.empty((4, 64), dtype=x.dtype, device=launcher.device), 1),
        ("whether an operator is dispatched", _torch._dispatches_as_usual, 1),
    ]
    print("%-64s %s" % ("call, PyTorch %s on %s" % (torch.__version__, torch.cuda.get_device_name()), "us"))
    for name, call, calls in rows:
        for _ in range(100):
            call()
        torch.cuda.synchronize()
        times = []
        for _ in range(30):
            times.append(timeit.timeit(call, number=100) / 100 / calls)
            torch.cuda.synchronize()
        print("%-64s %.2f" % (name, min(times) * 1e6))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 tests/on_torch.py path/to/libtilec.so")
    os.environ["TILEC_LIBRARY"] = os.path.abspath(sys.argv[1])
    sys.path.insert(0, folder)
    passed = tests()
    try:
        import torch
    except ImportError as e:
        sys.exit("no overhead is measured without PyTorch: %s" % e)
    if not torch.cuda.is_available():
        sys.exit("no overhead is measured without a GPU that PyTorch sees")
    overhead()
    sys.exit(not passed)


if __name__ == "__main__":
    main()
