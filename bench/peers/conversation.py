"""What the scripts of peers share: they read what to time from stdin, and print a JSON object a line.

The first line that they read is the job, each further one a workload with its arguments. Nothing is timed that is not the peer's own
work: data are made before, as tilec makes them, and runs are kept in a CUDA graph, so that a slow host does not make a peer look slow.
"""
import json
import math
import statistics
import sys
import time


def emit(**fields):
    print(json.dumps(fields), flush=True)


def first_line(problem):
    lines = str(problem).splitlines()
    return lines[0] if lines else type(problem).__name__


def runs(seconds, each):
    """How many runs of so many seconds each a median is taken of."""
    return int(min(max(seconds / max(each, 1e-6), 5), 200))


def text(x):
    """A number as JSON can have it."""
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x


def places(count, sampled):
    """Which elements of a result are wanted: the first, the last, and others evenly between."""
    n = min(count, sampled)
    return [i * (count - 1) // (n - 1) if n > 1 else 0 for i in range(n)]


def converse(open_peer):
    """Reads the job, opens the peer with it, and has it time each workload.

    The peer has a name, kernels (a dict from the name of a kernel to a function that gives, of its arguments, the ways to compute
    it: a dict from names to functions), arguments(list), reset(arguments), median(function) in us, samples(result), and forget().
    """
    job = json.loads(sys.stdin.readline())
    begin = time.perf_counter()
    try:
        peer = open_peer(job)
    except Exception as problem:
        emit(missing=f"python3 cannot run it: {first_line(problem)}")
        return
    emit(peer=peer.name)
    for line in sys.stdin:
        w = json.loads(line)
        spent = time.perf_counter() - begin
        if spent > job["within"]:
            emit(name=w["name"], error="left out: the time was up")
            continue
        best, which, samples, problem = math.inf, "", [], f"its script has no way to compute {w['kernel']}"
        try:
            make = peer.kernels.get(w["kernel"])
            arguments = peer.arguments(w["arguments"]) if make else {}
            ways = make(arguments) if make else {}
        except Exception as e:
            ways, arguments, problem = {}, {}, first_line(e)
        untried = ""
        for way, f in ways.items():
            if "compiled" in way and len(ways) > 1 and spent > job["within"] / 2:
                untried = ", compiled was left out for want of time"
                continue
            try:
                peer.reset(w["arguments"], arguments)
                found = peer.samples(f())
                us, how = peer.median(f)
            except Exception as e:
                problem = f"{way}: {first_line(e)}"
                continue
            if us < best:
                best, which, samples = us, way + how, found
        del ways, arguments
        peer.forget()
        if best < math.inf:
            emit(name=w["name"], us=best, way=which + untried, samples=[[text(x) for x in s] for s in samples])
        else:
            emit(name=w["name"], error=problem)


def timed_on_host(f, seconds):
    """The median of runs by the host's clock, in us."""
    begin = time.perf_counter()
    f()
    took = []
    for _ in range(runs(seconds, time.perf_counter() - begin)):
        begin = time.perf_counter()
        f()
        took.append(time.perf_counter() - begin)
    return statistics.median(took) * 1e6
