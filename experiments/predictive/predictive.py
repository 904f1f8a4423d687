#!/usr/bin/env python3
"""Do intervals of tacit predict hold what they are of? Expected responses of new rows, and new responses.

    predictive.py TACIT --out docs/results/predictive [--runs 100]

4000 records, epsilon 1, delta 1e-6, y ~ x + z + g by noise-aware, logistic and Poisson; truth, data and noise are new in every run, as are 25 new rows and
a response of each. 90 % intervals, q5 to q95, of the expected response and (Poisson) of the response.
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

N, N_NEW = 4000, 25
SCHEMA = ("columns:\n  x: {type: numeric, lower: -3, upper: 3}\n  z: {type: numeric, lower: -1, upper: 1}\n"
          "  g: {type: categorical, levels: [a, b]}\n  y: %s\n")
RESPONSE = {"bernoulli": "{type: binary}", "poisson": "{type: integer, lower: 0, upper: 15}"}


def draw_y(rng, family, eta):
    if family == "bernoulli":
        return int(rng.random() < 1 / (1 + math.exp(-eta)))
    count, product, least = -1, 1.0, math.exp(-math.exp(eta))
    while product > least:
        count, product = count + 1, product * rng.random()
    return min(count, 15)


def rows_of(rng, family, truth, n):
    rows = []
    for _ in range(n):
        x, z, g = max(-3, min(3, rng.gauss(0, 1))), rng.uniform(-1, 1), rng.choice("ab")
        eta = truth[0] + truth[1] * x + truth[2] * z + truth[3] * (g == "b")
        rows.append((x, z, g, draw_y(rng, family, eta), eta))
    return rows


def write(path, rows):
    path.write_text("x,z,g,y\n" + "".join(f"{x:.5f},{z:.5f},{g},{y}\n" for x, z, g, y, _ in rows))


def predict(tacit, folder, *more):
    out = folder / f"predicted{len(more)}.csv"
    subprocess.run([tacit, "predict", folder / "fit", "--newdata", folder / "new.csv", "--out", out, *more], check=True, capture_output=True)
    return [(float(row["q5"]), float(row["q95"])) for row in csv.DictReader(open(out))]


def one(tacit, seed, folder):
    found = {}
    for family in RESPONSE:
        rng = random.Random(f"{family} {seed}")
        truth = [rng.gauss(-0.3, 0.4), *(rng.gauss(0, 0.4) for _ in range(3))]
        (folder / "s.yaml").write_text(SCHEMA % RESPONSE[family])
        write(folder / "d.csv", rows_of(rng, family, truth, N))
        new = rows_of(rng, family, truth, N_NEW)
        write(folder / "new.csv", new)
        subprocess.run(["rm", "-rf", folder / "fit", folder / "predicted0.csv", folder / "predicted1.csv"], check=True)
        done = subprocess.run([tacit, "fit", "y ~ x + z + g", "--family", family, "--method", "noise-aware", "--data", folder / "d.csv",
                               "--schema", folder / "s.yaml", "--epsilon", "1",
                               "--delta", "1e-6", "--chains", "2", "--warmup", "300", "--draws", "500", "--quiet", "--yes", "--out", folder / "fit"],
                               capture_output=True, text=True)
        if done.returncode not in (0, 5):
            sys.exit(done.stderr)
        means = [1 / (1 + math.exp(-eta)) if family == "bernoulli" else math.exp(eta) for *_, eta in new]
        found[family] = statistics.fmean(low <= mean <= high for (low, high), mean in zip(predict(tacit, folder), means))
        if family == "poisson":
            found["poisson response"] = statistics.fmean(low <= y <= high
                                                         for (low, high), (_, _, _, y, _) in zip(predict(tacit, folder, "--response"), new))
    return found


def main():
    args = resumable.arguments(__doc__, 100).parse_args()
    runs = resumable.results(args, lambda seed, folder: {"covered": one(args.tacit, seed, folder)})
    lines = ["| 90 % intervals | coverage | standard error (between runs) |", "| --- | --- | --- |"]
    for which, label in (("bernoulli", "probability of a new row"), ("poisson", "expected count of a new row"),
                         ("poisson response", "count of a new row")):
        covered = [run["covered"][which] for run in runs]
        lines.append(f"| {label} | {statistics.fmean(covered):.3f} | {statistics.stdev(covered) / math.sqrt(len(covered)):.3f} |")
    resumable.write_table(args, lines)


if __name__ == "__main__":
    main()
