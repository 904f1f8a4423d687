#!/usr/bin/env python3
"""Linear regression by noise-aware on real data: where private fits lie beside least squares on the same records.

    experiments/linear_real.py build/src/cli/tacit DATA [REPEATS [EPSILON ...]]

DATA is the folder with radon.csv, earnings.csv, kidiq.csv and nes1972.csv. For every data set and epsilon, over REPEATS fits (default 20) of the
same records with fresh noise, over coefficients: the largest shift of the mean over fits from least squares, in standard errors of that; the
median of sd over standard error; the share of 90 % intervals that hold the least squares estimate, and of those for sigma; flagged fits. The data are public; many fits of private
data would each spend their epsilon.
"""
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

SETS = {
    "radon": ("log_radon ~ log_uranium + floor_measure", lambda r: r["floor_measure"] in ("0", "1"),
              "log_radon: {type: numeric, lower: -3, upper: 6}, log_uranium: {type: numeric, lower: -2.5, upper: 1.5}, "
              "floor_measure: {type: binary}"),
    "earnings": ("log_earn ~ height + male", lambda r: True,
                 "log_earn: {type: numeric, lower: 5, upper: 13}, height: {type: numeric, lower: 55, upper: 80}, male: {type: binary}"),
    "kidiq": ("kid_score ~ mom_hs + mom_iq", lambda r: True,
              "kid_score: {type: numeric, lower: 0, upper: 200}, mom_hs: {type: binary}, mom_iq: {type: numeric, lower: 60, upper: 150}"),
    "nes1972": ("partyid7 ~ real_ideo + race_adj + age_30 + age_45 + age_65 + educ1 + gender + income", lambda r: True,
                "partyid7: {type: numeric, lower: 1, upper: 7}, real_ideo: {type: numeric, lower: 1, upper: 7}, "
                "race_adj: {type: numeric, lower: 1, upper: 2}, age_30: {type: binary}, age_45: {type: binary}, age_65: {type: binary}, "
                "educ1: {type: numeric, lower: 1, upper: 4}, gender: {type: numeric, lower: 1, upper: 2}, "
                "income: {type: numeric, lower: 1, upper: 5}"),
}


def derived(row):
    if "earn" in row:
        row["log_earn"] = math.log(float(row["earn"]))
    for level, name in (("2", "age_30"), ("3", "age_45"), ("4", "age_65")):
        row[name] = int(row.get("age_discrete") == level)
    return row


def least_squares(x, y):
    """Estimates and standard errors, sigma last."""
    n, d = len(x), len(x[0])
    a = [[sum(r[i] * r[j] for r in x) for j in range(d)] + [sum(r[i] * v for r, v in zip(x, y))] + [float(i == k) for k in range(d)]
         for i in range(d)]
    for k in range(d):
        a[k] = [v / a[k][k] for v in a[k]]
        for i in range(d):
            if i != k:
                a[i] = [v - a[i][k] * w for v, w in zip(a[i], a[k])]
    beta = [row[d] for row in a]
    sigma = math.sqrt(sum((v - sum(b * z for b, z in zip(beta, r))) ** 2 for r, v in zip(x, y)) / (n - d))
    return beta + [sigma], [sigma * math.sqrt(a[i][d + 1 + i]) for i in range(d)] + [sigma / math.sqrt(2 * n)]


def fit(tacit, formula, data, schema, epsilon, seed):
    """Parameters as in summary.json, or None where the budget is refused; and whether a problem was flagged."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["fit", formula, "--family", "gaussian", "--method", "noise-aware", "--data", data, "--schema", schema, "--quiet", "--out", folder
                 + "/fit",
                 "--delta", "1e-6", "--epsilon", str(epsilon), "--seed", str(seed), "--chains", "2", "--warmup", "200", "--draws", "400"]
        status = subprocess.run([tacit, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
        if not pathlib.Path(folder + "/fit").exists():
            return None, status
        flagged = subprocess.run([tacit, "diagnose", folder + "/fit"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 check=False).returncode == 5
        return json.loads(subprocess.run([tacit, "summary", folder + "/fit", "--json"], check=True,
                                         capture_output=True).stdout)["parameters"], flagged


def row_of(tacit, name, formula, data, schema, exact, epsilon, repeats):
    fits, n_flagged = [], 0
    for seed in range(repeats):
        parameters, flagged = fit(tacit, formula, data, schema, epsilon, seed)
        if parameters is None:
            return f"| {name} | {epsilon} | refused | | | | |"
        n_flagged += flagged
        if parameters[0]["sd"] is not None:  # else it gives no intervals
            fits.append(parameters)
    if not fits:
        return f"| {name} | {epsilon} | no intervals | | | | {n_flagged} |"
    estimates, errors = exact
    d = len(estimates) - 1
    shifts = [(statistics.mean(f[j]["mean"] for f in fits) - estimates[j]) / errors[j] for j in range(d)]
    ratio = statistics.median(statistics.mean(f[j]["sd"] for f in fits) / errors[j] for j in range(d))
    hits = [[f[j]["q5"] <= estimates[j] <= f[j]["q95"] for f in fits] for j in range(d + 1)]
    covered = statistics.mean(statistics.mean(h) for h in hits[:d])
    return f"| {name} | {epsilon} | {max(shifts, key=abs):+.2f} | {ratio:.2f} | {covered:.2f} | {statistics.mean(hits[d]):.2f} | {n_flagged} |"


def main():
    tacit, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    budgets = [float(e) for e in sys.argv[4:]] or [0.5, 1.0, 2.0, 4.0]
    print("| data | epsilon | largest shift | sd ratio | coverage | of sigma | flagged |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name, (formula, wanted, columns) in SETS.items():
        response, names = formula.split(" ~ ")[0], formula.split(" ~ ")[1].split(" + ")
        with open(folder / f"{name}.csv", encoding="utf-8") as file:
            rows = [derived(r) for r in csv.DictReader(file) if wanted(r)]
        exact = least_squares([[1.0] + [float(r[c]) for c in names] for r in rows], [float(r[response]) for r in rows])
        with tempfile.TemporaryDirectory() as work:
            data, schema = work + "/data.csv", work + "/schema.yaml"
            pathlib.Path(schema).write_text("columns: {" + columns + "}\nrelation: substitute\n", encoding="utf-8")
            with open(data, "w", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow([response] + names)
                writer.writerows([r[c] for c in [response] + names] for r in rows)
            for epsilon in budgets:
                print(row_of(tacit, name, formula, data, schema, exact, epsilon, repeats), flush=True)


if __name__ == "__main__":
    main()
