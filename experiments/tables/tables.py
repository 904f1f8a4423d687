#!/usr/bin/env python3
"""Coverage of logistic regressions on synthetic sets that are made from noisy margins: is the noise of the margins in the intervals?

    experiments/tables/tables.py build/src/cli/tacit --out docs/results/tables [--runs 40] [--sets 100]

Each run draws 3000 records of seven columns from a distribution whose log has main effects and pairs alone, releases nine tables of pairs at epsilon 0.5 and delta 1e-6, infers, makes sets,
fits y ~ x1 + x2 + x3 to each and combines by the rules of docs/releases.md. The same from margins whose noise is said to be next to none: the planted error.
Writes runs.jsonl (a line a run, resumed where it is) and prints the table of README.md.
"""
import itertools
import math
import pathlib
import random
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import resumable  # noqa: E402
from gauss_jordan import solve  # noqa: E402

LEVELS = {"y": 2, "x1": 2, "x2": 3, "x3": 2, "x4": 4, "x5": 2, "x6": 2}
NAMES = list(LEVELS)
MARGINS = ["y,x1", "y,x2", "y,x3", "x1,x2", "x1,x3", "x2,x3", "x3,x4", "x4,x5", "x5,x6"]
N = 3000
TERMS = 5
LEVEL = 0.9


def truth(rng):
    """Effects of pairs, the cells' probabilities and the coefficients of y, which are the effects that hold y."""
    effects = {(a, i): rng.gauss(0, 0.4) for a in NAMES for i in range(1, LEVELS[a])}
    for margin in MARGINS:
        a, b = margin.split(",")
        effects.update({(a, i, b, j): rng.gauss(0, 0.5) for i in range(1, LEVELS[a]) for j in range(1, LEVELS[b])})
    cells = list(itertools.product(*(range(LEVELS[name]) for name in NAMES)))
    weights = []
    for cell in cells:
        at = dict(zip(NAMES, cell))
        weights.append(math.exp(sum(value for key, value in effects.items() if all(at[key[k]] == key[k + 1] for k in range(0, len(key), 2)))))
    beta = [effects["y", 1], effects["y", 1, "x1", 1], effects["y", 1, "x2", 1], effects["y", 1, "x2", 2], effects["y", 1, "x3", 1]]
    return cells, weights, beta


def features(x1, x2, x3):
    return [1.0, float(x1 == 1), float(x2 == 1), float(x2 == 2), float(x3 == 1)]


def logistic(counts):
    """Maximum likelihood of y given the patterns of x1, x2, x3; None where it does not exist."""
    patterns = {}
    for (y, *x), n in counts.items():
        patterns.setdefault(tuple(x), [0, 0])[y] += n
    beta = [0.0] * TERMS
    for _ in range(30):
        score, info = [0.0] * TERMS, [[0.0] * TERMS for _ in range(TERMS)]
        for x, (no, yes) in patterns.items():
            f = features(*x)
            p = 1 / (1 + math.exp(-sum(b * v for b, v in zip(beta, f))))
            for i in range(TERMS):
                score[i] += f[i] * (yes - (no + yes) * p)
                for j in range(TERMS):
                    info[i][j] += f[i] * f[j] * (no + yes) * p * (1 - p)
        try:
            step, inverse = solve(info, score)
        except ZeroDivisionError:
            return None
        beta = [b + s for b, s in zip(beta, step)]
        if max(map(abs, beta)) > 15:
            return None
        if max(map(abs, step)) < 1e-9:
            return beta, [inverse[i][i] for i in range(TERMS)]
    return None


def t_quantile(p, df):
    """By the normal one and Hill's series [Hill 1970]; df is large here."""
    z = statistics.NormalDist().inv_cdf(p)
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)


def combine(fits):
    """For each coefficient: estimate, half width; and whether T was negative."""
    m = len(fits)
    out = []
    for k in range(TERMS):
        q = [beta[k] for beta, _ in fits]
        b, u = statistics.variance(q), statistics.fmean(variance[k] for _, variance in fits)
        between = (1 + 1 / m) * b
        t = between - u
        df = (m - 1) * (1 - u / between) ** 2
        out.append((statistics.fmean(q), t_quantile(0.5 + LEVEL / 2, max(df, 3)) * math.sqrt(t) if t > 0 else 0.0, t <= 0))
    return out


def read_sets(path):
    sets = {}
    with open(path) as file:
        columns = next(file).rstrip("\n").split(",")
        place = [columns.index(name) for name in ("y", "x1", "x2", "x3")]
        for line in file:
            word = line.rstrip("\n").split(",")
            key = (int(word[0]), *(int(word[p][1:]) for p in place))
            sets[key] = sets.get(key, 0) + 1
    apart = {}
    for (number, *cell), n in sets.items():
        apart.setdefault(number, {})[tuple(cell)] = n
    return apart


def call(tacit, *words):
    done = subprocess.run([tacit, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (0, 5), done.stderr
    return done.stdout


def analyse(tacit, folder, name, released, n_sets):
    call(tacit, "infer", "--statistic", released, "--out", folder / name, "--chains", 2, "--warmup", 400, "--draws", 500, "--quiet")
    call(tacit, "synthesize", folder / name, "--sets", n_sets, "--out", folder / f"{name}.csv")
    fits = [logistic(counts) for counts in read_sets(folder / f"{name}.csv").values()]
    return combine([fit for fit in fits if fit is not None]), fits[0], sum(fit is None for fit in fits)


def run(tacit, n_sets, seed, folder):
    rng = random.Random(seed)
    cells, weights, beta = truth(rng)
    rows = rng.choices(cells, weights, k=N)
    (folder / "d.csv").write_text(",".join(NAMES) + "\n" + "".join(",".join(f"l{x}" for x in row) + "\n" for row in rows))
    (folder / "d.yaml").write_text("columns:\n" + "".join(f"  {name}: {{type: categorical, levels: [{', '.join(f'l{i}' for i in range(n))}]}}\n"
                                                          for name, n in LEVELS.items()))
    call(tacit, "release", "--data", folder / "d.csv", "--schema", folder / "d.yaml", "--statistic", "margins",
         *(word for m in MARGINS for word in ("--margin", m)), "--mechanism",
         "discrete-gaussian", "--epsilon", 0.5, "--delta", "1e-6", "--out", folder / "m.yaml")
    ignored = re.sub(r"^scale: .*$", "scale: 0.5", (folder / "m.yaml").read_text(), flags=re.M)
    (folder / "ignored.yaml").write_text(ignored)
    aware, one, lost = analyse(tacit, folder, "aware", folder / "m.yaml", n_sets)
    naive, _, _ = analyse(tacit, folder, "ignored", folder / "ignored.yaml", n_sets)
    confidential = {}
    for row in rows:
        confidential[row[:4]] = confidential.get(row[:4], 0) + 1
    return {"sets": n_sets, "beta": beta, "aware": aware, "ignored": naive, "one": one, "lost": lost, "records": logistic(confidential)}


def table(runs):
    z = statistics.NormalDist().inv_cdf(0.5 + LEVEL / 2)
    lines = ["| 90 % intervals | coverage | mean width |", "| --- | --- | --- |"]

    def add(what, intervals):
        hits = [abs(q - b) <= half for q, half, b in intervals]
        lines.append(f"| {what} | {statistics.fmean(hits):.3f} | {statistics.fmean(2 * half for _, half, _ in intervals):.3f} |")
    single = {"records": "the records themselves, no privacy", "one": "one synthetic set, taken for data"}
    plain = {key: [(q, z * math.sqrt(v), b) for r in runs for q, v, b in zip(*r[key], r["beta"])] for key in single}
    add(single["records"], plain["records"])
    add(f"{runs[0]['sets']} synthetic sets, combined", [(q, half, b) for r in runs for (q, half, _), b in zip(r["aware"], r["beta"])])
    add(single["one"], plain["one"])
    add("planted error: combined, but the margins' noise ignored", [(q, half, b) for r in runs for (q, half, _), b in zip(r["ignored"], r["beta"])])
    negative = sum(bad for r in runs for _, _, bad in r["aware"])
    lines += ["", f"{len(runs)} runs, {TERMS * len(runs)} intervals of each kind; {negative} differences (1 + 1/M) b - u were negative (they count as not covering)."]
    return "\n".join(lines)


def main():
    parser = resumable.arguments(__doc__, 40)
    parser.add_argument("--sets", type=int, default=100)
    args = parser.parse_args()
    print(table(resumable.results(args, lambda seed, folder: run(args.tacit, args.sets, seed, folder))))


if __name__ == "__main__":
    main()
