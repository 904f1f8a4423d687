#!/usr/bin/env python3
"""Every family by every kind of formula, by two routes: the family itself, and the program that `tacit model write` makes of it.

    experiments/routes.py build/src/cli/tacit --out FOLDER [--families a,b] [--formulas a,b] [--private]

Families that are programs have to give the same draws, number for number, from the same seed, and the same predictions to 1e-9; those with kernels of
their own (bernoulli, gaussian, poisson, categorical), told the program's priors, the same posterior to Monte Carlo error (6 of its sds: a false alarm in
10^8 numbers, of draws that are nearly independent), and predictions likewise. What one route refuses the other has to (but for private fits without an intercept, or of categorical, which
kernels do not have: program alone). --private: by noise-aware at epsilon 8
of 4000 made-up records; there kernels and programs release other things, and agree in centre to 6 sds of their difference, and in width within a factor of
2. Families that are programs make the same releases from the same seed. Written: a line of FOLDER/runs.jsonl a fit (an interrupted run goes on where it was),
and FOLDER/table.md; the exit status is 1 if any pair differs.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

OWN = ("bernoulli", "gaussian", "poisson", "categorical")  # families with kernels of their own
FORMULAS = {"factors": "x + g", "interactions": "x * g + g:h", "no intercept": "0 + g + x", "dot": ".", "log": "log(x) + z", "I": "I(x^2 / 4) + z", "poly": "poly(x, 2)",
            "ns": "ns(x, 3)", "offset": "x + offset(log(t))", "weights": "x + g"}
PREDICTORS = {"x": "{type: numeric, lower: 0.5, upper: 4}", "z": "{type: numeric, lower: -1, upper: 1}", "g": "{type: categorical, levels: [a, b, c]}",
              "h": "{type: categorical, levels: [p, q]}"}
EXPOSURE = {"t": "{type: numeric, lower: 0.5, upper: 2}", "w": "{type: numeric, lower: 0.5, upper: 2}"}
TRIALS = {"n": "{type: integer, lower: 1, upper: 6}"}
REAL, TIME, COUNT, LEVELS = ("{type: numeric, lower: -8, upper: 8}", "{type: numeric, lower: 0.01, upper: 30}", "{type: integer, lower: 0, upper: 25}",
                             "{type: categorical, levels: [low, mid, high]}")
FROM_ZERO = "{type: numeric, lower: 0, upper: 30}"


def poisson(rng, mean):
    limit, k, p = math.exp(-mean), 0, rng.random()
    while p > limit:
        k, p = k + 1, p * rng.random()
    return min(k, 25)


def share(eta):
    return 1 / (1 + math.exp(-eta))


def trials(rng, p, n):
    return sum(rng.random() < p for _ in range(n))


def counts(rng, eta, phi=None):
    return poisson(rng, math.exp(eta) * (rng.gammavariate(phi, 1 / phi) if phi else 1))


def or_zero(rng, value):
    return 0 if rng.random() < .3 else value


def classes(rng, eta):
    return ("low", "mid", "high")[(rng.random() < share(eta + 1)) + (rng.random() < share(eta - 1))]


def time(value):
    return round(min(max(value, .01), 30), 4)


# The response's schema and how a record's comes from a linear predictor eta and its number of trials.
FAMILIES = {
    "bernoulli": ("{type: binary}", lambda r, eta, n: int(r.random() < share(eta))),
    "probit": ("{type: binary}", lambda r, eta, n: int(r.gauss(eta, 1) > 0)),
    "gaussian": (REAL, lambda r, eta, n: round(eta + r.gauss(0, .7), 4)),
    "student": (REAL, lambda r, eta, n: round(max(min(eta + .6 * r.gauss(0, 1) / math.sqrt(r.gammavariate(2.5, .4)), 8), -8), 4)),
    "lognormal": (TIME, lambda r, eta, n: time(r.lognormvariate(eta, .5))),
    "weibull": (TIME, lambda r, eta, n: time(r.weibullvariate(math.exp(eta), 1.5))),
    "exponential": (TIME, lambda r, eta, n: time(r.expovariate(math.exp(-eta)))),
    "gamma": (TIME, lambda r, eta, n: time(r.gammavariate(2, math.exp(eta) / 2))),
    "beta": ("{type: numeric, lower: 0.001, upper: 0.999}", lambda r, eta, n: round(min(max(r.betavariate(8 * share(eta), 8 * share(-eta)), .001), .999), 4)),
    "poisson": (COUNT, lambda r, eta, n: counts(r, eta)),
    "negbinomial": (COUNT, lambda r, eta, n: counts(r, eta, 3)),
    "binomial": (COUNT, lambda r, eta, n: trials(r, share(eta), n)),
    "beta_binomial": (COUNT, lambda r, eta, n: trials(r, r.betavariate(6 * share(eta), 6 * share(-eta)), n)),
    "cumulative": (LEVELS, lambda r, eta, n: classes(r, eta)),
    "zero_inflated_poisson": (COUNT, lambda r, eta, n: or_zero(r, counts(r, eta))),
    "zero_inflated_negbinomial": (COUNT, lambda r, eta, n: or_zero(r, counts(r, eta, 3))),
    "zero_inflated_binomial": (COUNT, lambda r, eta, n: or_zero(r, trials(r, share(eta), n))),
    "hurdle_poisson": (COUNT, lambda r, eta, n: or_zero(r, max(counts(r, eta), 1))),
    "hurdle_negbinomial": (COUNT, lambda r, eta, n: or_zero(r, max(counts(r, eta, 3), 1))),
    "hurdle_lognormal": (FROM_ZERO, lambda r, eta, n: or_zero(r, time(r.lognormvariate(eta, .5)))),
    "hurdle_gamma": (FROM_ZERO, lambda r, eta, n: or_zero(r, time(r.gammavariate(2, math.exp(eta) / 2)))),
    "categorical": (LEVELS, lambda r, eta, n: classes(r, eta))}


def write(folder, family, formula, n_records):
    """Records and schema, with the columns that '.' takes, and the formula as people write it."""
    said, draw = FAMILIES[family]
    has_trials = family.endswith("binomial") and "neg" not in family
    columns = {**PREDICTORS, **({} if formula == "dot" else EXPOSURE), **(TRIALS if has_trials else {}), "y": said}
    rng = random.Random(family)
    with open(folder / "d.csv", "w") as file:
        file.write(",".join(columns) + "\n")
        for _ in range(n_records):
            x, z, g, h, n = round(rng.uniform(.5, 4), 4), round(rng.uniform(-1, 1), 4), rng.choice("abc"), rng.choice("pq"), rng.randint(1, 6)
            t, w = round(rng.uniform(.5, 2), 4), rng.choice((.5, 1, 1, 2))
            y = draw(rng, .3 * (x - 1) + .3 * z + {"a": 0, "b": .4, "c": -.3}[g] + .2 * (h == "q"), n)
            row = {"x": x, "z": z, "g": g, "h": h, "t": t, "w": w, "n": n, "y": y}
            file.write(",".join(str(row[c]) for c in columns) + "\n")
    (folder / "s.yaml").write_text("columns:\n" + "".join(f"  {name}: {text}\n" for name, text in columns.items()))
    said_of_y = [*(["trials(n)"] if has_trials else []), *(["weights(w)"] if formula == "weights" else [])]
    return f"y{' | ' if said_of_y else ''}{' + '.join(said_of_y)} ~ {FORMULAS[formula]}"


def summary(folder):
    return {row["name"]: {what: float(row[column]) for what, column in (("mean", "mean"), ("sd", "sd"), ("mcse", "mcse_mean"))}
            for row in csv.DictReader(open(folder / "summary.csv"))}


def reason(done):
    """What a refusal says, without who says it and where."""
    lines = [line for line in done.stderr.splitlines() if "fit: " in line or "write: " in line]
    return re.sub(r"^tacit [a-z ]+: |p\.stan: |line \d+: ", "", lines[0]) if lines else ""


def apart(a, b, limit):
    """How far two numbers are from each other, in what is allowed."""
    return 0 if math.isnan(a) and math.isnan(b) else abs(a - b) / limit if limit > 0 else math.inf if abs(a - b) > 0 else 0


def gap(a, b, own, is_private):
    """Of two rows with mean and sd (and mcse): above 1, they differ."""
    if not own:
        return max(apart(a[what], b[what], 1e-9 * max(abs(a[what]), 1)) for what in ("mean", "sd") if what in a)
    noise = math.hypot(a["sd"], b["sd"]) if is_private else math.hypot(a["mcse"], b["mcse"])
    width = math.log(2) if is_private else math.log(1.25)
    return max(apart(a["mean"], b["mean"], 6 * noise), abs(math.log(a["sd"] / b["sd"])) / width)


def predictions(run, folder, out):
    done = run("predict", out, "--newdata", "new.csv", "--out", f"{out}.csv")
    return done.stderr if done.returncode else [{"mean": float(row["mean"]), "sd": float(row["sd"]), "mcse": float(row["sd"]) / 10} for row in csv.DictReader(open(folder / f"{out}.csv"))]


def compare(tacit, family, formula, is_private, folder):
    text, own = write(folder, family, formula, 4000 if is_private else 300), family in OWN

    def run(*words):
        return subprocess.run([tacit, *words], cwd=folder, capture_output=True, text=True, timeout=600, check=False)

    how = ["--method", "noise-aware", "--epsilon", "8", "--delta", "1e-6", "--yes"] if is_private else ["--method", "hmc", "--exposed"]
    how += ["--draws", "1000" if own else "100", "--warmup", "400" if own else "100", "--chains", "2", "--seed", "7", "--quiet", "--data", "d.csv", "--schema", "s.yaml"]
    has_intercept = "0 +" not in FORMULAS[formula]
    priors = ["--prior-scale", "scaled", "--prior", "student_t(3, 0, 2.5)", *(["--prior", "Intercept: normal(0, 10)"] if has_intercept else [])] if own else []
    by_formula, written = run("fit", text, "--family", family, *how, *priors, "--out", "f"), run("model", "write", text, "--family", family, "--schema", "s.yaml", "--out", "p.stan")
    by_program = run("fit", "p.stan", *how, "--records", "none", "--out", "p") if written.returncode == 0 else written
    done = {"exit": [by_formula.returncode, by_program.returncode]}
    if not set(done["exit"]) <= {0, 5}:
        reasons = [reason(by_formula), reason(by_program)]
        return {**done, "refused": reasons, "apart": 0 if reasons[0] == reasons[1] else None}
    first, second = summary(folder / "f"), summary(folder / "p")
    names = [name for name in first if name in second]
    (folder / "new.csv").write_text("\n".join((folder / "d.csv").read_text().splitlines()[:12]) + "\n")
    predicted = [predictions(run, folder, out) for out in "fp"]
    if any(isinstance(one, str) for one in predicted):
        same = predicted[0] == predicted[1]
        return {**done, "n": len(names), "apart": max(gap(first[name], second[name], own, is_private) for name in names) if same else None,
                "predictions": 0, "refused": predicted}
    rows = list(zip(*predicted, strict=True))
    return {**done, "n": len(names), "apart": max(gap(first[name], second[name], own, is_private) for name in names),
            "predictions": max(gap(a, b, own, is_private) for a, b in rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacit", type=os.path.abspath)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--formulas", default=",".join(FORMULAS))
    parser.add_argument("--private", action="store_true")
    args = parser.parse_args()
    families, formulas = args.families.split(","), args.formulas.split(",")
    kept = args.out / "runs.jsonl" if args.out else None
    done = {tuple(run["pair"]): run for run in map(json.loads, kept.read_text().splitlines())} if kept and kept.exists() else {}
    for family, formula in ((a, b) for a in families for b in formulas):
        if (family, formula, args.private) in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = compare(args.tacit, family, formula, args.private, pathlib.Path(folder))
        done[family, formula, args.private] = {"pair": [family, formula, args.private], **found}
        if kept:
            args.out.mkdir(parents=True, exist_ok=True)
            with open(kept, "a") as file:
                file.write(json.dumps(done[family, formula, args.private]) + "\n")

    def cell(family, formula):
        run = done[family, formula, args.private]
        if args.private and family in OWN and any(why in str(run.get("refused")) for why in ("needs an intercept", "noise-aware is for family")):
            return "program alone"
        if run["apart"] is None or not max(run["apart"], run.get("predictions", 0)) <= 1:
            return "DIFFER"
        return ("no intervals" if "n" in run else "refused") if "refused" in run else f"{max(run['apart'], run['predictions']):.2g}"

    lines = ["| family | " + " | ".join(formulas) + " |", "| --- |" + " --- |" * len(formulas)]
    lines += ["| " + " | ".join([family, *(cell(family, formula) for formula in formulas)]) + " |" for family in families]
    print("\n".join(lines))
    if args.out:
        (args.out / f"table{'-private' if args.private else ''}.md").write_text("\n".join(lines) + "\n")
    differ = [done[family, formula, args.private] for family in families for formula in formulas if cell(family, formula) == "DIFFER"]
    for run in differ:
        print(run, file=sys.stderr)
    sys.exit(len(differ) > 0)


main()
