#!/usr/bin/env python3
"""Linear regressions of records that no normal error fits: private fits beside least squares of the same records.

    experiments/linear_agreement.py build/src/cli/tacit [DATA] --out FOLDER [--runs N] [--kinds a,b]
                                    [--epsilon .5,1] [--relation add-remove]

DATA is the folder with earnings.csv, patient_labs.csv, doctor_visits.csv and flchain.csv; without it those kinds
are left out. N fits (default 10) of the same records, as the schema bounds them, with fresh noise, for each kind
and epsilon, delta 1e-6; each is a line of FOLDER/runs.jsonl, and fits that are there are not made again.
FOLDER/table.md is written from them. It needs numpy.

The target: the least squares estimate with the sandwich's standard errors, and for sigma the root mean square
residual with its standard error by the residuals' fourth moment. z: (private mean - estimate) over the private sd,
its mean square over the fits that are answers: status 0 and nothing that `tacit diagnose` calls a problem.
The data are public or simulated; many fits of private data would each spend their epsilon.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np

DELTA = 1e-6
KINDS = {}


def kind(words, **bounds):
    """A function of (generator, DATA) that gives the columns, as a kind; the first column is the response, the others are the features. bounds: (lower, upper), or None for 0 and 1."""

    def register(make):
        KINDS[make.__name__] = (words, bounds, make)
        return make

    return register


def coin(r, n, p):
    return (r.random(n) < p) * 1.0


def normal(r, n):
    return np.clip(r.normal(size=n), -4, 4)


@kind("right model, 5 000 rows", y=(-6, 6), a=(-4, 4), b=(-4, 4), g=None)
def right(r, _):
    a, b, g = normal(r, 5000), normal(r, 5000), coin(r, 5000, 0.4)
    return 0.3 + 0.4 * a - 0.25 * b + 0.3 * g + r.normal(size=5000), a, b, g


@kind("right model, 1 000 rows", y=(-6, 6), a=(-4, 4), g=None)
def right_few(r, _):
    a, g = normal(r, 1000), coin(r, 1000, 0.5)
    return 0.3 + 0.4 * a + 0.3 * g + r.normal(size=1000), a, g


@kind("right model, 300 rows", y=(-6, 6), a=(-4, 4))
def right_tiny(r, _):
    a = normal(r, 300)
    return 0.3 + 0.4 * a + r.normal(size=300), a


@kind("right model, 50 000 rows, 12 features", y=(-8, 8), **{f"x{j}": (-4, 4) for j in range(12)})
def right_many(r, _):
    x = [normal(r, 50000) for _ in range(12)]
    return 0.2 + sum(0.15 * (-1) ** j * v for j, v in enumerate(x)) + r.normal(size=50000), *x


@kind("right model, bounds ten times too wide", y=(-60, 60), a=(-40, 40), b=(-40, 40), g=None)
def wide(r, _):
    a, b, g = normal(r, 6000), normal(r, 6000), coin(r, 6000, 0.5)
    return 0.3 + 0.4 * a - 0.25 * b + 0.3 * g + r.normal(size=6000), a, b, g


@kind("right model, an indicator of 3 %", y=(-5, 6), a=(-4, 4), g=None)
def rare3(r, _):
    a, g = normal(r, 4000), coin(r, 4000, 0.03)
    return 0.3 + 0.4 * a + 0.6 * g + r.normal(size=4000), a, g


@kind("right model, an indicator of 1 %", y=(-5, 6), a=(-4, 4), g=None)
def rare1(r, _):
    a, g = normal(r, 12000), coin(r, 12000, 0.01)
    return 0.3 + 0.4 * a + 0.6 * g + r.normal(size=12000), a, g


@kind("errors of a t with 3 degrees of freedom", y=(-30, 30), a=(-4, 4), g=None)
def t3(r, _):
    a, g = normal(r, 9000), coin(r, 9000, 0.5)
    return 1 + 0.5 * a + 0.3 * g + r.standard_t(3, size=9000), a, g


@kind(
    "costs: zero for an eighth, else lognormal with a spread that grows",
    y=(0, 100000),
    age=(18, 95),
    ill=(0, 8),
)
def costs(r, _):
    age, ill = r.uniform(18, 95, 14000), np.clip(r.poisson(0.8, 14000), 0, 8)
    y = np.exp(5.5 + 0.015 * age + 0.35 * ill + (0.7 + 0.08 * ill) * r.normal(size=14000))
    return y * (r.random(14000) > 0.125), age, ill


@kind("lengths of stay: negative binomial of shape .6", y=(0, 90), age=(18, 95), urgent=None)
def stays(r, _):
    age, urgent = r.uniform(18, 95, 11000), coin(r, 11000, 0.35)
    return (
        r.poisson(np.exp(0.6 + 0.012 * (age - 50) + 0.5 * urgent) * r.gamma(0.6, 1 / 0.6, 11000)),
        age,
        urgent,
    )


@kind("incomes: Pareto tail above a lognormal", y=(0, 1000000), school=(0, 20), male=None)
def incomes(r, _):
    n = 15000
    school, male = np.clip(np.round(r.normal(12, 3, n)), 0, 20), coin(r, n, 0.5)
    y = np.exp(9 + 0.09 * school + 0.25 * male + 0.6 * r.normal(size=n))
    return np.where(r.random(n) < 0.03, y * (1 + r.pareto(1.8, n)) * 2, y), school, male


@kind("earnings as they are, zeros included (public data)", earn=(0, 200000), height=(55, 80), male=None)
def earnings(_, data):
    return table(data, "earnings.csv", "earn", "height", "male")


@kind("two thirds zeros, else gamma", y=(0, 40), a=(-4, 4), b=(-4, 4))
def zeros(r, _):
    a, b = normal(r, 9000), normal(r, 9000)
    return (
        np.where(r.random(9000) < 1 / (1 + np.exp(0.8 - 0.5 * a)), r.gamma(1.5, 2 * np.exp(0.25 * b)), 0),
        a,
        b,
    )


@kind("answers of 1 to 5, most at the top", y=(1, 5), a=(-4, 4), g=None)
def likert(r, _):
    a, g = normal(r, 4000), coin(r, 4000, 0.3)
    return np.round(4.2 + 0.5 * a - 0.4 * g + 1.2 * r.normal(size=4000)), a, g


@kind("marks that pile up at the bound", y=(0, 100), a=(-4, 4))
def marks(r, _):
    a = normal(r, 5000)
    return np.minimum(88 + 8 * a + 15 * r.normal(size=5000), 100), a


@kind("a code 999 in .3 % of the responses", y=(0, 999), a=(-4, 4), g=None)
def code(r, _):
    a, g = normal(r, 12000), coin(r, 12000, 0.5)
    y = 60 + 5 * a + 4 * g + 10 * r.normal(size=12000)
    return np.where(r.random(12000) < 0.003, 999, y), a, g


@kind("1 % of responses typed ten times", y=(0, 1200), a=(-4, 4), g=None)
def typed(r, _):
    a, g = normal(r, 12000), coin(r, 12000, 0.5)
    y = 70 + 6 * a + 5 * g + 10 * r.normal(size=12000)
    return np.where(r.random(12000) < 0.01, 10 * y, y), a, g


@kind("zeros for .5 % that are missing", y=(0, 400), a=(-4, 4), g=None)
def missing(r, _):
    a, g = normal(r, 10000), coin(r, 10000, 0.5)
    y = 250 + 6 * a + 4 * g + 10 * r.normal(size=10000)
    return np.where(r.random(10000) < 0.005, 0, y), a, g


@kind("errors of two humps", y=(-12, 12), a=(-4, 4), b=(-4, 4))
def humps(r, _):
    a, b = normal(r, 6000), normal(r, 6000)
    return 0.5 * a - 0.3 * b + np.where(r.random(6000) < 0.4, -2, 1.5) + 0.7 * r.normal(size=6000), a, b


@kind("1 % of errors five times as wide", y=(-30, 30), a=(-4, 4), b=(-4, 4))
def wider(r, _):
    a, b = normal(r, 8000), normal(r, 8000)
    return 0.5 * a - 0.3 * b + r.normal(size=8000) * np.where(r.random(8000) < 0.01, 5, 1), a, b


@kind("a spread that grows with a feature", y=(-25, 25), a=(0, 10), b=(-4, 4))
def grows(r, _):
    a, b = np.clip(r.gamma(2, 1, 7000), 0, 10), normal(r, 7000)
    return 0.4 * a - 0.3 * b + r.normal(size=7000) * (0.4 + 0.5 * a), a, b


@kind("exponential errors, five features", y=(-6, 20), **{name: (-4, 4) for name in "abcde"})
def exponential(r, _):
    x = [normal(r, 9000) for _ in range(5)]
    return sum(0.3 * (-1) ** j * v for j, v in enumerate(x)) + r.exponential(1, 9000), *x


@kind("a code of -9 for 2 %", y=(-10, 60), a=(-4, 4), g=None)
def minus_nine(r, _):
    a, g = normal(r, 9000), coin(r, 9000, 0.5)
    y = 30 + 2 * a + 1.5 * g + 4 * r.normal(size=9000)
    return np.where(r.random(9000) < 0.02, -9, y), a, g


@kind("20 of 20 000 records at a bound, all of one group", y=(-30, 30), a=(-4, 4), g=None)
def heap(r, _):
    a, g = normal(r, 20000), coin(r, 20000, 0.5)
    y = 0.3 + 0.4 * a + 0.3 * g + r.normal(size=20000)
    y[np.flatnonzero(g)[:20]] = 30
    return y, a, g


@kind("a feature that is zero for nine of ten, else lognormal", y=(-8, 12), x=(0, 200), g=None)
def exposure(r, _):
    x = np.clip(np.where(r.random(8000) < 0.9, 0, r.lognormal(1.5, 1, 8000)), 0, 200)
    g = coin(r, 8000, 0.5)
    return 0.3 + 0.25 * np.log1p(x) + 0.3 * g + r.normal(size=8000), x, g


@kind("a skewed feature in bounds forty times its sd", y=(-8, 12), x=(0, 100), b=(-4, 4))
def skewed(r, _):
    x, b = np.clip(r.lognormal(0, 1, 6000), 0, 100), normal(r, 6000)
    return 0.3 + 0.15 * x - 0.3 * b + r.normal(size=6000), x, b


@kind("a feature of three codes, 95 % of them the first", y=(-6, 8), x=(1, 5), b=(-4, 4))
def codes(r, _):
    x, b = r.choice([1, 3, 5], 3000, p=[0.95, 0.03, 0.02]), normal(r, 3000)
    return 0.3 + 0.3 * x - 0.3 * b + r.normal(size=3000), x, b


@kind("laboratory values: HDL (public data)", hdl=(10, 150), age=(18, 95), male=None)
def hdl(_, data):
    return table(data, "patient_labs.csv", "hdl", "age", lambda row: row["sex"] == "M")


@kind("visits to a doctor (public data)", mdvis=(0, 80), lncoins=(0, 5), idp=None, disea=(0, 60))
def visits(_, data):
    return table(data, "doctor_visits.csv", "mdvis", "lncoins", "idp", "disea")


@kind("free light chains (public data)", flc=(0.3, 30), age=(50, 105), male=None)
def chains(_, data):
    return table(data, "flchain.csv", "flc", "age", lambda row: row["sex"] == "M")


def table(data, name, *columns):
    with open(data / name, newline="") as f:
        rows = [[c(row) if callable(c) else row[c] for c in columns] for row in csv.DictReader(f)]
    return np.array([[float(v) for v in row] for row in rows if not {"", "NA"} & set(map(str, row))]).T


def target(y, features):
    """Least squares with the sandwich's standard errors; the root mean square residual and its standard error last."""
    x = np.column_stack([np.ones(len(y)), *features])
    inverse = np.linalg.inv(x.T @ x)
    theta = inverse @ x.T @ y
    e = y - x @ theta
    square = np.mean(e**2)
    of_sigma = np.sqrt((np.mean(e**4) - square**2) / len(y)) / (2 * np.sqrt(square))
    errors = np.sqrt(np.diag(inverse @ (x * (e**2)[:, None]).T @ x @ inverse))
    return [*theta, np.sqrt(square)], [*errors, of_sigma]


class Case:
    """A kind's files in a folder, and its target."""

    def __init__(self, name, data, folder, relation="substitute"):
        words, bounds, make = KINDS[name]
        columns = [
            np.clip(np.asarray(v, float), *(b or (0, 1)))
            for v, b in zip(make(np.random.default_rng(zlib.crc32(name.encode())), data), bounds.values())
        ]
        self.formula = f"{next(iter(bounds))} ~ {' + '.join(list(bounds)[1:])}"
        self.data, self.schema = folder / f"{name}.csv", folder / f"{name}.yaml"
        np.savetxt(self.data, np.column_stack(columns), "%.9g", ",", header=",".join(bounds), comments="")
        types = {
            k: "{type: binary}" if b is None else f"{{type: numeric, lower: {b[0]}, upper: {b[1]}}}"
            for k, b in bounds.items()
        }
        self.schema.write_text(
            f"dataset: d\nrelation: {relation}\nunit: row\ncolumns:\n"
            + "".join(f"  {k}: {v}\n" for k, v in types.items())
        )
        columns = np.loadtxt(self.data, delimiter=",", skiprows=1).T
        nominal = str(round(len(columns[0]), -2))
        self.more = ["--n-public", nominal] if relation == "add-remove" else []
        self.estimate, self.error = target(columns[0], columns[1:])


def fit(tacit, case, epsilon, folder):
    """Status and, unless refused, means and sds by the draws, and what is called a problem."""
    done = subprocess.run(
        [
            tacit,
            "fit",
            case.formula,
            "--family",
            "gaussian",
            "--data",
            case.data,
            "--schema",
            case.schema,
            "--quiet",
            "--epsilon",
            str(epsilon),
            "--delta",
            str(DELTA),
            "--chains",
            "2",
            "--warmup",
            "300",
            "--draws",
            "500",
            *case.more,
            "--out",
            folder,
        ],
        capture_output=True,
        text=True,
    )
    if not (folder / "draws-1.csv").exists():
        return {"status": done.returncode, "said": done.stderr[-300:]}
    problems = [
        d
        for d in json.loads(
            subprocess.run([tacit, "diagnose", folder, "--json"], capture_output=True, text=True).stdout
        )
        if d["severity"] == "problem"
    ]
    texts = [[line for line in open(folder / f"draws-{c}.csv") if not line.startswith("#")] for c in (1, 2)]
    wanted = [j for j, name in enumerate(texts[0][0].strip().split(",")) if not name.endswith("__")]
    draws = np.vstack([np.loadtxt(text, delimiter=",", skiprows=1, usecols=wanted) for text in texts])
    return {
        "status": done.returncode,
        "mean": draws.mean(0).round(9).tolist(),
        "sd": draws.std(0).round(9).tolist(),
        "problems": [p["what"] for p in problems],
    }


def anew(tacit, case, epsilon):
    """A fit in a folder of its own, that is gone."""
    with tempfile.TemporaryDirectory() as folder:
        return fit(tacit, case, epsilon, pathlib.Path(folder) / "fit")


def more(kept, runs, n, one, **of):
    """runs, a list, up to n: one(place) for those that are missing; each is a line of the file as it comes."""
    while len(runs) < n:
        runs.append({**of, **one(len(runs))})
        with open(kept, "a") as f:
            f.write(json.dumps(runs[-1]) + "\n")


def row(name, epsilon, case, runs):
    answers = [r for r in runs if "mean" in r and not r["problems"]]
    refused, failed = sum(r["status"] == 4 for r in runs), sum(r["status"] not in (0, 4, 5) for r in runs)
    fits = [r for r in runs if "mean" in r]
    cells = [name, f"{epsilon:g}", f"{len(fits) - len(answers)}", f"{refused}", f"{failed}"]
    if fits:
        ratio = np.median([np.array(r["sd"]) / case.error for r in fits], 0)
        off = np.mean([((np.array(r["mean"]) - case.estimate) / r["sd"]) ** 2 for r in fits], 0)
        cells += [
            f"{off[:-1].max():.2f}",
            f"{ratio[:-1].min():.2f}-{ratio[:-1].max():.2f}",
            f"{ratio[-1]:.1f}",
        ]
    else:
        cells += ["", "", ""]
    if answers:
        z = np.array([(np.array(r["mean"]) - case.estimate) / r["sd"] for r in answers])
        cells += [
            f"{(z**2).mean(0)[:-1].max():.2f}",
            f"{np.abs(z[:, :-1]).max():.1f}",
            f"{(np.abs(z[:, :-1]) < 1.645).mean():.2f}",
            f"{(z[:, -1] ** 2).mean():.2f}",
        ]
    return "| " + " | ".join(cells + [""] * (12 - len(cells))) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacit")
    parser.add_argument("data", nargs="?", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--epsilon", default=".5,1,3,8,50,1000")
    parser.add_argument("--relation", default="substitute")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kept, done, lines = args.out / "runs.jsonl", {}, []
    for run in map(json.loads, kept.read_text().splitlines()) if kept.exists() else ():
        done.setdefault((run["kind"], run["epsilon"]), []).append(run)
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.kinds.split(","):
            try:
                case = Case(name, args.data, pathlib.Path(temporary), args.relation)
            except (TypeError, FileNotFoundError):
                print(f"{name}: left out, its data are not there", file=sys.stderr)
                continue
            for epsilon in map(float, args.epsilon.split(",")):
                runs = done.setdefault((name, epsilon), [])
                more(kept, runs, args.runs, lambda _: anew(args.tacit, case, epsilon), kind=name, epsilon=epsilon)
                lines.append(row(name, epsilon, case, runs))
                print(lines[-1], flush=True)
    head = [
        "kind",
        "epsilon",
        "flagged",
        "refused",
        "failed",
        "of all fits: mean square z",
        "sd ratio",
        "of sigma",
        "of answers: mean square z",
        "largest |z|",
        "90 % intervals",
        "mean square z of sigma",
    ]
    (args.out / "table.md").write_text(
        "\n".join([f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *lines, ""])
    )


if __name__ == "__main__":
    main()
