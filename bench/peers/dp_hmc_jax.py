#!/usr/bin/env python3
"""DP-HMC [Raisa2021] in JAX, and HMC without privacy in NumPyro, beside tacit's own runs.

    dp_hmc_jax.py [PROGRAM ...]      # bench_passes among the programs: its runs of dp-hmc are measured in between

Written anew after the structure of the authors' program (vmap(grad) of one record's log-likelihood, each gradient clipped to its
norm, sum, noise, L + 1 gradients an iteration, log ratios clipped record by record, log-likelihoods of the current point kept):

    published    records in rows; gradient and log-likelihoods compiled, the loop in Python, clipping spelt as theirs; float32
    float64      the same in the precision they chose
    compiled     in float32, clipping with one quotient a record, a whole iteration compiled
    columns      compiled, and one record a column, so that vectors run over records
    by hand      columns, gradients in closed form, L gradients an iteration: the operations that tacit counts

All are kept to one core and timed by processor time, the fastest of several; tacit and the forms take turns. Prints rows of JSON as
the benchmarks do; nothing without JAX.
"""
import json
import os
import subprocess
import sys
import time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
try:
    import jax
    import jax.numpy as jnp
    import numpy
except ImportError:
    sys.exit(0)
try:
    from numpyro.infer import HMC
except ImportError:
    HMC = None

N_RECORDS, N_CHAINS, STEP_SIZE, CLIP, NOISE = 100000, 4, 1e-3, 4.0, 10.0
ROUNDS = 3


def banana(theta, x):
    """x ~ N((theta_1, theta_2 + theta_1^2), I), one record, without its constant."""
    return -0.5 * ((x[0] - theta[0]) ** 2 + (x[1] - (theta[1] + theta[0] ** 2)) ** 2)


def banana_gradients(theta, x):
    first, second = x[0] - theta[0], x[1] - (theta[1] + theta[0] ** 2)
    return first + 2 * theta[0] * second, second


def gaussian(theta, x):
    """x ~ N(theta, I)."""
    return -0.5 * jnp.sum((x - theta) ** 2)


def gaussian_dense(theta, x, root):
    """x ~ N(theta, root root'), as the authors have it: a triangular system a record."""
    return -0.5 * jnp.sum(jax.scipy.linalg.solve_triangular(root, x - theta, lower=True) ** 2)


def clip_published(v):
    """A quotient a coordinate, the lesser of norm and bound through an array of both; and whether it was clipped, which they count."""
    norm = jnp.sqrt(jnp.sum(v**2))
    return v / norm * jnp.min(jnp.array((norm, CLIP))), norm > CLIP


def clip(v):
    """A quotient a record; nothing counted."""
    norm = jnp.sqrt(jnp.sum(v**2))
    return v * (jnp.minimum(norm, CLIP) / norm), 0


def per_record(log_lik, clip_one, is_columns):
    """theta (dim, chains) -> sums of clipped gradients (dim, chains), how many were clipped; -> log-likelihoods (records, chains)."""
    axis = 1 if is_columns else 0

    def gradient(theta, x):
        grads = jax.vmap(jax.grad(log_lik), (None, axis), axis)(theta, x)
        clipped, is_over = jax.vmap(clip_one, axis, (axis, 0))(grads)
        return jnp.sum(clipped, axis=axis), jnp.sum(is_over)

    def log_liks(theta, x):
        return jax.vmap(log_lik, (None, axis))(theta, x)

    return jax.vmap(gradient, (1, None), (1, 0)), jax.vmap(log_liks, (1, None), 1)


def banana_by_hand(theta, x):
    g = banana_gradients(theta, x)
    weight = jnp.minimum(1, CLIP * jax.lax.rsqrt(g[0] * g[0] + g[1] * g[1]))
    return jnp.stack([jnp.sum(weight * g[0]), jnp.sum(weight * g[1])]), 0


def gaussian_by_hand(theta, x):
    """|x - theta|^2 and the weighted sum as products with the matrix of records."""
    square = jnp.sum(x * x, axis=0) - 2 * (theta @ x) + theta @ theta
    weight = jnp.minimum(1, CLIP * jax.lax.rsqrt(square))
    return x @ weight - theta * jnp.sum(weight), 0


def make_iteration(gradient, log_liks, x, n_leapfrog, loop, is_reused):
    """One iteration of all chains; the state is theta, its log-likelihoods and, where it is reused, its gradient."""
    chains = (N_CHAINS,)

    def noisy(theta, key):
        return gradient(theta, x)[0] + 2 * NOISE * CLIP * jax.random.normal(key, theta.shape, theta.dtype) - theta

    def iterate(state, key):
        theta, before, grad = state
        keys = jax.random.split(key, n_leapfrog + 4)
        momentum = jax.random.normal(keys[0], theta.shape, theta.dtype)
        if not is_reused:
            grad = noisy(theta, keys[1])

        def step(i, carry):
            prop, p, g = carry
            p = p + 0.5 * STEP_SIZE * g
            prop = prop + STEP_SIZE * p
            g = noisy(prop, keys[i + 4])
            return prop, p + 0.5 * STEP_SIZE * g, g

        prop, p, grad_prop = loop(0, n_leapfrog, step, (theta, momentum, grad))
        after = log_liks(prop, x)
        bound = CLIP * jnp.sqrt(jnp.sum((theta - prop) ** 2, axis=0))
        sd = 2 * NOISE * bound
        ratio = jnp.sum(jnp.clip(after - before, -bound, bound), axis=0)
        ratio = ratio + sd * jax.random.normal(keys[2], chains, theta.dtype)
        change = ratio + 0.5 * jnp.sum(momentum**2 - p**2 + theta**2 - prop**2, axis=0)
        accepted = jnp.log(jax.random.uniform(keys[3], chains, theta.dtype)) < change - 0.5 * sd**2
        return tuple(jnp.where(accepted, new, old) for new, old in zip((prop, after, grad_prop), (theta, before, grad)))

    return iterate


def python_loop(first, last, step, carry):
    for i in range(first, last):
        carry = step(i, carry)
    return carry


def make_records(dim, dtype):
    """Sums of four uniforms, as in bench_passes.c: nearly normal."""
    rng = numpy.random.default_rng(7)
    return (numpy.sqrt(3) * (rng.uniform(size=(N_RECORDS, dim, 4)) - 0.5)).sum(axis=2).astype(dtype)


def chain_runner(log_lik, by_hand, dim, n_leapfrog, form):
    """A call that makes one iteration, and the gradient it uses at a point where some of the records are clipped."""
    dtype = "float64" if form == "float64" else "float32"
    is_columns = form in ("columns", "by hand")
    x = make_records(dim, dtype)
    x = jnp.asarray(numpy.ascontiguousarray(x.T) if is_columns else x)
    is_whole = form not in ("published", "float64")
    gradient, log_liks = per_record(log_lik, clip if is_whole else clip_published, is_columns)
    if form == "by hand":
        gradient = jax.vmap(by_hand, (1, None), (1, None))
    if not is_whole:
        gradient, log_liks = jax.jit(gradient), jax.jit(log_liks)
    iterate = make_iteration(gradient, log_liks, x, n_leapfrog, jax.lax.fori_loop if is_whole else python_loop, form == "by hand")
    iterate = jax.jit(iterate) if is_whole else iterate
    theta = jnp.zeros((dim, N_CHAINS), dtype)
    state = (theta, log_liks(theta, x), gradient(theta, x)[0])
    key = jax.random.key(5)

    def call():
        nonlocal state, key
        key, use = jax.random.split(key)
        state = jax.block_until_ready(iterate(state, use))

    point = jnp.linspace(0.2, 2, dim * N_CHAINS, dtype=dtype).reshape(dim, N_CHAINS)
    return call, numpy.asarray(gradient(point, x)[0])


def numpyro_runner(log_lik, dim, n_leapfrog):
    x = jnp.asarray(numpy.ascontiguousarray(make_records(dim, "float32").T))

    def potential(theta):
        return 0.5 * jnp.sum(theta**2) - jnp.sum(jax.vmap(log_lik, (None, 1))(theta, x))

    kernel = HMC(potential_fn=potential, step_size=STEP_SIZE, adapt_step_size=False, adapt_mass_matrix=False, num_steps=n_leapfrog)
    state = kernel.init(jax.random.split(jax.random.key(5), N_CHAINS), 0, jnp.zeros((N_CHAINS, dim)), (), {})
    sample = jax.jit(lambda chains: kernel.sample(chains, (), {}))

    def call():
        nonlocal state
        state = jax.block_until_ready(sample(state))

    return call


def check_agreement(name, gradients):
    for gradient in gradients[1:]:
        error = numpy.abs(gradient - gradients[0]).max() / numpy.abs(gradients[0]).max()
        if not error < 1e-3:
            sys.exit(f"dp_hmc_jax.py: forms of {name} differ by {error:.2g} of the gradient: their times cannot be compared")


def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def tacit_rates(program):
    rows = json.loads(subprocess.run([program, "--dp-hmc"], stdout=subprocess.PIPE, check=True).stdout)
    end = ": iterations"
    return {row["name"].removesuffix(end): row["value"] for row in rows if row["name"].endswith(end)}


def make_runs():
    """(run, form): call"""
    calls = {}
    root = jnp.asarray(numpy.linalg.cholesky(numpy.full((10, 10), 0.1) + numpy.eye(10) * 0.9).astype("float32"))
    runs = {"dp-hmc, banana n=100000 L=25 4 chains": (banana, banana_by_hand, 2, 25),
            "dp-hmc, gaussian d=10 n=100000 L=12 4 chains": (gaussian, gaussian_by_hand, 10, 12)}
    for name, (log_lik, by_hand, dim, n_leapfrog) in runs.items():
        gradients = []
        for form in ("published", "float64", "compiled", "columns", "by hand"):
            jax.config.update("jax_enable_x64", form == "float64")
            calls[name, "jax " + form], gradient = chain_runner(log_lik, by_hand, dim, n_leapfrog, form)
            seconds(calls[name, "jax " + form])
            gradients.append(gradient)
        jax.config.update("jax_enable_x64", False)
        check_agreement(name, gradients)
        if HMC is not None:
            calls[name, "numpyro, not private"] = numpyro_runner(log_lik, dim, n_leapfrog)
    dense = chain_runner(lambda theta, x: gaussian_dense(theta, x, root), None, 10, 12, "published")
    calls[name, "jax published, dense covariance"] = dense[0]
    return calls


def row(name, unit, value, target=None):
    return {"name": name, "unit": unit, "less_is_better": False, "bytes": None, "flops": None, "divisions": None, "bound": None,
            "value": value, "ratio": None, "target": target}


def main():
    program = next((path for path in sys.argv[1:] if os.path.basename(path) == "bench_passes"), None)
    calls, best, ours = make_runs(), {}, {}
    for _ in range(ROUNDS):
        for name, rate in (tacit_rates(program) if program else {}).items():
            ours[name] = max(ours.get(name, 0), rate)
        for key, call in calls.items():
            jax.config.update("jax_enable_x64", key[1] == "jax float64")
            least = min(seconds(call) for _ in range(3))
            jax.config.update("jax_enable_x64", False)
            best[key] = max(best.get(key, 0), 1 / least)
    rows = [row(f"tacit beside its peers: {name}, iterations", "1/s", rate) for name, rate in ours.items()]
    for (name, form), rate in best.items():
        rows.append(row(f"peer {form}: {name}, iterations", "1/s", rate))
        if name in ours:
            target = 20 if form.startswith("jax published") else None
            rows.append(row(f"tacit over {form}: {name}", "times", ours[name] / rate, target))
    print(json.dumps(rows))


main()
