#!/usr/bin/env python3
"""Records that a program does not describe: at a budget that hides nothing the private answer is that of the same program without privacy.

    check_misfit.py TACIT

Times in whole years, of which a third are at the lower bound, as Weibull ones: slopes that the program expects are half of what scores of the shape change by.
With one score as it is before the last, as of smaller budgets, the shape is 1.8 of its sds off.
"""
import csv
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


def fit(out, *words):
    done = subprocess.run([TACIT, "fit", "Surv(years, over) ~ a + b", "--family", "weibull", "--data", "d.csv", "--schema", "d.yaml", "--seed", "3", "--quiet", "--out", out, *words],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open(f"{out}/summary.csv") as file:
        return {row["name"]: (float(row["mean"]), float(row["sd"] or "nan")) for row in csv.DictReader(file)}


exposed = fit("exposed", "--exposed", "--method", "hmc", "--chains", "2", "--warmup", "400", "--draws", "800")
private = fit("private", "--epsilon", "1000", "--delta", "1e-6")
off = {name: (private[name][0] - exposed[name][0]) / exposed[name][1] for name in exposed if name.startswith("b_") and name[2] != "s" or name == "shape"}
assert len(off) == 5 and max(map(abs, off.values())) < .6 and statistics.fmean(map(abs, off.values())) < .3, off
subprocess.run([TACIT, "refit", "private", "--out", "again"], check=True, capture_output=True)
assert pathlib.Path("private", "draws-3.csv").read_bytes() == pathlib.Path("again", "draws-3.csv").read_bytes()
