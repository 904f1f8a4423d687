#!/usr/bin/env python3
"""Noise-aware regression on the demonstration data: width and honesty of its intervals over repeated private fits.

    experiments/noise_aware_demo.py build/src/cli/tacit [REPEATS [EPSILON ...]]
    experiments/noise_aware_demo.py build/src/cli/tacit --simulate [REPEATS [EPSILON ...]]
    experiments/noise_aware_demo.py build/src/cli/tacit --method dp-penalty [REPEATS [EPSILON ...]]

For every epsilon, over REPEATS fits (default 50) of the same records with fresh noise: the median of the posterior standard
deviation over the non-private one, and the root mean square of (private mean - non-private mean) / sqrt(private variance -
non-private variance), which is 1 if the private posterior knows how far privacy moved it. Part of that shift, the mean, is the
same in all fits: down-weighted rows estimate from the same records a little differently. With --simulate every repeat has new
responses, drawn at the non-private estimate for the same features, and a non-private fit of its own: the distribution under which the root
mean square should be 1 and intervals should cover the truth. With --method, another method: its chains are few and short, and the
table has their R-hat. The data are public; many fits of private data would each spend their epsilon.
"""
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "data/flchain/flchain.csv"


def fit(tacit, *options, data=DATA):
    """Means, sds and central 90 % intervals by parameter."""
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/fit"
        words = ["fit", "death ~ age + sex + log(flc)", "--family", "bernoulli", "--data", str(data), "--schema",
                 str(ROOT / "data/flchain/flchain.yaml"), "--quiet", "--out", out, "--delta", "1e-6", *options]
        if "--exposed" in options:
            words = [w for w in words if w not in ("--delta", "1e-6")]
        subprocess.run([tacit, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        summary = json.loads(subprocess.run([tacit, "summary", out, "--json"], check=True, capture_output=True).stdout)
        draws = [row for chain in pathlib.Path(out).glob("draws-*.csv")
                 for row in csv.DictReader(line for line in chain.read_text().splitlines() if not line.startswith("#"))]
    columns = [name for name in draws[0] if name.startswith("b_")]
    return [dict(parameter, draws=[float(row[column]) for row in draws])
            for parameter, column in zip(summary["parameters"], columns)]


def table(heads):
    print("| " + " | ".join(heads) + " |\n| " + " | ".join("---" for _ in heads) + " |")


def root_mean_square(values):
    return math.sqrt(statistics.mean(x * x for x in values))


def shift(mine, exact):
    return (mine["mean"] - exact["mean"]) / math.sqrt(mine["sd"] ** 2 - exact["sd"] ** 2)


def repeat(tacit, repeats, budgets, reference):
    """The same records, fresh noise."""
    table(["epsilon", "parameter", "median sd / non-private sd", "standardised shift: root mean square", "mean", "sd",
           "non-private draws in the 90 % interval"])
    for epsilon in budgets:
        fits = [fit(tacit, "--method", "noise-aware", "--epsilon", epsilon) for _ in range(repeats)]
        for j, exact in enumerate(reference):
            mine = [f[j] for f in fits]
            shifts = [shift(m, exact) for m in mine if m["sd"] > exact["sd"]]
            covered = statistics.mean(sum(f["q5"] <= x <= f["q95"] for x in exact["draws"][::20]) / len(exact["draws"][::20])
                                      for f in mine)
            print(f"| {epsilon} | {exact['name']} | {statistics.median(f['sd'] for f in mine) / exact['sd']:.2f} "
                  f"| {root_mean_square(shifts):.2f} | {statistics.mean(shifts):.2f} | {statistics.stdev(shifts):.2f} | {covered:.2f} |",
                  flush=True)


def simulated(rows, truth, path):
    """Responses drawn at the truth (intercept, age, sex M, log flc)."""
    with open(path, "w") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for row in rows:
            eta = truth[0] + truth[1] * float(row["age"]) + truth[2] * (row["sex"] == "M") + truth[3] * math.log(float(row["flc"]))
            writer.writerow(dict(row, death=int(random.random() < 1 / (1 + math.exp(-eta)))))


def simulate(tacit, repeats, budgets, reference):
    """The same features, new responses."""
    rows, truth = list(csv.DictReader(open(DATA))), [exact["mean"] for exact in reference]
    pairs = {epsilon: [] for epsilon in budgets}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            simulated(rows, truth, folder + "/data.csv")
            exact = fit(tacit, "--method", "hmc", "--exposed", "--chains", "2", data=folder + "/data.csv")
            for epsilon in budgets:
                pairs[epsilon].append((fit(tacit, "--method", "noise-aware", "--epsilon", epsilon, data=folder + "/data.csv"), exact))
    table(["epsilon", "parameter", "median sd / non-private sd", "standardised shift: root mean square",
           "variance added: claimed", "seen", "rms (mean - truth) / sd", "90 % intervals that hold the truth"])
    for epsilon in budgets:
        for j, exact in enumerate(reference):
            both = [(mine[j], own[j]) for mine, own in pairs[epsilon]]
            shifts = [shift(m, e) for m, e in both if m["sd"] > e["sd"]]
            claimed = statistics.mean((m["sd"] / e["sd"]) ** 2 - 1 for m, e in both)
            seen = statistics.mean(((m["mean"] - e["mean"]) / e["sd"]) ** 2 for m, e in both)
            covered = statistics.mean(m["q5"] <= truth[j] <= m["q95"] for m, _ in both)
            print(f"| {epsilon} | {exact['name']} | {statistics.median(m['sd'] / e['sd'] for m, e in both):.2f} "
                  f"| {root_mean_square(shifts):.2f} | {claimed:.2f} | {seen:.2f} "
                  f"| {root_mean_square([(m['mean'] - truth[j]) / m['sd'] for m, _ in both]):.2f} | {covered:.2f} |")


def others(tacit, method, repeats, budgets, reference):
    """Another method, two chains: what is left of its budget where it has one at all."""
    table(["method", "epsilon", "fits", "median of the worst R-hat", "parameter", "median sd / non-private sd",
           "rms (mean - non-private mean) / non-private sd"])
    for epsilon in budgets:
        fits = []
        for _ in range(repeats):
            try:
                fits.append(fit(tacit, "--method", method, "--epsilon", epsilon, "--chains", "2"))
            except subprocess.CalledProcessError:
                pass
        if not fits:
            print(f"| {method} | {epsilon} | 0 of {repeats}: refused | | | | |")
            continue
        rhat = statistics.median(max(p["rhat"] if p["rhat"] is not None else math.inf for p in f) for f in fits)
        for j, exact in enumerate(reference):
            print(f"| {method} | {epsilon} | {len(fits)} of {repeats} | {rhat:.2f} | {exact['name']} "
                  f"| {statistics.median(f[j]['sd'] for f in fits) / exact['sd']:.2f} "
                  f"| {root_mean_square([(f[j]['mean'] - exact['mean']) / exact['sd'] for f in fits]):.2f} |")


def main():
    words = sys.argv[1:]
    is_simulation = "--simulate" in words
    method = words[words.index("--method") + 1] if "--method" in words else None
    tacit, *numbers = [w for w in words if w not in ("--simulate", "--method", method)]
    repeats, budgets = int(numbers[0]) if numbers else 50, numbers[1:] or ["0.5", "1", "2", "4", "8"]
    reference = fit(tacit, "--method", "hmc", "--exposed", "--draws", "5000", "--seed", "1")
    if method is not None:
        others(tacit, method, repeats, budgets, reference)
    else:
        (simulate if is_simulation else repeat)(tacit, repeats, budgets, reference)


if __name__ == "__main__":
    main()
