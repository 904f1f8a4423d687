#!/usr/bin/env python3
"""Factors of many levels by method noise-aware: at a budget that hides nothing the answer is the one without privacy, within Monte Carlo error, though some levels
are rare; where pseudo-rows are unlike the records a run that is begun again is drawn anew bit by bit from what it released; and a level that nobody has is said.

Pseudo-rows whose levels are signs by themselves, rows of several levels, are off by 2 sds in the widths and 1 in the means here.
"""
import csv
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

TACIT = str(pathlib.Path(sys.argv[1]).resolve())
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
rng = random.Random(7)


def run(*words, status=0):
    done = subprocess.run([TACIT, *words], capture_output=True, text=True)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def draws(out):
    rows = []
    for path in sorted(pathlib.Path(out).glob("draws-*.csv")):
        rows += csv.DictReader(line for line in path.open() if not line.startswith("#"))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def write(name, levels, weights, n, declared=None):
    names = [f"l{i:02d}" for i in range(levels)]
    effects = [rng.gauss(0, 0.4) for _ in names]
    lines = []
    for _ in range(n):
        g, x = rng.choices(range(levels), weights)[0], rng.uniform(-1, 1)
        eta = -0.3 + effects[g] + 0.8 * x
        lines.append(f"{int(rng.random() < 1 / (1 + math.exp(-eta)))},{x:.5f},{names[g]}")
    pathlib.Path(f"{name}.csv").write_text("y,x,g\n" + "\n".join(lines) + "\n")
    levels = ", ".join(names + (declared or []))
    pathlib.Path(f"{name}.yaml").write_text(
        f"columns:\n  y: {{type: binary}}\n  x: {{type: numeric, lower: -1, upper: 1}}\n  g: {{type: categorical, levels: [{levels}]}}\n")


def fit(name, out, *words):
    return run("fit", "y ~ x + g", "--family", "bernoulli", "--data", f"{name}.csv", "--schema", f"{name}.yaml", "--out", out, "--seed", "3", *words)


# many levels, some of half a percent
write("many", 24, [1 if i % 4 else 0.12 for i in range(24)], 9000)
PRIORS = [word for name in ["Intercept", "x"] + [f"gl{i:02d}" for i in range(1, 24)] for word in ("--prior", f"{name}: normal(0, 3)")]
fit("many", "private", "--epsilon", "3000", "--delta", "1e-6", "--draws", "2000", *PRIORS)
fit("many", "exposed", "--exposed", "--method", "hmc", *PRIORS)
ours, theirs = draws("private"), draws("exposed")
off, widths = [], []
for name in (name for name in theirs if name.startswith("b_")):
    mean, sd = statistics.fmean(theirs[name]), statistics.stdev(theirs[name])
    off.append(((statistics.fmean(ours[name]) - mean) / sd) ** 2)
    widths.append(statistics.stdev(ours[name]) / sd)
assert len(off) == 25 and statistics.fmean(off) < 0.15, (off, widths)
assert 0.93 < statistics.fmean(widths) < 1.2 and min(widths) > 0.75, widths

# 17 features and a level that nobody has: pseudo-rows are not like that, the process answers, and answers again
write("empty", 15, [1] * 15, 6000, declared=["nobody"])
fit("empty", "kept", "--epsilon", "20", "--delta", "1e-6", "--draws", "100", "--warmup", "100")
checks = {check["id"] for check in json.loads(pathlib.Path("kept", "diagnostics.json").read_text())["checks"]}
assert "unlike" not in checks, checks
run("refit", "kept", "--out", "again")
for k in range(1, 5):
    assert pathlib.Path("kept", f"draws-{k}.csv").read_bytes() == pathlib.Path("again", f"draws-{k}.csv").read_bytes()

# of more features there is no process, and no interval
write("more", 24, [1] * 24, 6000, declared=["nobody"])
said = fit("more", "unlike", "--epsilon", "20", "--delta", "1e-6", "--draws", "100", "--warmup", "100")
assert "records tell less of some direction" in said, said
