#!/usr/bin/env python3
"""Do intervals of tacit predict hold what they are of, where the family is a program? Expected responses of new rows, and new responses.

    programs.py TACIT --out FOLDER [--runs 100]

1500 records, y ~ x + g (a weight of 1 a row, no privacy noise: hmc, exposed, so that what is looked at is the prediction); truth, data and 25 new rows with a
response each are new in every run. 90 % intervals, q5 to q95, of the expected response and of the response. Families: negbinomial, cumulative (probability of the
first level; its drawn level), weibull with follow-up that ends (new times are not censored), student, zero_inflated_poisson, and a program of one's own:
a normal outcome whose spread depends on x.
"""
import csv
import math
import pathlib
import random
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import resumable  # noqa: E402

N, N_NEW, END = 1500, 25, 4.0
SCHEMA = ("columns:\n  x: {type: numeric, lower: -2, upper: 2}\n  g: {type: categorical, levels: [a, b]}\n  late: {type: binary}\n  y: %s\n")
OWN = """data { real<lower=-2, upper=2> x; int<lower=1, upper=2> g; real<lower=-30, upper=30> y; }
parameters { vector[2] a; real b; real c; real d; }
model { a ~ normal(0, 3); b ~ normal(0, 3); c ~ normal(0, 1); d ~ normal(0, 1); y ~ normal(a[g] + b * x, exp(c + d * x)); }
"""


def poisson(rng, rate):
    count, product, least = -1, 1.0, math.exp(-rate)
    while product > least:
        count, product = count + 1, product * rng.random()
    return count


def negbinomial(rng, eta):
    return poisson(rng, rng.gammavariate(3, math.exp(eta) / 3))


def level(rng, eta):
    u = rng.random()
    return "low" if u < inverse_logit(-1 - eta) else "mid" if u < inverse_logit(1 - eta) else "high"


def inverse_logit(x):
    return 1 / (1 + math.exp(-x))


# family: (schema of y, formula, response of eta and x, its expectation)
FAMILIES = {
    "negbinomial": ("{type: integer, lower: 0, upper: 80}", "y ~ x + g", lambda r, e, x: min(negbinomial(r, e), 80), lambda e, x: math.exp(e)),
    "cumulative": ("{type: categorical, levels: [low, mid, high]}", "y ~ x + g", lambda r, e, x: level(r, e), lambda e, x: inverse_logit(-1 - e)),
    "weibull": ("{type: numeric, lower: 0.0001, upper: 4}", "y | cens(late) ~ x + g", lambda r, e, x: r.weibullvariate(math.exp(e), 1.5),
                lambda e, x: math.exp(e) * math.gamma(1 + 1 / 1.5)),
    "student": ("{type: numeric, lower: -30, upper: 30}", "y ~ x + g",
                lambda r, e, x: max(-30, min(30, e + r.gauss(0, 1) / math.sqrt(r.gammavariate(2.5, 1) / 2.5))),
                lambda e, x: e),
    "zero_inflated_poisson": ("{type: integer, lower: 0, upper: 80}", "y ~ x + g", lambda r, e, x: 0 if r.random() < 0.3
                              else min(poisson(r, math.exp(e)), 80),
                              lambda e, x: 0.7 * math.exp(e)),
    "own": ("{type: numeric, lower: -30, upper: 30}", "own.stan", lambda r, e, x: r.gauss(e, math.exp(0.4 * x)), lambda e, x: e)}


def rows_of(rng, family, truth, n):
    rows = []
    for _ in range(n):
        x, g = max(-2, min(2, rng.gauss(0, 1))), rng.choice("ab")
        eta = truth[0] + truth[1] * x + truth[2] * (g == "b")
        rows.append((x, g, FAMILIES[family][2](rng, eta, x), eta))
    return rows


def write(path, family, rows):
    lines = ["x,g,late,y"]
    for x, g, y, _ in rows:
        is_late = family == "weibull" and y > END
        value = y if isinstance(y, (str, int)) else f"{max(min(y, END), 0.0001) if family == 'weibull' else y:.6f}"
        lines.append(f"{x:.6f},{g},{int(is_late)},{value}")
    path.write_text("\n".join(lines) + "\n")


def predict(tacit, folder, *more):
    done = subprocess.run([tacit, "predict", folder / "fit", "--newdata", folder / "new.csv", *more], check=True, capture_output=True, text=True)
    return list(csv.DictReader(done.stdout.splitlines()))


def covered(family, means, drawn, new):
    """Shares of expectations and of responses in their intervals; of levels, how often the likeliest set of 90 % or more has the level."""
    expected = [FAMILIES[family][3](eta, x) for x, _, _, eta in new]
    if family == "cumulative":
        first = [row for row in means if row["class"] == "low"]
        sets = []
        for i, (_, _, y, _) in enumerate(new):
            classes, total, kept = sorted(drawn[3 * i:3 * i + 3], key=lambda row: -float(row["mean"])), 0.0, []
            while total < 0.9:
                kept.append(classes[len(kept)]["class"])
                total += float(classes[len(kept) - 1]["mean"])
            sets.append(y in kept)
        return statistics.fmean(float(r["q5"]) <= e <= float(r["q95"]) for r, e in zip(first, expected)), statistics.fmean(sets)
    return (statistics.fmean(float(r["q5"]) <= e <= float(r["q95"]) for r, e in zip(means, expected)),
            statistics.fmean(float(r["q5"]) <= row[2] <= float(r["q95"]) for r, row in zip(drawn, new)))


def one(tacit, seed, folder):
    found = {}
    (folder / "own.stan").write_text(OWN)
    for family, (schema, formula, _, _) in FAMILIES.items():
        rng = random.Random(f"{family} {seed}")
        truth = [rng.gauss(0.4, 0.3), *(rng.gauss(0, 0.4) for _ in range(2))]
        (folder / "s.yaml").write_text(SCHEMA % schema)
        write(folder / "d.csv", family, rows_of(rng, family, truth, N))
        new = rows_of(rng, family, truth, N_NEW)
        (folder / "new.csv").write_text("x,g\n" + "".join(f"{x:.6f},{g}\n" for x, g, _, _ in new))
        subprocess.run(["rm", "-rf", folder / "fit"], check=True)
        which = [folder / formula] if family == "own" else [formula, "--family", family]
        done = subprocess.run([tacit, "fit", *which, "--method", "hmc", "--exposed", "--data", folder / "d.csv", "--schema", folder / "s.yaml",
                               "--chains", "2", "--warmup", "300",
                               "--draws", "500", "--seed", str(seed + 1), "--quiet", "--out", folder / "fit"], capture_output=True, text=True)
        if done.returncode not in (0, 5):
            sys.exit(done.stderr)
        found[family] = covered(family, predict(tacit, folder), predict(tacit, folder, "--response", "--seed", str(seed + 1)), new)
    return found


def main():
    args = resumable.arguments(__doc__, 100).parse_args()
    runs = resumable.results(args, lambda seed, folder: {"covered": one(args.tacit, seed, folder)})
    lines = ["| family | expected response | standard error (between runs) | response | standard error |", "| --- | --- | --- | --- | --- |"]
    for family in FAMILIES:
        cells = []
        for k in range(2):
            shares = [run["covered"][family][k] for run in runs]
            cells.append(f"{statistics.fmean(shares):.3f} | {statistics.stdev(shares) / math.sqrt(len(shares)):.3f}")
        lines.append(f"| {family} | {' | '.join(cells)} |")
    resumable.write_table(args, lines)


if __name__ == "__main__":
    main()
