#!/usr/bin/env python3
"""Records that a program does not describe: at a budget that hides nothing the private answer is that of the same program without privacy.

    check_misfit.py TACIT

Times in whole years, of which a third are at the lower bound, as Weibull ones: slopes that the program expects are half of what scores of the shape change by.
With one score as it is before the last, as of smaller budgets, the shape is 1.8 of its sds off.

Counts of which one in 250 is a code, the bound, 200 times the mean: an answer there is at epsilon 8 or 200 is that without privacy, or none is given.

And counts with a level that three records in a hundred have: coordinates of releases that grow along it from look to look leave no intervals, at epsilon 8 of 10 000 records.
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
rng = random.Random(6)
with open("d.csv", "w") as file:
    file.write("years,over,a,b\n")
    for _ in range(2500):
        a, b = rng.uniform(-1, 1), rng.choice("pqr")
        scale = math.exp(1.1 + .6 * a + {"p": 0, "q": -.4, "r": .5}[b])
        years = max(1, math.ceil(rng.weibullvariate(scale, .9) * rng.lognormvariate(0, .4)))
        file.write(f"{min(years, 40)},{int(years <= 40)},{a:.3f},{b}\n")
pathlib.Path("d.yaml").write_text(
    "columns:\n  years: {type: numeric, lower: 1, upper: 40}\n  over: {type: binary}\n  a: {type: numeric, lower: -1, upper: 1}\n  b: {type: categorical, levels: [p, q, r]}\n")


def fit(out, *words, formula="Surv(years, over) ~ a + b", family="weibull", name="d", may_be_flagged=False):
    done = subprocess.run([TACIT, "fit", formula, "--family", family, "--data", f"{name}.csv", "--schema", f"{name}.yaml", "--seed", "3", "--quiet", "--out", out, *words],
                          capture_output=True, text=True, check=False)
    is_flagged = "problem" in done.stderr
    assert done.returncode == 0 and (may_be_flagged or not is_flagged), done.stderr
    if is_flagged:
        return None
    with open(f"{out}/summary.csv") as file:
        return {row["name"]: (float(row["mean"]), float(row["sd"] or "nan")) for row in csv.DictReader(file)}


exposed = fit("exposed", "--exposed", "--method", "hmc", "--chains", "2", "--warmup", "400", "--draws", "800")
private = fit("private", "--epsilon", "1000", "--delta", "1e-6")
off = {name: (private[name][0] - exposed[name][0]) / exposed[name][1] for name in exposed if name.startswith("b_") and name[2] != "s" or name == "shape"}
assert len(off) == 5 and max(map(abs, off.values())) < .6 and statistics.fmean(map(abs, off.values())) < .3, off
subprocess.run([TACIT, "refit", "private", "--out", "again"], check=True, capture_output=True)
assert pathlib.Path("private", "draws-3.csv").read_bytes() == pathlib.Path("again", "draws-3.csv").read_bytes()

# a rare level
with open("r.csv", "w") as file:
    file.write("y,a,g\n")
    for _ in range(10000):
        a, g = max(-3, min(3, rng.gauss(0, 1))), int(rng.random() < .03)
        rate, count, passed = math.exp(1 + .3 * a + .4 * g) * rng.gammavariate(4, .25), 0, rng.expovariate(1)
        while passed < rate and count < 40:
            count, passed = count + 1, passed + rng.expovariate(1)
        file.write(f"{count},{a:.4f},{g}\n")
pathlib.Path("r.yaml").write_text("columns:\n  y: {type: integer, lower: 0, upper: 40}\n  a: {type: numeric, lower: -3, upper: 3}\n  g: {type: binary}\n")
rare = {"formula": "y ~ a + g", "family": "negbinomial", "name": "r"}
exposed = fit("rare-exposed", "--exposed", "--method", "hmc", "--chains", "2", "--warmup", "400", "--draws", "800", **rare)
private = fit("rare", "--epsilon", "8", "--delta", "1e-6", **rare)
for name in ("b_Intercept", "b_a", "b_g", "phi"):
    assert abs(private[name][0] - exposed[name][0]) < 3 * private[name][1] < 9 * exposed[name][1], (name, private[name], exposed[name])

# a code among the counts
with open("r.csv") as file, open("s.csv", "w") as spoilt:
    for i, line in enumerate(file):
        spoilt.write("600" + line[line.index(","):] if i % 250 == 1 else line)
pathlib.Path("s.yaml").write_text("columns:\n  y: {type: integer, lower: 0, upper: 600}\n  a: {type: numeric, lower: -3, upper: 3}\n  g: {type: binary}\n")
spoilt = {"formula": "y ~ a", "family": "negbinomial", "name": "s"}
exposed = fit("spoilt-exposed", "--exposed", "--method", "hmc", "--chains", "2", "--warmup", "400", "--draws", "800", **spoilt)
for epsilon in ("8", "200"):
    private = fit(f"spoilt-{epsilon}", "--epsilon", epsilon, "--delta", "1e-6", may_be_flagged=True, **spoilt)
    for name in ("b_Intercept", "b_a", "phi"):
        assert private is None or abs(private[name][0] - exposed[name][0]) < 3 * private[name][1], (epsilon, name, private, exposed)

# bounds that a few wrong entries would decide at, unseen, are warned of; tighter ones are not
for upper, is_warned in ((600, True), (30, False)):
    pathlib.Path("r.yaml").write_text(f"columns:\n  y: {{type: integer, lower: 0, upper: {upper}}}\n  a: {{type: numeric, lower: -3, upper: 3}}\n  g: {{type: binary}}\n")
    fit(f"bound-{upper}", "--epsilon", "4", "--delta", "1e-6", formula="y ~ a", family="negbinomial", name="r")
    told = json.loads(subprocess.run([TACIT, "diagnose", f"bound-{upper}", "--json"], capture_output=True, text=True, check=False).stdout)
    assert any("records at the bounds of the response" in one["what"] for one in told) == is_warned, (upper, told)
