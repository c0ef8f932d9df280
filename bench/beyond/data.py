"""Writes, to the current folder, the arrays that sizes.txt names by file: where ranges begin, pairs of pages, boxes, and matrices that need no pivots."""
import numpy as np

r = np.random.default_rng(0)


def starts(name, lengths):
    np.save(name, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))


def boxes(name, count, side, least, most):
    corner = r.random((count, 2)) * (side - most)
    np.save(name, np.concatenate([corner, corner + least + r.random((count, 2)) * (most - least)], 1).astype(np.float32))


np.save("first.npy", np.arange(0, 65537, 32, dtype=np.int32))
starts("first256.npy", np.full(256, 64))
starts("first64.npy", np.full(64, 256))
starts("first50258.npy", np.bincount(r.integers(0, 50257, 8192), minlength=50257))
starts("ptr65537.npy", np.bincount(r.integers(0, 65536, 1 << 20), minlength=65536))
np.save("pairs.npy", np.stack([r.permutation(4096)[:2048], r.permutation(4096)[:2048]], 1).astype(np.int32))
boxes("boxes.npy", 8192, 1000, 10, 100)
boxes("boxes4096.npy", 4096, 1000, 10, 100)
boxes("rois.npy", 512, 64, 5, 40)
np.save("dominant.npy", (r.random((32768, 32, 32)) * 0.5 + 32 * np.eye(32)).astype(np.float32))
