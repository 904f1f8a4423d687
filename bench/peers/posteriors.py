#!/usr/bin/env python3
"""What answers cost elsewhere: seconds on one core, of a logistic regression on the same records.

    posteriors.py TACIT

    no privacy      four chains of 1000 draws after 500 of warm-up: tacit's hmc, Stan's NUTS (pystan), NumPyro's NUTS, and seconds for
                    1000 effective draws of the coefficient that has fewest, by one estimator; compiling a program is not counted
    epsilon 1       tacit's default, with intervals; diffprivlib's LogisticRegression, objective perturbation, without

Features uniform in [-1, 1], ten of them. What is not installed (pystan, numpyro, diffprivlib) is left out. Prints rows of
JSON as the benchmarks do; nothing without numpy and pandas.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

try:
    import numpy
    import pandas  # noqa: F401, of whole_fit's frames
    import whole_fit
except ImportError:
    sys.exit(0)

N_CHAINS, N_DRAWS, N_WARMUP, D = 4, 1000, 500, 10
MOST_OF_CHAINS = 10**4
PROGRAM = f"""
data {{ int n; array[n] int<lower=0, upper=1> y; matrix[n, {D}] x; }}
parameters {{ real a; vector[{D}] b; }}
model {{ a ~ normal(0, 10); b ~ normal(0, 2.5); y ~ bernoulli_logit_glm(x, a, b); }}
"""


def effective(draws):
    """Least number of effective draws, shape (chains, draws, coefficients): Geyer's initial sequence, chains as one."""
    least = numpy.inf
    for k in range(draws.shape[2]):
        x = draws[:, :, k] - draws[:, :, k].mean()
        n = x.shape[1]
        spectrum = numpy.abs(numpy.fft.rfft(x, 2 * n, axis=1)) ** 2
        covariance = numpy.fft.irfft(spectrum, axis=1)[:, :n].mean(0) / n
        pairs = covariance[0 : n // 2 * 2 : 2] + covariance[1 : n // 2 * 2 : 2]
        end = int(numpy.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
        least = min(least, x.size * covariance[0] / max(2 * pairs[:end].sum() - covariance[0], 1e-300))
    return least


def by_tacit(program, _, folder):
    data, schema, out = folder / "d.csv", folder / "s.yaml", folder / "exposed"
    schema.write_text(json.dumps(whole_fit.schema_of(D)))
    words = [program, "fit", whole_fit.formula_of(D), "--data", data, "--schema", schema, "--family", "bernoulli", "--exposed", "--method", "hmc",
             "--chains", N_CHAINS, "--draws", N_DRAWS, "--warmup", N_WARMUP, "--threads", 1, "--seed", 1, "--quiet", "--out", out]
    begin = time.perf_counter()
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    seconds, chains = time.perf_counter() - begin, []
    for path in sorted(out.glob("draws-*.csv")):
        with path.open() as file:
            rows = list(csv.reader(line for line in file if not line.startswith("#")))
        names = [i for i, name in enumerate(rows[0]) if name.startswith("b_") and not name.startswith("b_s")]
        chains.append([[float(row[i]) for i in names] for row in rows[1:]])
    return seconds, effective(numpy.array(chains))


def by_stan(_, frame, __):
    import stan
    posterior = stan.build(PROGRAM, data={"n": len(frame), "y": frame["y"].tolist(), "x": frame.iloc[:, 1:].to_numpy().tolist()},
                           random_seed=int(time.time()))  # it keeps what it drew for a seed
    begin = time.perf_counter()
    fit = posterior.sample(num_chains=N_CHAINS, num_samples=N_DRAWS, num_warmup=N_WARMUP)
    seconds = time.perf_counter() - begin
    draws = numpy.concatenate([fit["a"][None, 0], fit["b"]])  # (1 + D, draws of all chains in turns)
    return seconds, effective(draws.reshape(1 + D, N_DRAWS, N_CHAINS).transpose(2, 1, 0))


def by_numpyro(_, frame, __):
    import jax
    import numpyro
    from numpyro.distributions import BernoulliLogits, Normal
    from numpyro.infer import MCMC, NUTS
    y, x = frame["y"].to_numpy(), frame.iloc[:, 1:].to_numpy("float32")

    def model(x, y):
        a = numpyro.sample("a", Normal(0, 10))
        b = numpyro.sample("b", Normal(0, 2.5).expand([D]).to_event(1))
        numpyro.sample("y", BernoulliLogits(a + x @ b), obs=y)
    chains = MCMC(NUTS(model), num_warmup=N_WARMUP, num_samples=N_DRAWS, num_chains=N_CHAINS, chain_method="sequential", progress_bar=False,
                  jit_model_args=True)
    chains.run(jax.random.key(0), x, y)
    begin = time.perf_counter()
    chains.run(jax.random.key(1), x, y)
    draws = chains.get_samples(group_by_chain=True)
    both = numpy.concatenate([numpy.asarray(draws["a"])[:, :, None], numpy.asarray(draws["b"])], axis=2)
    return time.perf_counter() - begin, effective(both)


def private_tacit(program, frame, folder):
    begin = time.perf_counter()
    whole_fit.by_program(program, folder / "d.csv", D, 1)
    return time.perf_counter() - begin


def private_diffprivlib(_, frame, __):
    from diffprivlib.models import LogisticRegression
    begin = time.perf_counter()
    LogisticRegression(epsilon=1, data_norm=D**0.5, C=1).fit(frame.iloc[:, 1:].to_numpy(), frame["y"].to_numpy())
    return time.perf_counter() - begin


def row(name, unit, value):
    return {"name": name, "unit": unit, "less_is_better": True, "bytes": None, "flops": None, "divisions": None, "bound": None, "value": float(value),
            "ratio": None, "target": None}


def main():
    if len(sys.argv) != 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("posteriors.py: needs the program: posteriors.py build/src/cli/tacit")
    program, rows = os.path.abspath(sys.argv[1]), []
    warnings.simplefilter("ignore")
    for n in (10**4, 10**6):
        frame = whole_fit.frame_of(n, D)
        with tempfile.TemporaryDirectory() as temporary:
            pathlib.Path(temporary, "d.csv").write_text(frame.to_csv(index=False, float_format="%.6f"))
            for who, run in (("tacit hmc", by_tacit), ("Stan", by_stan), ("NumPyro", by_numpyro)):
                if n > MOST_OF_CHAINS:
                    continue
                try:
                    seconds, draws = run(program, frame, pathlib.Path(temporary))
                except ImportError:
                    continue
                rows += [row(f"{who}: logistic, n={n} d={D}", "s", seconds), row(f"{who}: the same, 1000 effective draws", "s", 1000 * seconds / draws)]
            for who, run in (("tacit", private_tacit), ("diffprivlib", private_diffprivlib)):
                try:
                    rows.append(row(f"{who}: private logistic, n={n} d={D}", "s", min(run(program, frame, pathlib.Path(temporary)) for _ in range(3))))
                except ImportError:
                    continue
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
