#!/usr/bin/env python3
"""
Programs in the shape in which brms writes them are fitted as they are: check_brms.py TACIT. Each is checked with a schema and planned for a
private fit without a chain; one is fitted and finds what its records were made from.
"""
import csv
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

tacit, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(tempfile.mkdtemp())
folder = pathlib.Path(__file__).parent / "brms"
NUMERIC, COUNT = "{{type: numeric, lower: {}, upper: {}}}", "{type: integer, lower: 0, upper: 30}"
OUTCOMES = {"gaussian": NUMERIC.format(-6, 8), "bernoulli": "{type: binary}", "negbinomial": COUNT, "student": NUMERIC.format(-8, 10),
            "weibull_cens": NUMERIC.format(0.001, 5), "zero_inflated_poisson": COUNT, "hurdle_gamma": NUMERIC.format(0, 30),
            "beta": NUMERIC.format(0.001, 0.999), "cumulative": "{type: integer, lower: 1, upper: 3}",
            "cumulative_fn": "{type: integer, lower: 1, upper: 3}", "grouped": NUMERIC.format(-6, 8), "spline": NUMERIC.format(-6, 8)}


def run(status, *args):
    done = subprocess.run([str(tacit), *map(str, args)], capture_output=True, text=True, cwd=work)
    assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def arguments(name):
    columns, given = {"X.2": NUMERIC.format(-1, 1), "Y": OUTCOMES[name]}, ["prior_only=0", "mean(X[:,2])=0", "X.1=1"]
    if name.startswith("cumulative"):
        columns, given = {"X.1": NUMERIC.format(-1, 1), "Y": OUTCOMES[name]}, ["prior_only=0", "mean(X[:,1])=0", "nthres=2"]
    if name == "grouped":
        columns["J_1"] = "{type: integer, lower: 1, upper: 5}"
        given += ["N_1=5", "M_1=1", "Z_1_1=1"]
    if name == "weibull_cens":
        columns["cens"] = "{type: binary}"
    if name == "spline":
        columns = {"Xs.1": NUMERIC.format(-1, 1), **{f"Zs_1_1.{k}": NUMERIC.format(-1, 1) for k in range(1, 5)}, "Y": OUTCOMES[name]}
        given = ["prior_only=0", "nb_1=1", "knots_1=4"]
    (work / f"{name}.yaml").write_text("dataset: d\nrelation: substitute\ncolumns:\n" + "".join(f"  {c}: {t}\n" for c, t in columns.items()))
    return ["--schema", f"{name}.yaml"] + [word for text in given for word in ("--set", text)]


for name in OUTCOMES:
    run(0, "model", "check", folder / f"{name}.stan")
    of = arguments(name)
    said = run(0, "model", "check", folder / f"{name}.stan", *of)
    assert said.startswith("ok"), said

# hurdle_gamma: two fifths are zeros, which a density of log(y) must not lose
generator = random.Random(4)
with open(work / "h.csv", "w") as file:
    file.write("X.2,Y\n")
    for _ in range(6000):
        x = generator.uniform(-1, 1)
        y = 0 if generator.random() < .4 else min(max(math.exp(.5 + .4 * x) * generator.gammavariate(2, .5), .001), 30)
        file.write(f"{x:.4f},{y:.4f}\n")
run(0, "fit", folder / "hurdle_gamma.stan", *arguments("hurdle_gamma"), "--data", "h.csv", "--epsilon", 3, "--delta", "1e-6", "--seed", 1, "--yes",
    "--quiet", "--draws", 500, "--out", "h")
assert '"method": "noise-aware"' in re.sub(r"\s+", " ", (work / "h" / "privacy.json").read_text())
with (work / "h" / "summary.csv").open() as file:
    found = {row["name"]: (float(row["mean"]), float(row["sd"])) for row in csv.DictReader(line for line in file if not line.startswith("#"))}
for parameter, truth in (("hu", .4), ("shape", 2), ("b.1", .4), ("Intercept", .5)):
    mean, sd = found[parameter]
    assert abs(mean - truth) < 6 * sd and sd < .1, (parameter, found)  # seeded
print("ok")
