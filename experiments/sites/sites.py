#!/usr/bin/env python3
"""Five sites of 2000 records against one of 10 000, at the same epsilon each: widths and coverage.

    sites.py TACIT --out docs/results/sites [--runs 30]

Truths, features and noise are new in every run. Fixed seeds for the simulated data; the privacy noise is the program's own.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import subprocess
import tempfile

TRUTH = {"Intercept": -0.5, "x": 0.8, "z": -0.6, "gb": 0.5}
SCHEMA = ("columns:\n  x: {type: numeric, lower: -3, upper: 3}\n  z: {type: numeric, lower: -1, upper: 1}\n"
          "  g: {type: categorical, levels: [a, b]}\n  y: {type: binary}\n")
CHAINS = ["--chains", "2", "--warmup", "300", "--draws", "500"]
N_SITES, N_EACH = 5, 2000


def simulate(rng, n):
    rows = []
    for _ in range(n):
        x, z, g = max(-3, min(3, rng.gauss(0, 1))), rng.uniform(-1, 1), rng.choice("ab")
        eta = TRUTH["Intercept"] + TRUTH["x"] * x + TRUTH["z"] * z + TRUTH["gb"] * (g == "b")
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


def one(tacit, seed, epsilon, folder):
    rng = random.Random(seed)
    (folder / "s.yaml").write_text(SCHEMA)
    parts = [simulate(rng, N_EACH) for _ in range(N_SITES)]
    fit = ["fit", "y ~ x + z + g", "--family", "bernoulli", "--schema", folder / "s.yaml", "--epsilon", epsilon, "--delta", "1e-6", "--quiet", *CHAINS]
    found = {}
    for name, rows in [*((f"site{k}", part) for k, part in enumerate(parts)), ("pooled", sum(parts, []))]:
        (folder / "d.csv").write_text("x,z,g,y\n" + "".join(rows))
        found[name] = run(tacit, *fit, "--data", folder / "d.csv", "--out", folder / name)
    found["combined"] = run(tacit, "combine", *(folder / f"site{k}" for k in range(N_SITES)), "--disjoint", "--out", folder / "combined", *CHAINS)
    return {name: {"flagged": found[name], "intervals": intervals(folder / name)} for name in ("site0", "pooled", "combined")}


def summarise(runs, which):
    intervals_of = [r[which]["intervals"] for r in runs]
    cells = [(i[name], truth) for i in intervals_of for name, truth in TRUTH.items()]
    covered = sum(low <= truth <= high for (_, _, low, high), truth in cells) / len(cells)
    z2 = sum(((mean - truth) / sd) ** 2 for (mean, sd, _, _), truth in cells) / len(cells)
    sds = {name: sum(i[name][1] for i in intervals_of) / len(runs) for name in TRUTH}
    worst = min(sum(i[name][2] <= truth <= i[name][3] for i in intervals_of) / len(runs) for name, truth in TRUTH.items())
    return sds, covered, worst, z2, sum(r[which]["flagged"] for r in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacit")
    parser.add_argument("--out", required=True)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--epsilon", type=float, default=1)
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "runs.jsonl"
    done = {json.loads(line)["seed"]: json.loads(line) for line in open(kept)} if kept.exists() else {}
    for seed in range(1, args.runs + 1):
        if seed not in done:
            with tempfile.TemporaryDirectory() as folder:
                done[seed] = {"seed": seed, **one(args.tacit, seed, args.epsilon, pathlib.Path(folder))}
            with open(kept, "a") as file:
                file.write(json.dumps(done[seed]) + "\n")
    runs = [done[seed] for seed in range(1, args.runs + 1)]
    pooled = summarise(runs, "pooled")[0]
    lines = ["| | mean sd: " + ", ".join(TRUTH) + " | sd over that of the pooled fit | coverage of 90 % intervals (least of a coefficient) | mean z^2 | flagged |",
             "| --- | --- | --- | --- | --- | --- |"]
    for which, label in (("site0", "one site of 2000"), ("combined", "five sites of 2000, combined"), ("pooled", "one site of 10 000")):
        sds, covered, worst, z2, flagged = summarise(runs, which)
        ratio = sum(sds[name] / pooled[name] for name in TRUTH) / len(TRUTH)
        lines.append(f"| {label} | " + ", ".join(f"{sds[name]:.3f}" for name in TRUTH) + f" | {ratio:.2f} | {covered:.3f} ({worst:.2f}) | {z2:.2f} | {flagged} of {len(runs)} |")
    (out / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
