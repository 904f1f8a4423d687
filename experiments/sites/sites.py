#!/usr/bin/env python3
"""Five sites of 2000 records against one of 10 000, at the same epsilon each: widths and coverage. Or five sites whose effects differ.

    sites.py TACIT --out docs/results/sites [--runs 30] [--family gaussian] [--family negbinomial --epsilon 2]
    sites.py TACIT --out docs/results/sites/differing --spread 0.3 --runs 60

Truths, features and noise are new in every run; with --spread each site's coefficients are normal around the truth with that sd, common effects stand
beside exchangeable ones, and each site's own effects, given the releases of all, beside those of its own fit. Gaussian: residuals of sd 1.5, at --spread of
1.5 in one site and 2.5 in the last; negbinomial: a family that is a program, of shape 2. Fixed seeds for the simulated data; the privacy noise is the program's own.
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
          "  g: {type: categorical, levels: [a, b]}\n  y: %s\n")
RESPONSE = {"bernoulli": "{type: binary}", "gaussian": "{type: numeric, lower: -12, upper: 12}",
            "negbinomial": "{type: integer, lower: 0, upper: 60}"}
CHAINS = ["--chains", "2", "--warmup", "300", "--draws", "500"]
N_SITES, N_EACH = 5, 2000


def poisson(rng, mean):
    k, product, least = 0, rng.random(), math.exp(-mean)
    while product > least:
        k, product = k + 1, product * rng.random()
    return k


def respond(rng, family, eta, sd):
    if family == "gaussian":
        return f"{rng.gauss(eta, sd):.5f}"
    if family == "negbinomial":  # shape 2
        return min(60, poisson(rng, rng.gammavariate(2, math.exp(eta) / 2)))
    return int(rng.random() < 1 / (1 + math.exp(-eta)))


def simulate(rng, n, family, spread=0, sd=1.5):
    """Rows, and the coefficients they were drawn by."""
    truth = {name: value + (rng.gauss(0, spread) if spread else 0) for name, value in TRUTH.items()}
    rows = []
    for _ in range(n):
        x, z, g = max(-3, min(3, rng.gauss(0, 1))), rng.uniform(-1, 1), rng.choice("ab")
        eta = truth["Intercept"] + truth["x"] * x + truth["z"] * z + truth["gb"] * (g == "b")
        rows.append(f"{x:.5f},{z:.5f},{g},{respond(rng, family, eta, sd)}\n")
    return rows, truth


def run(tacit, *words):
    done = subprocess.run([tacit, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 5):  # 5, of diagnose: problems were found, and said
        raise SystemExit(f"{words}: {done.stderr}")
    return done.returncode == 5


def is_flagged(tacit, folder):
    return run(tacit, "diagnose", folder)


def intervals(folder, prefix=""):
    rows = {row["name"].removeprefix(prefix + "b_"): row for row in csv.DictReader(open(folder / "summary.csv"))}
    return {name: (float(rows[name]["mean"]), float(rows[name]["sd"]), float(rows[name]["q5"]), float(rows[name]["q95"])) for name in TRUTH}


def one(args, seed, folder):
    rng = random.Random(seed)
    (folder / "s.yaml").write_text(SCHEMA % RESPONSE[args.family])
    drawn = [simulate(rng, N_EACH, args.family, args.spread, 2.5 if args.spread and k == N_SITES - 1 else 1.5) for k in range(N_SITES)]
    parts = [rows for rows, _ in drawn]
    fit = ["fit", "y ~ x + z + g", "--family", args.family, "--yes", "--schema", folder / "s.yaml", "--epsilon", args.epsilon, "--delta", "1e-6",
           "--quiet", *CHAINS]
    sites, found = [folder / f"site{k}" for k in range(N_SITES)], {}
    for where, rows in [*zip(sites, parts), *([] if args.spread else [(folder / "pooled", sum(parts, []))])]:
        (folder / "d.csv").write_text("x,z,g,y\n" + "".join(rows))
        run(args.tacit, *fit, "--data", folder / "d.csv", "--out", where)
        found[where.name] = is_flagged(args.tacit, where)
    for name, more in [("combined", []), *([("exchangeable", ["--exchangeable"])] if args.spread else [])]:
        run(args.tacit, "combine", *sites, "--disjoint", *more, "--out", folder / name, *CHAINS)
        found[name] = is_flagged(args.tacit, folder / name)
    shown = ("site0", "combined", "exchangeable" if args.spread else "pooled")
    out = {name: {"flagged": found[name], "intervals": intervals(folder / name)} for name in shown}
    if args.spread:
        out["own"] = [{"truth": truth, "alone": intervals(where), "given all": intervals(folder / "exchangeable", f"site{k + 1}_")}
                      for k, (where, (_, truth)) in enumerate(zip(sites, drawn))]
    return out


def has_intervals(of):
    return not any(math.isnan(number) for four in of.values() for number in four)


def summarise(runs, which):
    """Over the runs that gave intervals: where a check forbids them there are none, and the run counts as flagged."""
    intervals_of = [r[which]["intervals"] for r in runs if has_intervals(r[which]["intervals"])]
    cells = [(i[name], truth) for i in intervals_of for name, truth in TRUTH.items()]
    covered = sum(low <= truth <= high for (_, _, low, high), truth in cells) / len(cells)
    z2 = sum(((mean - truth) / sd) ** 2 for (mean, sd, _, _), truth in cells) / len(cells)
    sds = {name: sum(i[name][1] for i in intervals_of) / len(intervals_of) for name in TRUTH}
    worst = min(sum(i[name][2] <= truth <= i[name][3] for i in intervals_of) / len(intervals_of) for name, truth in TRUTH.items())
    return sds, covered, worst, z2, sum(r[which]["flagged"] for r in runs)


def own_lines(runs):
    """Each site's own effects, from its own releases and from those of all."""
    lines = ["| a site's own effects | mean sd: " + ", ".join(TRUTH) + " | coverage of 90 % intervals (least of a coefficient) | mean z^2 |",
             "| --- | --- | --- | --- |"]
    sites = [site for run in runs for site in run["own"] if has_intervals(site["alone"]) and has_intervals(site["given all"])]
    for which, label in (("alone", "by its own releases alone"), ("given all", "by the releases of all, exchangeable")):
        cells = {name: [(*site[which][name], site["truth"][name]) for site in sites] for name in TRUTH}
        covered = {name: sum(low <= truth <= high for _, _, low, high, truth in cells[name]) / len(sites) for name in TRUTH}
        z2 = sum(((mean - truth) / sd) ** 2 for name in TRUTH for mean, sd, _, _, truth in cells[name]) / len(sites) / len(TRUTH)
        sds = ", ".join(f"{sum(cell[1] for cell in cells[name]) / len(sites):.3f}" for name in TRUTH)
        lines.append(f"| {label} | {sds} | {sum(covered.values()) / len(covered):.3f} ({min(covered.values()):.2f}) | {z2:.2f} |")
    return lines


def main():
    parser = resumable.arguments(__doc__, 30)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--spread", type=float, default=0)
    parser.add_argument("--family", choices=list(RESPONSE), default="bernoulli")
    args = parser.parse_args()
    runs = resumable.results(args, lambda seed, folder: one(args, seed, folder))
    labels = {"site0": "one site of 2000", "combined": "five sites of 2000, combined", "pooled": "one site of 10 000"}
    if args.spread:
        labels = {"site0": "one site of 2000, for the mean of all", "combined": "five sites, common effects",
                  "exchangeable": "five sites, exchangeable effects"}
    last = summarise(runs, list(labels)[-1])[0]
    lines = ["| | mean sd: " + ", ".join(TRUTH)
             + " | sd over that of the last row | coverage of 90 % intervals (least of a coefficient) | mean z^2 | flagged |",
             "| --- | --- | --- | --- | --- | --- |"]
    for which, label in labels.items():
        sds, covered, worst, z2, flagged = summarise(runs, which)
        ratio = sum(sds[name] / last[name] for name in TRUTH) / len(TRUTH)
        lines.append(f"| {label} | " + ", ".join(f"{sds[name]:.3f}" for name in TRUTH)
                     + f" | {ratio:.2f} | {covered:.3f} ({worst:.2f}) | {z2:.2f} | {flagged} of {len(runs)} |")
    resumable.write_table(args, lines + (["", *own_lines(runs)] if args.spread else []))


if __name__ == "__main__":
    main()
