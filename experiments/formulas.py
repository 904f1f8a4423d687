#!/usr/bin/env python3
"""Fits of random formulas, by families that are programs, on random records that no model fits: none may fail after it has spent.

    experiments/formulas.py build/src/cli/tacit --out FOLDER [--fits 200] [--first 0]

Fit number i is a function of i: family, number of records, bounds (tight, or up to 100 times as wide as the values), relation, one row or several a
person, epsilon, one to four terms, and how the outcome comes from them. Features are skewed, heaped on round numbers, nearly constant, functions of each other, or factors with
levels that hardly anybody has; outcomes have more zeros, further tails, other curves than the family knows, or are cut at a bound. Written: a line of
FOLDER/formulas.jsonl a fit (an interrupted run goes on where it was) and FOLDER/formulas.md. The exit status is 1 if a fit ended with another status than
0, 5 (flagged), 4 (refused for its budget) or 2 (for its formula; both before anything is spent: no releases are in its folder), or a reported number is none.
"""
import argparse
import collections
import csv
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

TERMS = ["x", "log(x)", "I(x^2)", "sqrt(x)", "x + log(x)", "poly(x, 2)", "ns(x, 3)", "scale(x)", "z", "I(z^2)", "bs(z, 4)", "z:b", "k", "log(k + 1)", "b", "g", "g:b", "x * g",
         "x:z", "I(x > 3)", "c", "m", "factor(h)", "offset(z / 4)"]
EPSILONS = [0.5, 1, 2, 8, 50, 1000]
SIZES = [1000, 3000, 6000, 12000]


def share(eta):
    return 1 / (1 + math.exp(-max(min(eta, 30), -30)))


def count(rng, mean):
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, k, p = math.exp(-mean), 0, rng.random()
    while p > limit:
        k, p = k + 1, p * rng.random()
    return k


def positive(rng, eta, shape):
    """Numbers above 0 of mean about exp(eta), by one of five distributions."""
    mean = math.exp(max(min(eta, 6), -6))
    return mean * (rng.gammavariate(.6, 1 / .6) if shape == 0 else rng.lognormvariate(-.5, 1) if shape == 1 else rng.weibullvariate(1, 1.7) if shape == 2 else
                   rng.paretovariate(2.2) / 2 if shape == 3 else abs(1 + .3 * rng.gauss(0, 1)))


def whole(rng, eta, shape):
    mean = math.exp(max(min(eta, 5), -5))
    rate = mean if shape == 0 else mean * rng.gammavariate(.7, 1 / .7) if shape == 1 else mean * rng.lognormvariate(-.5, 1) if shape < 4 else mean * (rng.random() < .6)
    return count(rng, rate) * (0 if shape == 3 and rng.random() < .3 else 1)


def real(rng, eta, shape):
    return eta + (rng.gauss(0, 1) if shape == 0 else rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 1 / 1.5)) if shape < 3 else rng.expovariate(1) - 1)


def fraction(rng, eta, shape):
    p = share(eta)
    return rng.random() if shape == 0 else rng.betavariate(5 * p + .05, 5 * (1 - p) + .05) if shape < 3 else share(eta + rng.gauss(0, 1))


# family: its outcome (a record's, of a linear predictor), bounds, is it a whole number?
FAMILIES = {
    "negbinomial": (whole, 0, True), "zero_inflated_poisson": (whole, 0, True), "hurdle_negbinomial": (whole, 0, True),
    "gamma": (positive, .001, False), "weibull": (positive, .001, False), "lognormal": (positive, .001, False), "exponential": (positive, .001, False),
    "beta": (fraction, .001, False), "student": (real, -8, False), "cumulative": (real, None, False)}


def features(rng, n):
    """Columns of one data set: what they may be and the records'."""
    heap = rng.choice((1, 5, 10))
    rows = []
    for _ in range(n):
        x = min(max(rng.lognormvariate(.5, .6), .3), 30)
        z = min(max(rng.gauss(0, 1) + .4 * (x > 2), -4), 4)
        rows.append({"x": round(x, 4), "z": round(z, 4), "k": min(heap * (count(rng, 20 / heap)), 80), "b": int(rng.random() < .15),
                     "g": rng.choices("abcd", (60, 30, 9, 1))[0], "h": rng.choices((1, 2, 3), (5, 4, 1))[0], "c": round(min(max(1 + .01 * rng.gauss(0, 1), 0), 2), 4),
                     "m": round(min(max(.9 * z + .2 * rng.gauss(0, 1), -6), 6), 4)})
    wide = rng.choice((1, 1, 3))
    schema = {"x": f"{{type: numeric, lower: {.3 / wide}, upper: {30 * wide}}}", "z": f"{{type: numeric, lower: {-4 * wide}, upper: {4 * wide}}}",
              "k": f"{{type: integer, lower: 0, upper: {80 * wide}}}", "b": "{type: binary}", "g": "{type: categorical, levels: [a, b, c, d]}",
              "h": "{type: integer, lower: 1, upper: 3}", "c": "{type: numeric, lower: 0, upper: 2}", "m": "{type: numeric, lower: -6, upper: 6}"}
    return rows, schema


def case(i, folder):
    """The i-th data set, in the folder, and the words of its fit."""
    rng = random.Random(i)
    family = list(FAMILIES)[i % len(FAMILIES)]
    outcome, lower, is_whole = FAMILIES[family]
    n, epsilon, terms = rng.choice(SIZES), rng.choice(EPSILONS), rng.sample(TERMS, rng.randint(1, 4))
    rows, schema = features(rng, n)
    shape, wave, by_level = rng.randrange(5), rng.choice((0, .3, 1)), {level: rng.gauss(0, .4) for level in "abcd"}
    upper = rng.choice((3, 20, 200)) if lower is not None and lower >= 0 else 8
    for row in rows:
        eta = .3 * math.log(row["x"]) + .3 * row["z"] - .2 * row["b"] + by_level[row["g"]] + wave * math.sin(2 * row["z"])
        y = outcome(rng, eta, shape)
        row["y"] = ("low" if y < -.5 else "mid" if y < 1 else "high") if lower is None else round(min(max(y, lower), .999 if family == "beta" else upper), 0 if is_whole else 4)
    rows = [{**row, "y": int(row["y"])} if is_whole else row for row in rows]
    schema["y"] = ("{type: categorical, levels: [low, mid, high]}" if lower is None else f"{{type: {'integer' if is_whole else 'numeric'}, lower: {lower}, "
                   f"upper: {.999 if family == 'beta' else upper}}}")
    persons, relation = rng.random() < .25, rng.choice(("substitute", "add-remove"))
    if persons:
        person = 1
        for row in rows:
            person += rng.random() < .6
            row["id"] = person
        schema["id"] = "{type: id}"
    with open(folder / "d.csv", "w", newline="") as file:
        out = csv.DictWriter(file, list(schema))
        out.writeheader()
        out.writerows(rows)
    head = f"dataset: d\nrelation: {relation}\n" + ("unit: id\nmax_rows: 12\n" if persons else "unit: row\n")
    (folder / "s.yaml").write_text(head + "columns:\n" + "".join(f"  {name}: {text}\n" for name, text in schema.items()))
    formula = "y ~ " + " + ".join(terms)
    return {"i": i, "family": family, "formula": formula, "n": n, "epsilon": epsilon,
            "units": rows[-1]["id"] if persons else n, "relation": relation, "persons": persons, "upper": upper, "shape": shape}


def fit(tacit, i):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        said = case(i, folder)
        public = ["--n-public", str(said["units"])] if said["relation"] == "add-remove" else []
        start = time.time()
        done = subprocess.run([tacit, "fit", said["formula"], "--family", said["family"], "--data", "d.csv", "--schema", "s.yaml", "--epsilon", str(said["epsilon"]), "--delta", "1e-6",
                               "--out", "o", "--quiet", *public], cwd=folder, capture_output=True, text=True, timeout=900, check=False)
        said.update(status=done.returncode, seconds=round(time.time() - start, 1), releases=(folder / "o" / "releases.json").exists())
        if done.returncode in (0, 5):
            told = subprocess.run([tacit, "diagnose", "o", "--json"], cwd=folder, capture_output=True, text=True, check=False)
            said["flags"] = sorted({one.get("check", one.get("what", "?"))[:40] for one in json.loads(told.stdout) if one.get("severity") == "problem"})
            said["is_number"] = bool(said["flags"]) or all(math.isfinite(float(row["mean"])) and float(row["sd"]) > 0 for row in csv.DictReader(open(folder / "o" / "summary.csv")))
        else:
            said["why"] = (done.stderr.strip().splitlines() or [""])[-1][:300]
    return said


def is_wrong(run):
    return run["status"] not in (0, 2, 4, 5) or (run["status"] in (2, 4) and run["releases"]) or not run.get("is_number", True)


def table(runs):
    lines = ["| family | fits | answered | flagged | refused, nothing spent | failed |", "| --- | --- | --- | --- | --- | --- |"]
    for family in FAMILIES:
        of = [run for run in runs if run["family"] == family]
        flagged = sum(bool(run.get("flags")) for run in of)
        lines.append(f"| {family} | {len(of)} | {sum(run['status'] in (0, 5) for run in of) - flagged} | {flagged} | {sum(run['status'] in (2, 4) for run in of)} | {sum(map(is_wrong, of))} |")
    flags = collections.Counter(flag for run in runs for flag in run.get("flags", []))
    seconds = sorted(run["seconds"] for run in runs if run["status"] in (0, 5))
    said = ", ".join(f"{name} {k}" for name, k in flags.most_common(6)) or "none"
    lines += ["", f"Flags: {said}. Seconds a fit: median {seconds[len(seconds) // 2] if seconds else 0}, most {max(seconds, default=0)}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacit", type=os.path.abspath)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    kept = args.out / "formulas.jsonl" if args.out else None
    done = {run["i"]: run for run in map(json.loads, kept.read_text().splitlines())} if kept and kept.exists() else {}
    for i in range(args.first, args.first + args.fits):
        if i not in done:
            done[i] = fit(args.tacit, i)
            if kept:
                args.out.mkdir(parents=True, exist_ok=True)
                with open(kept, "a") as file:
                    file.write(json.dumps(done[i]) + "\n")
    runs = list(done.values())
    print(table(runs))
    if args.out:
        (args.out / "formulas.md").write_text(table(runs) + "\n")
    wrong = [run for run in runs if is_wrong(run)]
    for run in wrong:
        print(run, file=sys.stderr)
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main()
