#!/usr/bin/env python3
"""Five sites of 2000 records against one of 10 000, at the same epsilon each: widths and coverage. Or five sites whose effects differ.

    sites.py TACIT --out docs/results/sites [--runs 30]
    sites.py TACIT --out docs/results/sites/differing --spread 0.3 --runs 100

Truths, features and noise are new in every run; with --spread each site's coefficients are normal around the truth with that sd, and common effects
stand beside exchangeable ones. Fixed seeds for the simulated data; the privacy noise is the program's own.
"""
import csv
import math
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import resumable  # noqa: E402

TRUTH = {"Intercept": -0.5, "x": 0.8, "z": -0.6, "gb": 0.5}
SCHEMA = ("columns:\n  x: {type: numeric, lower: -3, upper: 3}\n  z: {type: numeric, lower: -1, upper: 1}\n"
          "  g: {type: categorical, levels: [a, b]}\n  y: {type: binary}\n")
CHAINS = ["--chains", "2", "--warmup", "300", "--draws", "500"]
N_SITES, N_EACH = 5, 2000


def simulate(rng, n, spread=0):
    truth = {name: value + (rng.gauss(0, spread) if spread else 0) for name, value in TRUTH.items()}
    rows = []
    for _ in range(n):
        x, z, g = max(-3, min(3, rng.gauss(0, 1))), rng.uniform(-1, 1), rng.choice("ab")
        eta = truth["Intercept"] + truth["x"] * x + truth["z"] * z + truth["gb"] * (g == "b")
        rows.append(f"{x:.5f},{z:.5f},{g},{int(rng.random() < 1 / (1 + math.exp(-eta)))}\n")
    return rows


def run(tacit, *words):
    done = subprocess.run([tacit, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 5):  # 5: problems were found, and said
        raise SystemExit(f"{words}: {done.stderr}")
    return done.returncode == 5


def intervals(folder):
    rows = {row["name"].removeprefix("b_"): row for row in csv.DictReader(open(folder / "summary.csv"))}
    return {name: (float(rows[name]["mean"]), float(rows[name]["sd"]), float(rows[name]["q5"]), float(rows[name]["q95"])) for name in TRUTH}


def one(args, seed, folder):
    rng = random.Random(seed)
    (folder / "s.yaml").write_text(SCHEMA)
    parts = [simulate(rng, N_EACH, args.spread) for _ in range(N_SITES)]
    fit = ["fit", "y ~ x + z + g", "--family", "bernoulli", "--schema", folder / "s.yaml", "--epsilon", args.epsilon, "--delta", "1e-6", "--quiet", *CHAINS]
    sites, found = [folder / f"site{k}" for k in range(N_SITES)], {}
    for where, rows in [*zip(sites, parts), *([] if args.spread else [(folder / "pooled", sum(parts, []))])]:
        (folder / "d.csv").write_text("x,z,g,y\n" + "".join(rows))
        found[where.name] = run(args.tacit, *fit, "--data", folder / "d.csv", "--out", where)
    for name, more in [("combined", []), *([("exchangeable", ["--exchangeable"])] if args.spread else [])]:
        found[name] = run(args.tacit, "combine", *sites, "--disjoint", *more, "--out", folder / name, *CHAINS)
    shown = ("site0", "combined", "exchangeable" if args.spread else "pooled")
    return {name: {"flagged": found[name], "intervals": intervals(folder / name)} for name in shown}


def summarise(runs, which):
    intervals_of = [r[which]["intervals"] for r in runs]
    cells = [(i[name], truth) for i in intervals_of for name, truth in TRUTH.items()]
    covered = sum(low <= truth <= high for (_, _, low, high), truth in cells) / len(cells)
    z2 = sum(((mean - truth) / sd) ** 2 for (mean, sd, _, _), truth in cells) / len(cells)
    sds = {name: sum(i[name][1] for i in intervals_of) / len(runs) for name in TRUTH}
    worst = min(sum(i[name][2] <= truth <= i[name][3] for i in intervals_of) / len(runs) for name, truth in TRUTH.items())
    return sds, covered, worst, z2, sum(r[which]["flagged"] for r in runs)


def main():
    parser = resumable.arguments(__doc__, 30)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--spread", type=float, default=0)
    args = parser.parse_args()
    runs = resumable.results(args, lambda seed, folder: one(args, seed, folder))
    labels = {"site0": "one site of 2000", "combined": "five sites of 2000, combined", "pooled": "one site of 10 000"}
    if args.spread:
        labels = {"site0": "one site of 2000, for the mean of all", "combined": "five sites, common effects", "exchangeable": "five sites, exchangeable effects"}
    last = summarise(runs, list(labels)[-1])[0]
    lines = ["| | mean sd: " + ", ".join(TRUTH) + " | sd over that of the last row | coverage of 90 % intervals (least of a coefficient) | mean z^2 | flagged |",
             "| --- | --- | --- | --- | --- | --- |"]
    for which, label in labels.items():
        sds, covered, worst, z2, flagged = summarise(runs, which)
        ratio = sum(sds[name] / last[name] for name in TRUTH) / len(TRUTH)
        lines.append(f"| {label} | " + ", ".join(f"{sds[name]:.3f}" for name in TRUTH) + f" | {ratio:.2f} | {covered:.3f} ({worst:.2f}) | {z2:.2f} | {flagged} of {len(runs)} |")
    resumable.write_table(args, lines)


if __name__ == "__main__":
    main()
