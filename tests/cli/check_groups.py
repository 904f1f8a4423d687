#!/usr/bin/env python3
"""(1 | g), (1 + x | g) by method noise-aware: the releases of + g, effects with sds of their own given them; what is made of such a fit, and what is refused.

A private answer at a budget that hides nothing is that of the same formula without privacy, by another sampler, within Monte Carlo error; the releases are those
of + g bit by bit.
"""
import csv
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

TACIT = str(pathlib.Path(sys.argv[1]).resolve())
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
rng, of_counts = random.Random(4), random.Random(5)
SLOPES = {"a": 0.6, "b": -0.3, "c": 0.0, "d": -0.5, "e": 0.4}
EFFECTS = {"a": -0.7, "b": -0.2, "c": 0.1, "d": 0.5, "e": 0.9}
lines = []
for _ in range(6000):
    x, g, h = rng.uniform(20, 80), rng.choice("abcde"), rng.choice("pq")
    eta = -0.4 + 0.02 * (x - 50) * (1 + SLOPES[g]) + EFFECTS[g] + (0.3 if h == "q" else 0)
    left, count = of_counts.gammavariate(2, math.exp(eta) / 2) - of_counts.expovariate(1), 0
    while left > 0 and count < 40:
        left, count = left - of_counts.expovariate(1), count + 1
    u = of_counts.random()
    level = "lmh"[sum(eta + math.log(u / (1 - u)) > cut for cut in (-0.8, 0.9))]
    lines.append(f"{level},{count},{int(rng.random() < 1 / (1 + math.exp(-eta)))},{x:.4f},{g},{h},{max(-20, min(30, 5 + 2 * eta + rng.gauss(0, 2))):.4f},{rng.randrange(2)}")
pathlib.Path("d.csv").write_text("o,k,y,x,ward no,h,z,w\n" + "\n".join(lines) + "\n")
pathlib.Path("d.yaml").write_text(
    "columns:\n  o: {type: categorical, levels: [l, m, h]}\n  k: {type: integer, lower: 0, upper: 40}\n  y: {type: binary}\n  w: {type: binary}\n  x: {type: numeric, lower: 20, upper: 80}\n  ward no: {type: categorical, levels: [a, b, c, d, e]}\n"
    "  h: {type: categorical, levels: [p, q]}\n  z: {type: numeric, lower: -20, upper: 30}\n")
pathlib.Path("new.csv").write_text("x,ward no,h\n25,a,p\n70,e,q\n")


def run(*words, status=0):
    done = subprocess.run([TACIT, *words], capture_output=True, text=True)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def fit(formula, out, *words, family="bernoulli"):
    shutil.rmtree(out, ignore_errors=True)
    return run("fit", formula, "--family", family, "--data", "d.csv", "--schema", "d.yaml", "--out", out, "--seed", "5", *words)


def draws(out):
    rows = []
    for path in sorted(pathlib.Path(out).glob("draws-*.csv")):
        rows += csv.DictReader(line for line in path.open() if not line.startswith("#"))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def spread(values):
    """Of the middle nine tenths, in sds: that of a few groups' sd has tails that a few draws decide."""
    ends = statistics.quantiles(values, n=20)
    return (ends[-1] - ends[0]) / 3.29


def close(a, b, apart):
    assert abs(statistics.fmean(a) - statistics.fmean(b)) < apart * spread(b), (statistics.fmean(a), statistics.fmean(b), spread(b))
    assert 0.8 < spread(a) / spread(b) < 1.25, (spread(a), spread(b))


def releases(out):
    return json.loads(pathlib.Path(out, "releases.json").read_text())["releases"]


PRIVATE = ("--epsilon", "2000", "--delta", "1e-6")
for family, response in (("bernoulli", "y"), ("gaussian", "z")):
    formula = f"{response} ~ x + h + (1 | `ward no`)"
    fit(formula, "private", *PRIVATE, family=family)
    fit(formula, "exposed", "--exposed", "--method", "hmc", family=family)
    ours, theirs = draws("private"), draws("exposed")
    assert list(ours) == list(theirs), (list(ours), list(theirs))
    for name in list(theirs)[7:]:
        close(ours[name], theirs[name], 0.35)
    # the parts of the linear predictor that the data know well
    for k in range(1, 6):
        close(*([a + b for a, b in zip(of["Intercept_s"], of[f"r_ward_no_1.{k}"])] for of in (ours, theirs)), 0.35)
    fit(f"{response} ~ x + h + `ward no`", "fixed", *PRIVATE, family=family)
    assert releases("private") == releases("fixed")

# families that are programs, and formulas that kernels do not know
for family, formula, fixed in (("negbinomial", "k ~ x + h + (1 | `ward no`)", "k ~ x + h + `ward no`"), ("bernoulli", "y ~ poly(x, 2) + (1 | `ward no`)", "y ~ poly(x, 2) + `ward no`"),
                               ("cumulative", "o ~ x + h + (1 | `ward no`)", "o ~ x + h + `ward no`"), ("negbinomial", "k ~ h + x + (1 + x | `ward no`)", None)):
    fit(formula, "private", *PRIVATE, "--prior", "normal(0, 2)", family=family)
    fit(formula, "exposed", "--exposed", "--method", "hmc", "--prior", "normal(0, 2)", "--warmup", "400", "--draws", "400", family=family)
    ours, theirs = draws("private"), draws("exposed")
    assert list(ours) == list(theirs), (list(ours), list(theirs))
    for name in [name for name in list(theirs)[8:] if name.startswith(("b_", "sd_", "phi"))]:
        close(ours[name], theirs[name], 0.35)
    for k in range(1, 6):
        at, sign = ("cut.1", -1) if family == "cumulative" else ("Intercept_s", 1)
        close(*([a + sign * b for a, b in zip(of[at], of[f"r_ward_no_1.{k}"])] for of in (ours, theirs)), 0.35)
    if fixed:
        fit(fixed, "fixed", *PRIVATE, "--prior", "normal(0, 2)", family=family)
        assert releases("private") == releases("fixed")
run("refit", "private", "--out", "again")
assert pathlib.Path("private", "draws-2.csv").read_bytes() == pathlib.Path("again", "draws-2.csv").read_bytes()
assert "nothing that noise and sampling do not explain" in run("check", "private", "--data", "d.csv", "--epsilon", "4", "--delta", "1e-6")
shutil.rmtree("again")

# slopes: of a column far from 0, without the 1, of a binary one; beside an interaction of others
for family, formula in (("bernoulli", "y ~ x + h + (1 + x | `ward no`)"), ("gaussian", "z ~ h + x + (x | `ward no`)"), ("bernoulli", "y ~ w + h + x + h:x + (w | `ward no`)")):
    fit(formula, "private", *PRIVATE, family=family)
    fit(formula, "exposed", "--exposed", "--method", "hmc", family=family)
    ours, theirs = draws("private"), draws("exposed")
    assert list(ours) == list(theirs), (list(ours), list(theirs))
    for name in [name for name in list(theirs)[7:] if name.startswith(("b_", "sd_", "sigma"))]:
        close(ours[name], theirs[name], 0.35)
    slope, of_group = (1 if formula.startswith("y ~ x") else 2 if family == "gaussian" else 1), [name for name in theirs if name.startswith("r_ward") and "_1." in name][-5:]
    for name in of_group:
        close(*([a + b for a, b in zip(of[f"b_s.{slope}"], of[name])] for of in (ours, theirs)), 0.35)
fit("y ~ x + h + (1 + x | `ward no`)", "slopes", *PRIVATE)
of = draws("slopes")
mean = [statistics.fmean(1 / (1 + math.exp(-(a + b * x + h * is_q + r + s * (x - 50) / 30))) for a, b, h, r, s in
                         zip(of["b_Intercept"], of["b_x"], of["b_hq"], of[f"r_ward_no_1.{k}"], of[f"r_ward_no_1_1.{k}"])) for x, k, is_q in ((25, 1, 0), (70, 5, 1))]
for row, expected in zip(csv.DictReader(run("predict", "slopes", "--newdata", "new.csv").splitlines()), mean):
    assert abs(float(row["mean"]) - expected) < 1e-6, (row, expected)
said = run("check", "slopes", "--data", "d.csv", "--epsilon", "4", "--delta", "1e-6")  # the regression's own terms are made of effects there
assert "nothing that noise and sampling do not explain" in said, said

# the plan knows it
said = run("plan", "y ~ x + (1 | `ward no`)", "--family", "bernoulli", "--schema", "d.yaml", "--epsilon", "8", "--delta", "1e-6", "--n", "6000")
assert "Recommended: --method noise-aware" in said, said

# redrawn, predicted, checked, contrasted
fit("y ~ x + (1 | `ward no`) + h", "kept", "--epsilon", "8", "--delta", "1e-6")
run("refit", "kept", "--out", "again")
for k in range(1, 5):
    assert pathlib.Path("kept", f"draws-{k}.csv").read_bytes() == pathlib.Path("again", f"draws-{k}.csv").read_bytes()
of = draws("kept")
mean = [statistics.fmean(1 / (1 + math.exp(-(a + b * x + h * is_q + r))) for a, b, h, r in zip(of["b_Intercept"], of["b_x"], of["b_hq"], of[f"r_ward_no_1.{k}"]))
        for x, k, is_q in ((25, 1, 0), (70, 5, 1))]
for row, expected in zip(csv.DictReader(run("predict", "kept", "--newdata", "new.csv").splitlines()), mean):
    assert abs(float(row["mean"]) - expected) < 1e-6, (row, expected)
said = run("check", "kept", "--data", "d.csv", "--epsilon", "4", "--delta", "1e-6")
assert "nothing that noise and sampling do not explain" in said, said
assert "Probability" in pathlib.Path("kept", "report.html").read_text()
table = list(csv.DictReader(pathlib.Path("kept", "summary.csv").open()))
assert [row["name"] for row in table][:3] == ["b_Intercept", "b_x", "b_hq"], table
assert "none was seen" in run("diagnose", "kept")

# formulas in other words: the groups first, alone, two of them
for formula, names in (("y ~ (1 | h) + x", ["sd_h_1", "r_h_1.1", "r_h_1.2"]), ("y ~ (1|`ward no`)", ["sd_ward_no_1"]),
                       ("y ~ (1 | h) + x + (1 | `ward no`)", ["sd_h_1", "sd_ward_no_2", "r_ward_no_2.5"])):
    fit(formula, "words", "--epsilon", "8", "--delta", "1e-6", "--draws", "50", "--warmup", "50")
    assert set(names) < set(draws("words")), formula
    said = pathlib.Path("words", "run.yaml").read_text()
    assert formula in said.replace("\\", ""), said
fit("o ~ (1 | `ward no`)", "words", "--epsilon", "20", "--delta", "1e-6", "--draws", "50", "--warmup", "50", family="cumulative")  # cut points and groups alone
assert releases("words")

# ten records of each of 18 groups, whose sd is that of what is left: at epsilon 8 half of the groups are noise
lines = [f"{max(-5, min(5, (-1) ** (k % 18) + rng.gauss(0, 1))):.4f},{k % 18}" for k in range(180)]
pathlib.Path("few.csv").write_text("v,g\n" + "\n".join(lines) + "\n")
pathlib.Path("few.yaml").write_text("columns:\n  v: {type: numeric, lower: -5, upper: 5}\n  g: {type: categorical, levels: [" + ", ".join(f'"{k}"' for k in range(18)) + "]}\n")
said = run("fit", "v ~ (1 | g)", "--family", "gaussian", "--data", "few.csv", "--schema", "few.yaml", "--epsilon", "8", "--delta", "1e-6", "--out", "few", "--seed", "5")
assert "half of its groups have too few records" in said and "no intervals" in said, said
fit("z ~ (1 | `ward no`)", "many", "--epsilon", "8", "--delta", "1e-6", family="gaussian")
assert "half of its groups" not in run("diagnose", "many")

# refused, each with what to do
for words, what in ((("synthesize", "kept", "--rows", "5", "--out", "rows.csv"), "'+ g'"), (("combine", "kept", "again", "--out", "both"), "'+ g'")):
    assert what in run(*words, status=2), words
common = ("--family", "bernoulli", "--data", "d.csv", "--schema", "d.yaml", "--epsilon", "8", "--delta", "1e-6", "--out", "refused")
assert "intercept" in run("fit", "y ~ x + (1 | h)", *common, "--prior", "Intercept: normal(0, 1)", status=2)
assert "1 + x" in run("fit", "y ~ x + (1 + x | h)", *common, "--prior", "x: normal(0, 1)", status=2)
assert "levels" in run("fit", "y ~ x + (1 | x)", *common, status=3)
