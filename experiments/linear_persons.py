#!/usr/bin/env python3
"""Linear regressions of persons with several rows: private beside least squares of the same records.

    experiments/linear_persons.py build/src/cli/tacit [--kinds a,b] [--persons 4000] [--epsilon 1,3,8,1000]
        [--runs 8] [--relation substitute|add-remove]

Rows weigh one over the number of rows of their person, and standard errors are the sandwich's by persons, on the
records as the schema bounds them. A line for each kind and epsilon: answers (ended with 0, no problem found), flagged,
refused, failed after spending; of answers the mean square of z = (private - least squares) / private sd of Intercept,
x, z and sigma, the largest, and the median of private sd over standard error of the first three. It needs numpy.

    clustered    half of the residual is the person's, 1 to 5 rows        informative  persons with larger effects have
    independent  nothing is                                                            more rows, up to 12
    both         half of the variance, 1 to 8 rows                        heavy        t errors of 3 degrees of freedom
    many         1 to 30 rows                                             cost         lognormal, spread grows
    slope        the effect of x is the person's, 1 to 6 rows
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import tempfile

import numpy as np

MOST_ROWS = {
    "clustered": 5,
    "independent": 5,
    "both": 8,
    "informative": 12,
    "heavy": 4,
    "cost": 4,
    "slope": 6,
    "many": 30,
}
BOUNDS = {"cost": (0, 200), "heavy": (-50, 150)}
NAMES = ["Intercept", "x", "z", "sigma"]


def error(kind, r, own, x):
    e = r.gauss(0, 1)
    if kind == "heavy":
        return 0.5 * own + 0.5 * e / math.sqrt(r.gammavariate(1.5, 1 / 1.5))
    weights = {
        "clustered": (1, 0),
        "independent": (0, 1),
        "both": (0.7, 0.7),
        "informative": (0.8, 0.6),
    }
    a, b = weights.get(kind, (x, 0.7) if kind == "slope" else (0.5, 0.8))
    return a * own + b * e


def records(kind, n):
    """Rows (person, x, z, y)."""
    r, rows = random.Random(5), []
    for i in range(n):
        own, z = r.gauss(0, 1), int(r.random() < 0.3)
        k = 1 + int(r.random() * MOST_ROWS[kind])
        if kind == "informative":
            k = min(12, 1 + int(math.exp(0.8 + 0.6 * own)))
        for _ in range(k):
            x = r.gauss(0, 1)
            y = 50 + 3 * x + 4 * z + 5 * error(kind, r, own, x)
            if kind == "cost":
                y = math.exp(2.2 + 0.3 * x + 0.3 * z + 0.7 * own + 0.5 * r.gauss(0, 1))
            rows.append((i, x, z, y))
    return rows


def least_squares(rows, low, high):
    """Coefficients with sigma, and standard errors of the former."""
    person = np.array([row[0] for row in rows])
    x = np.column_stack(
        [
            np.ones(len(rows)),
            np.clip([row[1] for row in rows], -5, 5),
            [row[2] for row in rows],
        ]
    )
    y = np.clip([row[3] for row in rows], low, high)
    n, weight = person.max() + 1, 1 / np.bincount(person)[person]
    bread = np.linalg.inv((x * weight[:, None]).T @ x)
    beta = bread @ (x.T @ (weight * y))
    residual, scores = y - x @ beta, np.zeros((n, 3))
    np.add.at(scores, person, x * (weight * residual)[:, None])
    sigma = math.sqrt((weight * residual**2).sum() / n)
    return np.append(beta, sigma), np.sqrt(np.diag(bread @ scores.T @ scores @ bread))


def prepare(folder, kind, n, relation):
    rows, (low, high) = records(kind, n), BOUNDS.get(kind, (0, 100))
    with open(folder / "d.csv", "w") as out:
        out.write("id,x,z,y\n")
        out.writelines(f"{i},{x:.6g},{z},{y:.6g}\n" for i, x, z, y in rows)
    (folder / "s.yaml").write_text(
        f"dataset: d\nrelation: {relation}\nunit: id\nmax_rows: {MOST_ROWS[kind]}\ncolumns:\n  id: {{type: id}}\n"
        "  x: {type: numeric, lower: -5, upper: 5}\n  z: {type: binary}\n"
        f"  y: {{type: numeric, lower: {low}, upper: {high}}}\n"
    )
    return least_squares(rows, low, high)


def fit(tacit, folder, out, epsilon, n, relation):
    """ "answer", "flagged", "refused" or "failed", and the parameters of an answer."""
    given = ["--n-public", str(n)] if relation == "add-remove" else []
    common = [
        "y ~ x + z",
        "--family",
        "gaussian",
        "--data",
        folder / "d.csv",
        "--schema",
        folder / "s.yaml",
    ]
    done = subprocess.run(
        [
            tacit,
            "fit",
            *common,
            "--epsilon",
            epsilon,
            "--delta",
            "1e-6",
            "--out",
            out,
            "--quiet",
            *given,
        ],
        check=False,
        capture_output=True,
    )
    if done.returncode:
        return "refused" if done.returncode == 4 else "failed", None
    if (
        subprocess.run(
            [tacit, "diagnose", out], check=False, capture_output=True
        ).returncode
        == 5
    ):
        return "flagged", None
    summary = json.loads(
        subprocess.run(
            [tacit, "summary", out, "--json"], check=False, capture_output=True
        ).stdout
    )
    return "answer", {row["name"]: row for row in summary["parameters"]}


def line(tacit, kind, epsilon, options):
    ends, z, ratio = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        theta, se = prepare(folder, kind, options.persons, options.relation)
        for i in range(options.runs):
            end, found = fit(
                tacit,
                folder,
                folder / f"fit-{i}",
                epsilon,
                options.persons,
                options.relation,
            )
            ends.append(end)
            if found:
                z.append(
                    [
                        (found[key]["mean"] - theta[j]) / found[key]["sd"]
                        for j, key in enumerate(NAMES)
                    ]
                )
                ratio.append(
                    [found[key]["sd"] / se[j] for j, key in enumerate(NAMES[:3])]
                )
    counts = [
        str(ends.count(end)) for end in ("answer", "flagged", "refused", "failed")
    ]
    cells = [kind, str(options.persons), epsilon, *counts]
    if z:
        z, ratio = np.array(z), np.median(ratio, axis=0)
        cells += [
            " ".join(f"{v:.2f}" for v in (z**2).mean(axis=0)),
            f"{abs(z).max():.1f}",
        ]
        cells += [" ".join(f"{v:.2f}" for v in ratio)]
    return "| " + " | ".join(cells + ["-"] * (10 - len(cells))) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tacit", type=pathlib.Path)
    parser.add_argument("--kinds", default=",".join(MOST_ROWS))
    parser.add_argument("--persons", type=int, default=4000)
    parser.add_argument("--epsilon", default="1,3,8,1000")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument(
        "--relation", default="substitute", choices=["substitute", "add-remove"]
    )
    options = parser.parse_args()
    for kind in options.kinds.split(","):
        for epsilon in options.epsilon.split(","):
            print(line(options.tacit, kind, epsilon, options), flush=True)


if __name__ == "__main__":
    main()
