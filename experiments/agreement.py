#!/usr/bin/env python3
"""Does a private answer of a program, or of counts and binary outcomes, agree with the answer without privacy of the same records, or is it flagged? On records that the program describes, and on others.

    experiments/agreement.py build/src/cli/tacit --out FOLDER [--runs 6] [--epsilon 1,8,50,1000] [KIND ...]        kinds: --list

Of each kind one data set; one exposed chain, and private fits with fresh noise, by the default method at delta 1e-6. Of private fits that are not flagged:

    z      (private mean - exposed mean) / private sd, of each parameter that is reported: its mean square over fits, that of the worst parameter; and the largest |z| of all
    ratio  private sd / exposed sd, its mean over fits: of the parameter where it is smallest

Written: FOLDER/agreement.jsonl, a line a kind and epsilon (an interrupted run goes on where it was), and FOLDER/agreement.md. The exit status is the number of
lines that are wrong: a fit failed after spending, a mean square above 4, or a ratio below .8.
"""
import argparse
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

HERE = pathlib.Path(__file__).resolve().parent
BINARY, LEVELS = "{type: binary}", "{type: categorical, levels: [low, mid, high]}"


def number(lower, upper):
    return f"{{type: numeric, lower: {lower}, upper: {upper}}}"


def integer(lower, upper):
    return f"{{type: integer, lower: {lower}, upper: {upper}}}"


YEARS = "{type: categorical, levels: [%s]}" % ", ".join(f"'{year}'" for year in range(1995, 2004))
TIME, UNIT, REAL = number(.001, 200), number(.001, .999), number(-30, 30)


def clip(v, lower, upper):
    return min(max(v, lower), upper)


def time(v):
    return clip(v, .001, 200)


def share(eta):
    return 1 / (1 + math.exp(-eta))


def poisson(r, mean):
    if mean > 60:
        return max(0, round(r.gauss(mean, math.sqrt(mean))))
    limit, k, p = math.exp(-mean), 0, r.random()
    while p > limit:
        k, p = k + 1, p * r.random()
    return k


def overdispersed(r, mean, phi):
    return poisson(r, mean * r.gammavariate(phi, 1 / phi))


def above_zero(draw):
    while True:
        y = draw()
        if y > 0:
            return y


def student(r, nu):
    return r.gauss(0, 1) / math.sqrt(r.gammavariate(nu / 2, 2 / nu))


def level(latent, first=-.5, second=1.):
    return "low" if latent < first else "mid" if latent < second else "high"


def logistic(r):
    u = r.random()
    return math.log(u / (1 - u))


def ab(r, n):
    """Features a, normal, and b, 0 or 1."""
    return [(round(clip(r.gauss(0, 1), -4, 4), 4), int(r.random() < .4)) for _ in range(n)]


def of_ab(column, draw, n=8000):
    """Records y ~ a + b; draw(r, eta, a) of a linear predictor 1 + .4 a - .2 b."""
    return "y ~ a + b", {"a": number(-4, 4), "b": BINARY, "y": column}, lambda r: [{"a": a, "b": b, "y": draw(r, 1 + .4 * a - .2 * b, a)} for a, b in ab(r, n)]


def of_rare(column, draw, share, n=10000):
    """As of_ab, and two levels that few records have: c, a share of them, and h, half of that."""
    def rows(r):
        made = [(*of, int(r.random() < share), int(r.random() < share / 2)) for of in ab(r, n)]
        return [{"a": a, "b": b, "c": c, "h": h, "y": draw(r, 1 + .4 * a - .2 * b + .4 * c - .3 * h, a)} for a, b, c, h in made]
    return "y ~ a + b + c + h", {"a": number(-4, 4), "b": BINARY, "c": BINARY, "h": BINARY, "y": column}, rows


def of_x(formula, column, draw, n=8000):
    """Records of one skewed feature x; draw(r, mean)."""
    def rows(r):
        xs = [clip(r.lognormvariate(.5, .5), .3, 30) for _ in range(n)]
        return [{"x": x, "y": draw(r, math.exp(.2 + .5 * math.log(x)))} for x in xs]
    return formula, {"x": number(.3, 30), "y": column}, rows


def of_persons(column, draw, n=8000):
    """As of_ab, of persons with 1 to 6 rows, who differ by nothing else."""
    formula, columns, _ = of_ab(column, draw, n)

    def rows(r):
        made = []
        for person in range(n):
            made += [{"id": person, "a": a, "b": b, "y": draw(r, 1 + .4 * a - .2 * b, a)} for a, b in ab(r, r.randint(1, 6))]
        return made
    return formula, {"id": "{type: id}", **columns}, rows


def of_sicker(column, draw, n=8000):
    """Persons with more rows the larger their own effect is; w: one over how many, for the exposed fit."""
    formula, columns, _ = of_ab(column, draw, n)

    def rows(r):
        made = []
        for person in range(n):
            effect = r.gauss(0, 1)
            k = min(1 + poisson(r, math.exp(.5 + .7 * effect)), 12)
            made += [{"id": person, "w": 1 / k, "a": a, "b": b, "y": draw(r, .3 + .4 * a - .2 * b + .5 * effect, a)} for a, b in ab(r, k)]
        return made
    return formula, {"id": "{type: id}", "w": number(0, 1), **columns}, rows


def of_groups(formula, column, draw, n=8000, n_groups=8):
    """Records of of_ab() in groups, normal in their levels and, less, in their slopes of a."""
    def rows(r):
        effects = [(r.gauss(0, .5), r.gauss(0, .15)) for _ in range(n_groups)]
        made = [(a, b, r.randrange(n_groups)) for a, b in ab(r, n)]
        return [{"a": a, "b": b, "g": f"g{g}", "y": draw(r, 1 + .4 * a - .2 * b + effects[g][0] + effects[g][1] * a, a)} for a, b, g in made]
    levels = ", ".join(f"g{g}" for g in range(n_groups))
    return formula, {"a": number(-4, 4), "b": BINARY, "g": f"{{type: categorical, levels: [{levels}]}}", "y": column}, rows


def spoilt(share, spoil, make, only=lambda row: True):
    """A kind's records, a share of which are as they should not be: spoil(y), of those that `only` picks."""
    formula, columns, rows = make

    def some(r):
        made = rows(r)
        there = [row for row in made if only(row)]
        for row in r.sample(there, round(share * len(made))):
            row["y"] = spoil(row["y"])
        return made
    return formula, columns, some


def mixed(r, m):
    return 0 if r.random() < .25 else poisson(r, m * r.lognormvariate(-.5, 1))


def assay(_):
    """Residents of Olmsted County and their free light chains, as they are."""
    with open(HERE.parent / "data" / "flchain" / "flchain.csv", newline="") as file:
        return [{key: row[key] for key in ("flc", "age", "sex", "sample_year")} for row in csv.DictReader(file)]


# name: family, does the program describe the records?, formula, columns, records
RIGHT, WRONG = "right", "misfit"
KINDS = {
    "two-functions": ("negbinomial", RIGHT, *of_x("y ~ log(x) + x", integer(0, 200), lambda r, m: min(200, overdispersed(r, m, 2)))),
    "one-function": ("negbinomial", RIGHT, *of_x("y ~ log(x)", integer(0, 200), lambda r, m: min(200, overdispersed(r, m, 2)))),
    "gamma-two-functions": ("gamma", RIGHT, *of_x("y ~ log(x) + x", TIME, lambda r, m: time(r.gammavariate(2, m / 2)))),
    "counts-mixed": ("negbinomial", WRONG, *of_ab(integer(0, 80), lambda r, e, a: min(80, mixed(r, math.exp(e))), 20000)),
    "exponential-of-weibull": ("exponential", WRONG, *of_ab(TIME, lambda r, e, a: time(r.weibullvariate(math.exp(e / 2), 1.5)))),
    "lognormal-flc": ("lognormal", WRONG, "flc ~ age + sex", {"flc": number(.3, 30), "age": integer(50, 105), "sex": "{type: categorical, levels: [F, M]}"}, assay),
    "lognormal-flc-years": ("lognormal", WRONG, "flc ~ age + sex + (1 | sample_year)", {"flc": number(.3, 30), "age": integer(50, 105), "sex": "{type: categorical, levels: [F, M]}", "sample_year": YEARS}, assay),
    "cumulative": ("cumulative", RIGHT, *of_ab(LEVELS, lambda r, e, a: level(e - 1 + logistic(r)))),
    "cumulative-of-normal": ("cumulative", WRONG, *of_ab(LEVELS, lambda r, e, a: level(1.5 * (e - 1) + r.gauss(0, 1 + .3 * abs(a))))),
    "categorical": ("categorical", RIGHT, *of_ab(LEVELS, lambda r, e, a: r.choices(("low", "mid", "high"), (1, math.exp(e - 1), math.exp(.5 - .5 * a)))[0])),
    "gamma": ("gamma", RIGHT, *of_ab(TIME, lambda r, e, a: time(r.gammavariate(2, math.exp(e) / 2)))),
    "gamma-of-lognormal": ("gamma", WRONG, *of_ab(TIME, lambda r, e, a: time(r.lognormvariate(e - .5, 1)))),
    "beta": ("beta", RIGHT, *of_ab(UNIT, lambda r, e, a: clip(r.betavariate(6 * share(e - 1), 6 * share(1 - e)), .001, .999))),
    "hurdle-gamma": ("hurdle_gamma", RIGHT, *of_ab(number(0, 200), lambda r, e, a: 0 if r.random() < .3 else time(r.gammavariate(2, math.exp(e) / 2)))),
    "hurdle-negbinomial": ("hurdle_negbinomial", RIGHT, *of_ab(integer(0, 80), lambda r, e, a: 0 if r.random() < .3 else
                                                               min(80, above_zero(lambda: overdispersed(r, math.exp(e), 2))))),
    "zero-inflated-poisson": ("zero_inflated_poisson", RIGHT, *of_ab(integer(0, 60), lambda r, e, a: 0 if r.random() < .3 else min(60, poisson(r, math.exp(e))))),
    "zero-inflated-of-negbinomial": ("zero_inflated_poisson", WRONG, *of_ab(integer(0, 60), lambda r, e, a: 0 if r.random() < .3 else
                                                                           min(60, overdispersed(r, math.exp(e), 2)))),
    "student": ("student", RIGHT, *of_ab(REAL, lambda r, e, a: clip(e + student(r, 4), -30, 30), 20000)),
    "student-of-skewed": ("student", WRONG, *of_ab(REAL, lambda r, e, a: clip(e + r.expovariate(1) - 1, -30, 30), 20000)),
    "negbinomial-of-curve": ("negbinomial", WRONG, *of_ab(integer(0, 120), lambda r, e, a: min(120, overdispersed(r, math.exp(e + .25 * a * a - .3), 2)))),
    "counts-heap": ("negbinomial", WRONG, *spoilt(.001, lambda y: 500, of_ab(integer(0, 500), lambda r, e, a: min(500, overdispersed(r, math.exp(e), 2)), 20000), lambda row: row["b"])),
    "times-typed": ("gamma", WRONG, *spoilt(.01, lambda y: time(10 * y), of_ab(TIME, lambda r, e, a: time(r.gammavariate(2, math.exp(e) / 2))))),
    "times-code": ("weibull", WRONG, *spoilt(.003, lambda y: 200, of_ab(TIME, lambda r, e, a: time(r.weibullvariate(math.exp(e), 1.5))))),
    "prices-missing": ("lognormal", WRONG, *spoilt(.005, lambda y: .001, of_ab(TIME, lambda r, e, a: time(r.lognormvariate(e, .5))))),
    "poisson": ("poisson", RIGHT, *of_ab(integer(0, 60), lambda r, e, a: min(60, poisson(r, math.exp(e))), 20000)),
    "poisson-high": ("poisson", RIGHT, *of_ab(integer(0, 400), lambda r, e, a: min(400, poisson(r, math.exp(e + 2.5))), 20000)),
    "poisson-low": ("poisson", RIGHT, *of_ab(integer(0, 20), lambda r, e, a: min(20, poisson(r, math.exp(e - 4))), 20000)),
    "poisson-steep": ("poisson", RIGHT, *of_ab(integer(0, 300), lambda r, e, a: min(300, poisson(r, math.exp(2 * e - 1))), 20000)),
    "poisson-of-negbinomial": ("poisson", WRONG, *of_ab(integer(0, 80), lambda r, e, a: min(80, overdispersed(r, math.exp(e), 1)), 20000)),
    "poisson-heap": ("poisson", WRONG, *spoilt(.001, lambda y: 500, of_ab(integer(0, 500), lambda r, e, a: min(500, poisson(r, math.exp(e))), 20000), lambda row: row["b"])),
    "poisson-typed": ("poisson", WRONG, *spoilt(.01, lambda y: min(200, 10 * y), of_ab(integer(0, 200), lambda r, e, a: min(200, poisson(r, math.exp(e))), 20000))),
    "bernoulli-rare": ("bernoulli", RIGHT, *of_ab(BINARY, lambda r, e, a: int(r.random() < share(2 * e - 7)), 20000)),
    "bernoulli-steep": ("bernoulli", RIGHT, *of_ab(BINARY, lambda r, e, a: int(r.random() < share(6 * e - 6)), 20000)),
    "bernoulli-code": ("bernoulli", WRONG, *spoilt(.005, lambda y: 1, of_ab(BINARY, lambda r, e, a: int(r.random() < share(e - 3))), lambda row: row["a"] < -1)),
    "rare-negbinomial": ("negbinomial", RIGHT, *of_rare(integer(0, 80), lambda r, e, a: min(80, overdispersed(r, math.exp(e), 2)), .06)),
    "rare-gamma": ("gamma", RIGHT, *of_rare(TIME, lambda r, e, a: time(r.gammavariate(2, math.exp(e) / 2)), .1)),
    "rare-weibull-of-lognormal": ("weibull", WRONG, *of_rare(TIME, lambda r, e, a: time(r.lognormvariate(e - .5, 1)), .1)),
    "groups-negbinomial": ("negbinomial", RIGHT, *of_groups("y ~ a + b + (1 | g)", integer(0, 120), lambda r, e, a: min(120, overdispersed(r, math.exp(e), 2)))),
    "groups-gamma-slopes": ("gamma", RIGHT, *of_groups("y ~ a + b + (1 + a | g)", TIME, lambda r, e, a: time(r.gammavariate(2, math.exp(e) / 2)), 20000, 6)),
    "groups-gamma-of-lognormal": ("gamma", WRONG, *of_groups("y ~ a + b + (1 | g)", TIME, lambda r, e, a: time(r.lognormvariate(e - .5, 1)))),
    "groups-hurdle": ("hurdle_poisson", RIGHT, *of_groups("y ~ a + b + (1 | g)", integer(0, 60), lambda r, e, a: 0 if r.random() < .3 else
                                                         min(60, above_zero(lambda: poisson(r, math.exp(e)))), 20000, 12)),
    "persons": ("negbinomial", RIGHT, *of_persons(integer(0, 80), lambda r, e, a: min(80, overdispersed(r, math.exp(e), 2)), 8000)),
    "sicker-poisson": ("poisson", WRONG, *of_sicker(integer(0, 60), lambda r, e, a: min(60, poisson(r, math.exp(e))))),
    "sicker-bernoulli": ("bernoulli", WRONG, *of_sicker(BINARY, lambda r, e, a: int(r.random() < share(e)))),
    "sicker-negbinomial": ("negbinomial", WRONG, *of_sicker(integer(0, 80), lambda r, e, a: min(80, overdispersed(r, math.exp(e), 2)))),
    "sicker-gamma": ("gamma", WRONG, *of_sicker(TIME, lambda r, e, a: time(r.gammavariate(2, math.exp(e) / 2)))),
    "add-remove": ("weibull", RIGHT, *of_ab(TIME, lambda r, e, a: time(r.weibullvariate(math.exp(e), 1.5)))),
}


def run(tacit, *args):
    return subprocess.run([tacit, *map(str, args)], capture_output=True, text=True, check=False)


def parameters(tacit, folder):
    """Of groups too what the intercept and an effect come to together, of which records tell most."""
    said = {p["name"]: p for p in json.loads(run(tacit, "summary", folder, "--json").stdout)["parameters"]}
    if any(name.startswith("r_") for name in said):
        rows = [row for path in folder.glob("draws-*.csv") for row in csv.DictReader(line for line in path.open() if not line.startswith("#"))]
        for name in [name for name in rows[0] if name.startswith("r_g_1.") or name.startswith("r_sample_year_1.")]:
            level = [float(row["Intercept_s"]) + float(row[name]) for row in rows]
            said["level " + name] = {"mean": statistics.fmean(level), "sd": statistics.stdev(level)}
    return said


def prepare(tacit, folder, name):
    """Words that all fits of the kind have, and the exposed answer."""
    family, _, formula, columns, make = KINDS[name]
    rows = make(random.Random(name))
    is_persons, is_add_remove = "id" in columns, name == "add-remove"
    with open(folder / "d.csv", "w", newline="") as file:
        out = csv.DictWriter(file, list(columns), extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)
    head = f"dataset: d\nrelation: {'add-remove' if is_add_remove else 'substitute'}\n" + (f"unit: id\nmax_rows: {12 if 'w' in columns else 6}\n" if is_persons else "unit: row\n")
    (folder / "s.yaml").write_text(head + "columns:\n" + "".join(f"  {k}: {v}\n" for k, v in columns.items()))
    common = ["fit", formula, "--family", family, "--data", folder / "d.csv", "--schema", folder / "s.yaml", "--quiet"]
    common += ["--n-public", len(rows)] if is_add_remove else []
    truth = folder / "truth.json"
    if not truth.exists():
        weighed = formula.replace("~", "| weights(w) ~") if "w" in columns else formula
        done = run(tacit, common[0], weighed, *common[2:], "--method", "hmc", "--exposed", "--chains", 2, "--draws", 400, "--warmup", 300, "--seed", 1, "--out", folder / "exposed")
        if done.returncode:
            sys.exit(f"{name}: the exposed fit failed: {done.stderr.strip().splitlines()[-1]}")
        truth.write_text(json.dumps(parameters(tacit, folder / "exposed")))
    return common, json.loads(truth.read_text())


def measure(tacit, folder, name, epsilon, runs):
    common, truth = prepare(tacit, folder, name)
    said = {"kind": name, "family": KINDS[name][0], "is": KINDS[name][1], "epsilon": epsilon, "fits": runs, "flagged": [], "refused": 0, "failed": 0}
    zs, ratios = {}, {}
    for i in range(runs):
        out = folder / f"fit-{epsilon}-{i}"
        done = run(tacit, *common, "--epsilon", epsilon, "--delta", "1e-6", "--out", out)
        told = run(tacit, "diagnose", out, "--json") if done.returncode in (0, 5) else None
        if told is None:
            said["refused" if done.returncode == 4 else "failed"] += 1
        elif told.returncode == 5:
            said["flagged"].append(next(one["what"] for one in json.loads(told.stdout) if one.get("severity") == "problem")[:50])
        else:
            for key, p in parameters(tacit, out).items():
                if key in truth and not key.startswith(("b_s[", "Intercept_s")) and truth[key]["sd"] > 0:
                    zs.setdefault(key, []).append((p["mean"] - truth[key]["mean"]) / p["sd"])
                    ratios.setdefault(key, []).append(p["sd"] / truth[key]["sd"])
    said["z2"] = max((statistics.fmean(z * z for z in of) for of in zs.values()), default=None)
    said["z"] = max((abs(z) for of in zs.values() for z in of), default=None)
    said["ratio"] = min((statistics.fmean(of) for of in ratios.values()), default=None)
    said["most_ratio"] = max((statistics.fmean(of) for of in ratios.values()), default=None)
    return said


def is_wrong(said):
    return said["failed"] > 0 or (said["z2"] or 0) > 4 or (said["ratio"] or 1) < .8


def table(lines):
    out = ["| records | family | the program | epsilon | fits | flagged | refused | failed | mean square z | largest | sd ratios |", "| --- |" + " --- |" * 10]
    for s in lines:
        numbers = " - | - | - |" if s["z2"] is None else f" {s['z2']:.1f} | {s['z']:.1f} | {s['ratio']:.2f} to {s['most_ratio']:.2f} |"
        out.append(f"| {s['kind']} | {s['family']} | {s['is']} | {s['epsilon']} | {s['fits']} | {len(s['flagged'])} | {s['refused']} | {s['failed']} |{numbers}")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacit", type=os.path.abspath, nargs="?")
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--epsilon", default="1,8,50,1000")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_intermixed_args()
    if args.list:
        print("\n".join(f"{name}: {kind[0]}, {kind[1]}" for name, kind in KINDS.items()))
        return 0
    kept = args.out / "agreement.jsonl" if args.out else None
    done = {(s["kind"], s["epsilon"]): s for s in map(json.loads, kept.read_text().splitlines())} if kept and kept.exists() else {}
    for name in args.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            for epsilon in args.epsilon.split(","):
                if (name, epsilon) in done:
                    continue
                done[name, epsilon] = measure(args.tacit, pathlib.Path(folder), name, epsilon, args.runs)
                if kept:
                    args.out.mkdir(parents=True, exist_ok=True)
                    with open(kept, "a") as file:
                        file.write(json.dumps(done[name, epsilon]) + "\n")
    lines = sorted(done.values(), key=lambda s: (list(KINDS).index(s["kind"]), float(s["epsilon"])))
    print(table(lines))
    if args.out:
        (args.out / "agreement.md").write_text(table(lines) + "\n")
    return sum(map(is_wrong, lines))


if __name__ == "__main__":
    sys.exit(main())
