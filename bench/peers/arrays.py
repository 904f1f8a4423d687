#!/usr/bin/env python3
"""The clipped logistic gradient, per-record clipping included, in NumPy and in JAX where these are installed.

Prints rows of JSON as the benchmarks do; none without the packages. One thread, float32, the fastest of several calls.
"""
import importlib
import json
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def gradient(np, x, y, theta, bound):
    """sum_i clip_b(g_i), g_i = (y_i - p_i) x_i: the norm of g_i is |y_i - p_i| times that of x_i."""
    residual = y - 1 / (1 + np.exp(-(x @ theta)))
    norm = np.abs(residual) * np.sqrt((x * x).sum(axis=1))
    return x.T @ (residual * np.minimum(1, bound / np.maximum(norm, 1e-30)))


def best(call, repeats=9):
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(name, n, d):
    numpy = importlib.import_module("numpy")
    rng = numpy.random.default_rng(1)
    x = rng.uniform(-1, 1, (n, d)).astype("float32")
    y = (rng.uniform(size=n) < 0.3).astype("float32")
    theta = numpy.full(d, 0.01, "float32")
    if name == "numpy":
        return best(lambda: gradient(numpy, x, y, theta, 1.0))
    jax = importlib.import_module("jax")
    x, y, theta = map(jax.numpy.asarray, (x, y, theta))
    call = jax.jit(lambda t: gradient(jax.numpy, x, y, t, 1.0))
    return best(lambda: call(theta).block_until_ready())


rows = []
for package in ("numpy", "jax"):
    for n, d in ((1000000, 50), (100000, 10)):
        try:
            seconds = measure(package, n, d)
        except ImportError:
            continue
        rows.append({"name": f"peer {package}: logistic gradient, n={n} d={d} K=1", "unit": "ns/record", "less_is_better": True,
                     "bytes": None, "flops": None, "divisions": None, "bound": None, "value": seconds / n * 1e9, "ratio": None,
                     "target": None})
print(json.dumps(rows))
