#!/usr/bin/env python3
"""How wide noise-aware intervals are on real data: posterior sds over non-private ones, by budget and relation, beside the best that one score could do.

    experiments/widths.py build/src/cli/tacit DATA --out FOLDER [--runs N] [--sets a,b] [--epsilon 0.5,1,2]

DATA is the folder with flchain.csv and the others (sets that it lacks are left out; flchain comes from data/flchain). N fits (default 50) of the same records with fresh
noise, for each set, relation and epsilon, each a line of FOLDER/runs.jsonl; fits that are there are not made again. Written to FOLDER/table.md: means over fits
without a problem flag of sd over the non-private one (of counts the sandwich's), averaged over coefficients; the root mean square over coefficients of (mean over fits -
non-private estimate) in non-private sds; and the limit: one score with the whole budget at the estimate itself, in the metric of the information itself, its weights the best. The data are public;
many fits of private data would each spend their epsilon.
"""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from linear_real import derived

ROOT = pathlib.Path(__file__).resolve().parent.parent
DELTA = 1e-6


def number(name, lower, upper, of=float):
    return name, (lower, upper), lambda r: min(max(of(r[name]), lower), upper)


def level(column, value):
    return f"{column}_{value}", None, lambda r: int(r[column] == value)


def levels(column, *values):
    return [level(column, v) for v in values]


def flag(name):
    return name, None, lambda r: int(float(r[name]))


def logarithm(name, column, lower, upper):
    return name, (math.log(lower), math.log(upper)), lambda r: math.log(min(max(float(r[column]), lower), upper))


# family, response with its bounds, features, which rows
SETS = {
    "flchain": ("bernoulli", flag("death"), [number("age", 50, 105), level("sex", "M"), logarithm("logflc", "flc", 0.3, 30)], lambda r: True),
    "arrests": ("bernoulli", flag("released"), [number("age", 12, 80), level("sex", "male"), level("employed", "yes"), level("citizen", "yes"), number("checks", 0, 6),
                                                level("colour", "white")], lambda r: True),
    "nhanes_cholesterol": ("bernoulli", flag("high_cholesterol"), [level("sex", "male"), *levels("age_group", "20-39", "40-59", "60+"),
                                                                   *levels("race", "non_hispanic_white", "non_hispanic_black", "other")], lambda r: r["high_cholesterol"] != ""),
    "ucb_admissions": ("bernoulli", flag("admitted"), [level("gender", "male"), *levels("department", "B", "C", "D", "E", "F")], lambda r: True),
    "doctor_visits": ("poisson", number("mdvis", 0, 30, lambda x: int(float(x))), [number("lncoins", 0, 4.65), flag("idp"), number("lpi", 0, 7.2), number("fmde", 0, 8.4),
                                                                                 number("disea", 0, 60), flag("hlthg"), flag("hlthf"), flag("hlthp")], lambda r: True),
    "radon": ("gaussian", number("log_radon", -3, 6), [number("log_uranium", -2.5, 1.5), flag("floor_measure")], lambda r: r["floor_measure"] in ("0", "1")),
    "earnings": ("gaussian", number("log_earn", 5, 13), [number("height", 55, 80), flag("male")], lambda r: True),
    "kidiq": ("gaussian", number("kid_score", 0, 200), [flag("mom_hs"), number("mom_iq", 60, 150)], lambda r: True),
    "nes1972": ("gaussian", number("partyid7", 1, 7), [number("real_ideo", 1, 7), number("race_adj", 1, 2), flag("age_30"), flag("age_45"), flag("age_65"), number("educ1", 1, 4),
                                                       number("gender", 1, 2), number("income", 1, 5)], lambda r: True),
    "mnist_7v9_pca50_train": ("bernoulli", flag("is_nine"), [number(f"pc{i}", -7 if i < 10 else -4, 7 if i < 10 else 4) for i in range(1, 51)], lambda r: True),
}


def dot(a, b):
    return sum(map(float.__mul__, a, b))


def inverse(a):
    n = len(a)
    rows = [list(r) + [float(i == k) for k in range(n)] for i, r in enumerate(a)]
    for k in range(n):
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k:
                f = rows[i][k]
                rows[i] = [v - f * w for v, w in zip(rows[i], rows[k])]
    return [r[n:] for r in rows]


def gram(x, weights):
    d = len(x[0])
    out = [[0.0] * d for _ in range(d)]
    for row, w in zip(x, weights):
        for i in range(d):
            wi = w * row[i]
            line = out[i]
            for j in range(i + 1):
                line[j] += wi * row[j]
    return [[out[max(i, j)][min(i, j)] for j in range(d)] for i in range(d)]


def product(a, b):
    columns = list(zip(*b))
    return [[dot(r, c) for c in columns] for r in a]


def moments(family, eta):
    if family == "bernoulli":
        m = 1 / (1 + math.exp(-eta))
        return m, m * (1 - m)
    return (math.exp(eta), math.exp(eta)) if family == "poisson" else (eta, 1.0)


def exact(family, x, y):
    """Estimates, sds (of counts the sandwich's), information and the residuals' variance over that of the model."""
    d = len(x[0])
    theta = [0.0] * d
    theta[0] = math.log(statistics.mean(y)) if family == "poisson" else 0.0
    for _ in range(1 if family == "gaussian" else 8):
        at = [moments(family, dot(theta, r)) for r in x]
        cov = inverse(gram(x, [v for _, v in at]))
        score = [sum(r[j] * (v - m) for r, v, (m, _) in zip(x, y, at)) for j in range(d)]
        theta = [t + dot(row, score) for t, row in zip(theta, cov)]
    residuals = [v - moments(family, dot(theta, r))[0] for r, v in zip(x, y)]
    if family == "gaussian":
        excess = sum(e * e for e in residuals) / (len(x) - d)
        return theta, [math.sqrt(excess * cov[j][j]) for j in range(d)], excess
    if family == "poisson":
        middle = product(product(cov, gram(x, [e * e for e in residuals])), cov)
        return theta, [math.sqrt(middle[j][j]) for j in range(d)], None
    return theta, [math.sqrt(cov[j][j]) for j in range(d)], None


def gaussian_mu(epsilon):
    below = lambda z: 0.5 * math.erfc(-z / math.sqrt(2))
    low, high = 1e-4, 20.0
    for _ in range(80):
        mu = 0.5 * (low + high)
        spent = below(-epsilon / mu + mu / 2) - math.exp(epsilon) * below(-epsilon / mu - mu / 2)
        low, high = (mu, high) if spent < DELTA else (low, mu)
    return low


def cholesky(a):
    n = len(a)
    lower = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - dot(lower[i][:j], lower[j][:j]) if j else a[i][j]
            lower[i][j] = math.sqrt(rest) if i == j else rest / lower[j][j]
    return lower


def limit(family, x, theta, excess, upper, n, epsilon, relation):
    """Ratio of sds, averaged over coefficients, of one score sum w L x (y - m) with the whole budget at theta, L'L the inverse information of a record, the best of its radii."""
    d, scale = len(x[0]), n / len(x)
    at = [moments(family, dot(theta, r)) for r in x]
    information = gram(x, [v / len(x) for _, v in at])
    whiten = list(map(list, zip(*inverse(list(map(list, zip(*cholesky(information))))))))  # L^-1, lower
    white = [[dot(line, r) for line in whiten] for r in x]
    reach = 3.5 * math.sqrt(excess) if family == "gaussian" else upper
    share = [1.0 if family == "gaussian" else max(m, upper - m) / upper for m, _ in at]
    norms = [math.sqrt(dot(u, u)) * q for u, q in zip(white, share)]
    v = [excess or 1.0] * len(x) if family == "gaussian" else [s for _, s in at]
    factor, best = (2 if relation == "substitute" else 1) * reach / gaussian_mu(epsilon), math.inf
    for k in range(12):
        radius = 0.3 * math.sqrt(d) * 1.3 ** k
        w = [min(1.0, radius / a) for a in norms]
        slope = gram(white, [scale * a * b for a, (_, b) in zip(w, at)])
        cov = gram(white, [scale * a * a * b for a, b in zip(w, v)])
        for i in range(d):
            cov[i][i] += (factor * radius) ** 2
        back = product(list(map(list, zip(*whiten))), inverse(slope))
        total = product(product(back, cov), list(map(list, zip(*back))))
        plain = inverse(information)
        best = min(best, statistics.mean(math.sqrt(total[j][j] / ((excess or 1.0) * plain[j][j] / n)) for j in range(d)))
    return best


def fit(tacit, folder, family, formula, n, relation, epsilon, seed):
    words = ["fit", formula, "--family", family, "--method", "noise-aware", "--data", folder + "/data.csv", "--schema", f"{folder}/{relation}.yaml", "--quiet", "--out",
             folder + "/fit", "--delta", str(DELTA), "--epsilon", str(epsilon), "--seed", str(seed), "--n-public", str(n), "--chains", "2", "--warmup", "200", "--draws", "400"]
    result = subprocess.run([tacit, *words], capture_output=True, text=True, check=False)
    if not pathlib.Path(folder + "/fit").exists():
        if result.returncode != 4:
            sys.exit(result.stderr)
        return {"refused": True}
    flagged = subprocess.run([tacit, "diagnose", folder + "/fit"], capture_output=True, check=False).returncode == 5
    parameters = json.loads(subprocess.run([tacit, "summary", folder + "/fit", "--json"], check=True, capture_output=True).stdout)["parameters"]
    subprocess.run(["rm", "-r", folder + "/fit"], check=True)
    return {"flagged": flagged, "mean": [p["mean"] for p in parameters], "sd": [p["sd"] for p in parameters], "seed": seed}


def read(folder, name):
    path = ROOT / "data/flchain/flchain.csv" if name == "flchain" else folder / f"{name}.csv"
    if not path.exists():
        return None
    with open(path, encoding="utf-8") as file:
        return [derived(r) for r in csv.DictReader(file) if SETS[name][3](r)]


def write_data(work, name, rows):
    family, response, features, _ = SETS[name]
    columns = [response, *features]
    with open(work + "/data.csv", "w", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([c[0] for c in columns])
        writer.writerows([[c[2](r) for c in columns] for r in rows])
    names = {c[0]: c[0] if c[0].isidentifier() else f"x{i}" for i, c in enumerate(columns)}  # "age_group_60+"
    text = pathlib.Path(work + "/data.csv").read_text(encoding="utf-8")
    pathlib.Path(work + "/data.csv").write_text(",".join(names.values()) + text[text.index("\n"):], encoding="utf-8")
    for relation in ("substitute", "add-remove"):
        lines = [f"relation: {relation}", "columns:"]
        for c in columns:
            kind = "binary" if c[1] is None else f"{'integer' if family == 'poisson' and c is response else 'numeric'}, lower: {c[1][0]}, upper: {c[1][1]}"
            lines.append(f"  {names[c[0]]}: {{type: {kind}}}")
        pathlib.Path(f"{work}/{relation}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return names[response[0]] + " ~ " + " + ".join(names[c[0]] for c in features)


def summarise(name, relation, epsilon, runs, plain, best):
    made = [r for r in runs if "sd" in r]
    if not made:
        return f"| {name} | {relation} | {epsilon} | {len(runs)} | refused | | | | {best:.2f} |"
    good = [r for r in made if not r["flagged"] and r["sd"][0] is not None]
    theta, sds = plain
    d = len(theta)
    if not good:
        return f"| {name} | {relation} | {epsilon} | {len(made)} | {len(made)} | | | | {best:.2f} |"
    ratios = [statistics.mean(r["sd"][j] for r in good) / sds[j] for j in range(d)]
    shift = math.sqrt(statistics.mean(((statistics.mean(r["mean"][j] for r in good) - theta[j]) / sds[j]) ** 2 for j in range(d)))
    each = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return f"| {name} | {relation} | {epsilon} | {len(made)} | {len(made) - len(good)} | {statistics.mean(ratios):.2f} | {each} | {shift:.2f} | {best:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacit")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--epsilon", default="0.5,1,2")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "runs.jsonl"
    done = [json.loads(line) for line in open(kept)] if kept.exists() else []
    lines = ["| data (rows, coefficients) | relation | epsilon | fits | flagged | sd ratio | of coefficients | shift | limit |", "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name in args.sets.split(","):
        rows = read(args.data, name)
        if rows is None:
            continue
        family, response, features, _ = SETS[name]
        x, y = [[1.0] + [float(c[2](r)) for c in features] for r in rows], [float(response[2](r)) for r in rows]
        theta, sds, excess = exact(family, x, y)
        some = x[:: max(1, len(x) // 3000)]
        with tempfile.TemporaryDirectory() as work, open(kept, "a") as file:
            formula = write_data(work, name, rows)
            for relation in ("substitute", "add-remove"):
                for epsilon in map(float, args.epsilon.split(",")):
                    key = {"set": name, "relation": relation, "epsilon": epsilon}
                    runs = [r for r in done if all(r[k] == v for k, v in key.items())]
                    while len(runs) < args.runs and not (runs and "refused" in runs[-1]):
                        runs.append({**key, **fit(args.tacit, work, family, formula, len(x), relation, epsilon, len(runs) + 1)})
                        file.write(json.dumps(runs[-1]) + "\n")
                        file.flush()
                    best = limit(family, some, theta, excess, response[1][1] if response[1] else 1, len(x), epsilon, relation)
                    lines.append(summarise(f"{name} ({len(x)}, {len(theta)})", relation, epsilon, runs, (theta, sds), best))
                    print(lines[-1], flush=True)
    (args.out / "table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
