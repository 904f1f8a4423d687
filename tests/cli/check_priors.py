#!/usr/bin/env python3
"""A prior is of the coefficient as it is reported, of every family and by either route, against the exact posterior by quadrature.

    check_priors.py TACIT

Means are within 6 Monte Carlo errors of the exact ones and sds within a tenth: a right build fails less than once in 10^7 runs. Priors on features in
[-1, 1], as they were once read, move means by dozens of these errors.
"""
import csv
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TACIT = os.path.abspath(sys.argv[1])
N, HMC = 200, ["--method", "hmc", "--exposed", "--draws", "1500", "--warmup", "500", "--seed", "3", "--quiet"]
LOCATION, SCALE, DF, CENTRE, SPREAD = .02, .003, 5, .4, .15  # x: normal; Intercept: student_t
PRIORS = ["--prior", f"x: normal({LOCATION}, {SCALE})", "--prior", f"Intercept: student_t({DF}, {CENTRE}, {SPREAD})"]


def run(*words, status=0):
    done = subprocess.run([TACIT, *words], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stderr if status else done.stdout


def summary(folder):
    return {row["name"]: {key: float(row[key]) for key in ("mean", "sd", "mcse_mean")} for row in csv.DictReader(open(f"{folder}/summary.csv"))}


def log_prior(a, b):
    return -.5 * ((b - LOCATION) / SCALE) ** 2 - .5 * (DF + 1) * math.log1p(((a - CENTRE) / SPREAD) ** 2 / DF)


def exact(log_likelihood, records):
    """Means and sds of intercept and slope, on a grid that is wide and fine enough: trapezoids of a density that is smooth."""
    by_x = {}
    for x, y in records:
        by_x.setdefault(x, []).append(y)
    totals = [(x, len(ys), sum(ys)) for x, ys in by_x.items()]
    grid = [(a, b) for a in (CENTRE + SPREAD * (i - 80) / 5 for i in range(161)) for b in (LOCATION + SCALE * (i - 50) / 8 for i in range(101))]
    logs = [log_prior(a, b) + sum(log_likelihood(a + b * x, n, total) for x, n, total in totals) for a, b in grid]
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    total, found = sum(weights), []
    for k in (0, 1):
        mean = sum(w * at[k] for w, at in zip(weights, grid, strict=True)) / total
        found.append((mean, math.sqrt(sum(w * (at[k] - mean) ** 2 for w, at in zip(weights, grid, strict=True)) / total)))
    return found


def poisson(rng, mean):
    limit, k, p = math.exp(-mean), 0, rng.random()
    while p > limit:
        k, p = k + 1, p * rng.random()
    return k


os.chdir(tempfile.mkdtemp())
rng = random.Random(5)
FAMILIES = {  # response, its bounds, log-likelihood of n responses of this sum at eta; kernels of their own, then programs
    "bernoulli": (lambda eta: int(rng.random() < 1 / (1 + math.exp(1 - eta))), "{type: binary}", lambda eta, n, total: total * eta - n * math.log1p(math.exp(eta))),
    "poisson": (lambda eta: poisson(rng, math.exp(eta - .5)), "{type: integer, lower: 0, upper: 60}", lambda eta, n, total: total * eta - n * math.exp(eta)),
    "exponential": (lambda eta: min(max(rng.expovariate(math.exp(.5 - eta)), 1e-6), 200), "{type: numeric, lower: 0.000001, upper: 200}",
                    lambda eta, n, total: -n * eta - total * math.exp(-eta))}
for family, (draw, bounds, log_likelihood) in FAMILIES.items():
    records = [(x, draw(.5 + .015 * x)) for x in (10 * rng.randint(2, 9) for _ in range(N))]
    pathlib.Path("d.csv").write_text("x,y\n" + "".join(f"{x},{y!r}\n" for x, y in records))
    pathlib.Path("d.yaml").write_text(f"columns: {{x: {{type: numeric, lower: 0, upper: 100}}, y: {bounds}}}\n")
    run("fit", "y ~ x", "--family", family, *PRIORS, "--data", "d.csv", "--schema", "d.yaml", "--out", family, *HMC)
    found = summary(family)
    for name, (mean, sd) in zip(("b_Intercept", "b_x"), exact(log_likelihood, records), strict=True):
        got = found[name]
        assert abs(got["mean"] - mean) < 6 * got["mcse_mean"] and abs(got["sd"] / sd - 1) < .1, (family, name, got, mean, sd)

# A family's own parameter, and classes: what is so sure is the answer. A refit takes another prior, and keeps it.
SURE = ["--prior", "shape: normal(3, 0.001)", "--prior", "x: normal(0.01, 0.0001)", "--prior", "(Intercept): normal(1, 0.001)"]
PRIVATE = ["--epsilon", "20", "--delta", "1e-6", "--data", "d.csv", "--schema", "d.yaml", "--quiet", "--yes", "--draws", "300", "--chains", "2"]
run("fit", "y ~ x", "--family", "weibull", *SURE, "--data", "d.csv", "--schema", "d.yaml", "--out", "weibull", *HMC)
assert {name: round(row["mean"], 2) for name, row in summary("weibull").items() if name[0] != "I" and name != "b_s.1"} == {
    "b_Intercept": 1, "b_x": .01, "shape": 3}, summary("weibull")
pathlib.Path("c.csv").write_text("x,c\n" + "".join(f"{10 * rng.randint(2, 9)},{rng.choice('abc')}\n" for _ in range(N)))
pathlib.Path("c.yaml").write_text("columns: {x: {type: numeric, lower: 0, upper: 100}, c: {type: categorical, levels: [a, b, c]}, g: {type: categorical, levels: [u, v]}}\n")
text = run("fit", "c ~ x + I(x^2)", "--family", "categorical", "--prior", "x: normal(0.01, 0.0001)", "--prior", "[b] I(x^2): normal(0, 0.001)", "--data", "c.csv",
           "--schema", "c.yaml", "--out", "classes", *HMC)
assert all(abs(summary("classes")[name]["mean"] - .01) < .001 for name in ("b_b_x", "b_c_x")), summary("classes")
said = run("fit", "y ~ x", "--family", "weibull", "--prior", "shap: flat", "--data", "d.csv", "--schema", "d.yaml", "--out", "no", *HMC, status=2)
assert "did you mean 'shape'" in said, said
run("fit", "y ~ x", "--family", "exponential", "--prior", "x: normal(0.02, 0.02)", *PRIVATE, "--out", "first")
run("refit", "first", "--out", "again")
assert pathlib.Path("first/summary.csv").read_bytes() == pathlib.Path("again/summary.csv").read_bytes()
run("refit", "first", "--prior", "x: normal(0.05, 0.00001)", "--out", "other")
run("refit", "other", "--out", "other-again")
for folder in ("other", "other-again"):
    assert abs(summary(folder)["b_x"]["mean"] - .05) < .001 and "b_s[1] ~ normal(2.5, 0.0005);" in pathlib.Path(folder, "program.stan").read_text(), folder

# Builds that meant features in [-1, 1], half ranges of 50 here, kept no word of the scale: their fits mean that still.
pathlib.Path("k.csv").write_text("x,y\n" + "".join(f"{10 * rng.randint(2, 9)},{rng.randint(0, 1)}\n" for _ in range(N)))
pathlib.Path("k.yaml").write_text("columns: {x: {type: numeric, lower: 0, upper: 100}, y: {type: binary}}\n")
run("fit", "y ~ x", "--family", "bernoulli", "--prior", "x: normal(0.05, 0.0001)", *["k" + word[1:] if word in ("d.csv", "d.yaml") else word for word in PRIVATE],
    "--out", "kernel")
kept = json.loads(pathlib.Path("kernel/releases.json").read_text())
assert kept["settings"].pop("prior-scale") == ["original"], kept["settings"]
pathlib.Path("kernel/releases.json").write_text(json.dumps(kept))
run("refit", "kernel", "--out", "earlier")
assert abs(summary("kernel")["b_x"]["mean"] - .05) < .001 and abs(summary("earlier")["b_x"]["mean"] - .05 / 50) < .0001, summary("earlier")
run("refit", "kernel", "--prior", "x: normal(0.02, 0.0001)", "--out", "now")  # said now: as now
assert abs(summary("now")["b_x"]["mean"] - .02) < .001, summary("now")

# Chains begin where the prior has the intercept: from 0, prices have no way but to shapes that are not theirs.
rng = random.Random(9)
with open("prices.csv", "w") as file:
    file.write("y,x\n" + "".join(f"{min(1e6, max(1e4, rng.gammavariate(12, math.exp(12.2 + .5 * x) / 12))):.0f},{x:.4f}\n" for x in (rng.uniform(-1, 1) for _ in range(400))))
pathlib.Path("prices.yaml").write_text("columns:\n  y: {type: numeric, lower: 10000, upper: 1000000}\n  x: {type: numeric, lower: -1, upper: 1}\n")
run("fit", "y ~ x", "--family", "gamma", "--data", "prices.csv", "--schema", "prices.yaml", "--method", "hmc", "--exposed", "--chains", "2", "--draws", "200", "--warmup", "200", "--seed", "1", "--quiet", "--out", "prices")
of = summary("prices")
assert abs(of["b_Intercept"]["mean"] - 12.2) < .1 and abs(of["b_x"]["mean"] - .5) < .15 and abs(of["shape"]["mean"] - 12) < 6, of

# A prior that is given for one coefficient leaves those of the others.
run("fit", "y ~ x", "--family", "gamma", "--data", "prices.csv", "--schema", "prices.yaml", "--epsilon", "8", "--delta", "1e-6", "--seed", "1", "--quiet", "--prior", "Intercept: normal(12, 1)", "--out", "given")
assert "b_s[1] ~ student_t(3, 0, 2.5)" in json.loads(pathlib.Path("given", "releases.json").read_text())["program"]
