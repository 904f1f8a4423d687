#!/usr/bin/env python3
"""Do regressions on synthetic sets, combined by the stated rules, cover the truth?

    synthetic.py TACIT --out docs/results/synthetic [--runs 30] [--family gaussian]

Logistic regression (or a linear one, with residuals of sd 1.5), 4000 records, epsilon 2, delta 1e-6; 20 sets of 4000 rows each (tacit synthesize), a maximum-likelihood fit to each, combined
by [Raghunathan2003]: mean q of the estimates, variance T = (1 + 1/M) b - u of them. Beside it: one set taken for data, and the fit itself.
"""
import csv
import io
import math
import pathlib
import random
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import resumable  # noqa: E402
from gauss_jordan import solve  # noqa: E402

TRUTH = {"Intercept": -0.5, "x": 0.8, "z": -0.6, "gb": 0.5}
SCHEMA = ("columns:\n  x: {type: numeric, lower: -3, upper: 3}\n  z: {type: numeric, lower: -1, upper: 1}\n"
          "  g: {type: categorical, levels: [a, b]}\n  y: %s\n")
RESPONSE = {"bernoulli": "{type: binary}", "gaussian": "{type: numeric, lower: -12, upper: 12}"}
N, M = 4000, 20


def simulate(rng, family):
    rows = []
    for _ in range(N):
        x, z, g = max(-3, min(3, rng.gauss(0, 1))), rng.uniform(-1, 1), rng.choice("ab")
        eta = TRUTH["Intercept"] + TRUTH["x"] * x + TRUTH["z"] * z + TRUTH["gb"] * (g == "b")
        y = f"{rng.gauss(eta, 1.5):.5f}" if family == "gaussian" else int(rng.random() < 1 / (1 + math.exp(-eta)))
        rows.append(f"{x:.5f},{z:.5f},{g},{y}\n")
    return rows


def logistic(rows):
    """Maximum likelihood: estimates and their variances."""
    data = [((1.0, float(r["x"]), float(r["z"]), float(r["g"] == "b")), float(r["y"])) for r in rows]
    beta = [0.0] * 4
    for _ in range(25):
        score, info = [0.0] * 4, [[0.0] * 4 for _ in range(4)]
        for x, y in data:
            p = 1 / (1 + math.exp(-sum(b * v for b, v in zip(beta, x))))
            w = p * (1 - p)
            for i in range(4):
                score[i] += x[i] * (y - p)
                wx = w * x[i]
                for j in range(i + 1):
                    info[i][j] += wx * x[j]
        for i in range(4):
            for j in range(i):
                info[j][i] = info[i][j]
        step, inverse = solve(info, score)
        beta = [b + s for b, s in zip(beta, step)]
        if max(map(abs, step)) < 1e-8:
            break
    return beta, [inverse[i][i] for i in range(4)]


def t_quantile(nu, z=1.6448536269514722):
    """0.95 quantile of Student's t, Cornish-Fisher; exact enough from 3 degrees of freedom."""
    return z + (z**3 + z) / (4 * nu) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2) + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * nu**3)


def combine(estimates, variances):
    """Mean and half width of the 90 % interval, by the rules of docs/releases.md."""
    q, b, u = statistics.fmean(estimates), statistics.variance(estimates), statistics.fmean(variances)
    total = (1 + 1 / M) * b - u
    if total <= 0:  # fewer sets than the difference needs: the larger of what is known
        return q, t_quantile(M - 1) * math.sqrt(b), True
    nu = max((M - 1) * (1 - u / ((1 + 1 / M) * b)) ** 2, 3)
    return q, t_quantile(nu) * math.sqrt(total), False


def run(tacit, *words):
    done = subprocess.run([tacit, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 5):
        sys.exit(f"{words}: {done.stderr}")


def linear(rows):
    """Least squares: estimates and their variances."""
    data = [((1.0, float(r["x"]), float(r["z"]), float(r["g"] == "b")), float(r["y"])) for r in rows]
    square = [[sum(x[i] * x[j] for x, _ in data) for j in range(4)] for i in range(4)]
    beta, inverse = solve(square, [sum(x[i] * y for x, y in data) for i in range(4)])
    left = sum((y - sum(b * v for b, v in zip(beta, x))) ** 2 for x, y in data) / (len(data) - 4)
    return beta, [left * inverse[i][i] for i in range(4)]


def one(tacit, family, seed, folder):
    rng = random.Random(seed)
    (folder / "s.yaml").write_text(SCHEMA % RESPONSE[family])
    (folder / "d.csv").write_text("x,z,g,y\n" + "".join(simulate(rng, family)))
    run(tacit, "fit", "y ~ x + z + g", "--family", family, "--schema", folder / "s.yaml", "--data", folder / "d.csv", "--epsilon", 2,
        "--delta", "1e-6",
        "--quiet", "--out", folder / "fit")
    run(tacit, "synthesize", folder / "fit", "--rows", N, "--sets", M, "--seed", seed, "--out", folder / "rows.csv")
    sets = {}
    for row in csv.DictReader(io.StringIO((folder / "rows.csv").read_text())):
        sets.setdefault(row["synthetic_set"], []).append(row)
    fits = [(linear if family == "gaussian" else logistic)(rows) for rows in sets.values()]
    summary = {row["name"].removeprefix("b_"): row for row in csv.DictReader(open(folder / "fit/summary.csv"))}
    found = {}
    for j, name in enumerate(TRUTH):
        q, half, is_negative = combine([f[0][j] for f in fits], [f[1][j] for f in fits])
        naive = 1.6448536269514722 * math.sqrt(fits[0][1][j])
        found[name] = {"combined": [q - half, q + half], "negative": is_negative, "one": [fits[0][0][j] - naive, fits[0][0][j] + naive],
                       "fit": [float(summary[name]["q5"]), float(summary[name]["q95"])]}
    return found


def main():
    parser = resumable.arguments(__doc__, 30)
    parser.add_argument("--family", choices=list(RESPONSE), default="bernoulli")
    args = parser.parse_args()
    runs = resumable.results(args, lambda seed, folder: {"found": one(args.tacit, args.family, seed, folder)})
    cells = [(run["found"][name], truth) for run in runs for name, truth in TRUTH.items()]
    lines = ["| 90 % intervals | coverage | mean width |", "| --- | --- | --- |"]
    for which, label in (("fit", "the fit's own"), ("combined", f"{M} synthetic sets, combined"), ("one", "one synthetic set, taken for data")):
        covered = statistics.fmean(c[which][0] <= truth <= c[which][1] for c, truth in cells)
        width = statistics.fmean(c[which][1] - c[which][0] for c, _ in cells)
        lines.append(f"| {label} | {covered:.3f} | {width:.3f} |")
    lines.append(f"\n{sum(c['negative'] for c, _ in cells)} of {len(cells)} differences (1 + 1/M) b - u were negative.")
    resumable.write_table(args, lines)


if __name__ == "__main__":
    main()
