#!/usr/bin/env python3
"""
Programs in the shape in which brms writes them: check_brms.py TACIT. Each is checked with a schema; ten are fitted privately, without a chain, and find
what their records were made from. Two are not: effects of groups and smooth terms with a prior of their own scale go to chains, with the reason.
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

generator = random.Random(4)


def poisson(mean):
    count, product = 0, generator.random()
    while product >= math.exp(-mean):
        count, product = count + 1, product * generator.random()
    return count


def negative_binomial(mean, shape):
    return poisson(generator.gammavariate(shape, mean / shape))


def logistic(eta):
    return 1 / (1 + math.exp(-eta))


def cut(eta):
    u = generator.random()
    latent = eta + math.log(u / (1 - u))
    return 1 + (latent > -.5) + (latent > .8)


def censored(eta):
    """A time and whether it is that of the last look, which comes at random."""
    time, look = generator.weibullvariate(math.exp(.2 + eta) / math.gamma(1 + 1 / 1.4), 1.4), min(generator.uniform(.3, 6), 5)
    return max(min(time, look), .001), int(look < time)


def beta(mean):
    return generator.betavariate(8 * mean, 8 * (1 - mean))


# Responses given .4 x, and what they were made from.
MADE = {
    "gaussian": (lambda eta: .5 + eta + generator.gauss(0, 1), {"b.1": .4, "Intercept": .5, "sigma": 1}),
    "bernoulli": (lambda eta: int(generator.random() < logistic(.5 + eta)), {"b.1": .4, "Intercept": .5}),
    "negbinomial": (lambda eta: min(negative_binomial(math.exp(.5 + eta), 2), 30), {"b.1": .4, "Intercept": .5, "shape": 2}),
    "student": (lambda eta: .5 + eta + generator.gauss(0, 1) / math.sqrt(generator.gammavariate(2.5, .4)),
                {"b.1": .4, "Intercept": .5, "sigma": 1, "nu": 5}),
    "weibull_cens": (censored, {"b.1": .4, "Intercept": .2, "shape": 1.4}),
    "zero_inflated_poisson": (lambda eta: 0 if generator.random() < .3 else poisson(math.exp(.5 + eta)),
                              {"b.1": .4, "Intercept": .5, "zi": .3}),
    "hurdle_gamma": (lambda eta: 0 if generator.random() < .4 else math.exp(.5 + eta) * generator.gammavariate(2, .5),
                     {"b.1": .4, "Intercept": .5, "shape": 2, "hu": .4}),  # zeros, which a density of log(y) must not lose
    "beta": (lambda eta: beta(logistic(.5 + eta)), {"b.1": .4, "Intercept": .5, "phi": 8}),
    "cumulative": (cut, {"b.1": .4, "Intercept.1": -.5, "Intercept.2": .8}),
    "cumulative_fn": (cut, {"b.1": .4, "Intercept.1": -.5, "Intercept.2": .8}),
}


def fit(name):
    """Fit records made from what MADE says, privately, and compare; seeded."""
    draw, truths = MADE[name]
    limits = [float(x) for x in re.findall(r"(?:lower|upper): ([-\d.]+)", OUTCOMES[name])] or [0, 1]
    with open(work / f"{name}.csv", "w") as file:
        file.write(("X.1" if name.startswith("cumulative") else "X.2") + (",Y,cens\n" if name == "weibull_cens" else ",Y\n"))
        for _ in range(6000):
            x = round(generator.uniform(-1, 1), 4)
            y = draw(.4 * x)
            y, *more = y if isinstance(y, tuple) else (y,)
            file.write(",".join(map(str, [x, round(max(min(y, limits[1]), limits[0]), 4), *more])) + "\n")
    run(0, "fit", folder / f"{name}.stan", *arguments(name), "--data", f"{name}.csv", "--epsilon", 8, "--delta", "1e-6", "--seed", 1, "--yes",
        "--quiet", "--chains", 2, "--draws", 250, "--out", name)
    assert '"method": "noise-aware"' in re.sub(r"\s+", " ", (work / name / "privacy.json").read_text())
    with (work / name / "summary.csv").open() as file:
        found = {row["name"]: (float(row["mean"]), float(row["sd"])) for row in csv.DictReader(line for line in file if not line.startswith("#"))}
    for parameter, truth in truths.items():
        mean, sd = found[parameter]
        most = .25 if parameter == "nu" else .12  # of sds of nu, .35 without privacy, 10 seeds gave .38 to .86
        assert abs(mean - truth) < 5 * sd and sd < most * max(1, truth), (name, parameter, truth, found)


for name in MADE:
    fit(name)
print("ok")
