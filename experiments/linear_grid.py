#!/usr/bin/env python3
"""Linear regressions of few records, beside the same records without privacy: errors, widths, coverage.

    experiments/linear_grid.py build/src/cli/tacit DATA --out FOLDER [--runs N] [--sets a,b] [--epsilon .5,1]
                               [--relation add-remove] [--prototype FILE]

DATA is the folder with kidiq.csv, earnings.csv, nes1972.csv and radon.csv. N fits (default 20) of the same records
with fresh noise, for each set and epsilon, delta 1e-6; each is a line of FOLDER/runs.jsonl, and fits that are there are
not made again. FOLDER/table.md is written from them. FILE: a program in numpy with fit(Z, y, binary, epsilon, delta,
generator), whose answers stand beside. It needs numpy.

Errors are of slopes, from least squares, in its standard errors (the sandwich's). Widths: sd over standard error.
Coverage: how many 90 % intervals hold least squares, and that of the slope that has fewest. The data are public or
simulated; many fits of private data would each spend their epsilon.
"""

import argparse
import importlib.util
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

import linear
import linear_agreement
import numpy as np
from linear_agreement import DELTA, coin, kind, normal

FEATURES = {name: (-4, 4) for name in "abcd"}


def response(r, slopes, features, errors=None):
    e = r.normal(size=len(features[0])) if errors is None else errors
    return 0.2 + sum(s * v for s, v in zip(slopes, features)) + e


@kind(
    "right model, 800 rows, 4 features, tight bounds",
    y=(-4, 4),
    **{name: (-3, 3) for name in "abcd"},
)
def tight(r, _):
    x = [np.clip(r.normal(size=800), -3, 3) for _ in range(4)]
    return response(r, (0.5, -0.4, 0.3, 0.4), x), *x


@kind("bounds three times too wide", y=(-13, 13), **{name: (-10, 10) for name in "abcd"})
def wide3(r, _):
    x = [normal(r, 800) for _ in range(4)]
    return response(r, (0.4, -0.4, 0.3, 0.3), x), *x


@kind("features of correlation .8, slopes that cancel", y=(-5, 5), **FEATURES)
def corr(r, _):
    shared = normal(r, 1000)
    x = [np.sqrt(0.8) * shared + np.sqrt(0.2) * normal(r, 1000) for _ in range(4)]
    return response(r, (0.5, -0.5, 0.4, -0.4), x), *x


@kind(
    "skewed features, a spread that grows",
    y=(-10, 20),
    a=(0, 10),
    b=(0, 10),
    c=(0, 10),
    d=(-4, 4),
)
def skew(r, _):
    x = [r.gamma(2, 0.7, 1000) for _ in range(3)] + [normal(r, 1000)]
    return response(r, (0.5, -0.4, 0.4, 0.3), x, r.normal(size=1000) * (0.4 + 0.4 * x[0])), *x


@kind("an indicator of 3 % of 2 000 rows", y=(-6, 6), a=(-4, 4), b=(-4, 4), g=None)
def rare(r, _):
    x = [normal(r, 2000), normal(r, 2000), coin(r, 2000, 0.03)]
    return response(r, (1, -0.7, 0.48), x), *x


@kind("one large slope of nine", y=(-5, 5), **{f"x{j}": (-4, 4) for j in range(9)})
def sparse(r, _):
    x = [normal(r, 1000) for _ in range(9)]
    return response(r, (0.8,) + (0,) * 8, x), *x


@kind("300 rows, one feature", y=(-4, 4), a=(-3, 3))
def tiny(r, _):
    a = normal(r, 300)
    return response(r, (0.5,), [a]), a


@kind(
    "bounds ten times too wide, 5 000 rows",
    y=(-40, 40),
    a=(-40, 40),
    b=(-40, 40),
    c=(-40, 40),
)
def wide10(r, _):
    x = [normal(r, 5000) for _ in range(3)]
    return response(r, (0.4, -0.3, 0.2), x), *x


@kind(
    "errors of a t with 3 degrees of freedom, 3 000 rows",
    y=(-15, 15),
    a=(-4, 4),
    b=(-4, 4),
    g=None,
)
def t_errors(r, _):
    x = [normal(r, 3000), normal(r, 3000), coin(r, 3000, 0.4)]
    return response(r, (0.5, -0.4, 0.3), x, r.standard_t(3, 3000)), *x


@kind("20 000 rows, 8 features", y=(-6, 6), **{f"x{j}": (-4, 4) for j in range(8)})
def large(r, _):
    x = [normal(r, 20000) for _ in range(8)]
    return response(r, [0.2 * (-1) ** j for j in range(8)], x), *x


SETS = "nes1972,log_earnings,kidiq,radon,tight,wide3,corr,skew,rare,sparse,tiny,wide10,t_errors,large"


def of_prototype(program, of, epsilon, seed):
    """Means and sds of the slopes, in the data's units."""
    draws, weights, _ = program.fit(
        of.x[:, 1:], of.y, of.binary[1:], epsilon, DELTA, np.random.default_rng(seed)
    )
    slopes = draws[:, 1:-1] * of.slopes
    mean = weights @ slopes
    return {
        "mean": mean.tolist(),
        "sd": np.sqrt(weights @ (slopes - mean) ** 2).tolist(),
        "problems": [],
    }


def numbers(fits, of):
    """Of the slopes of some fits: root mean square error, width, coverage and its least; as text."""
    if not fits:
        return "", "", ""
    part = slice(None) if len(fits[0]["mean"]) == of.d - 1 else of.part
    mean, sd = (np.array([np.array(f[what][part]) for f in fits]) for what in ("mean", "sd"))
    off, ratio = (mean - of.estimate) / of.error, sd / of.error
    held = (np.abs(off) < 1.645 * ratio).mean(0)
    return (
        f"{np.sqrt((off**2).mean()):.2f}",
        f"{np.median(ratio.mean(1)):.2f}",
        f"{held.mean():.2f} ({held.min():.2f})",
    )


def cells(name, epsilon, of, own, others):
    ended = [r for r in own if "mean" in r]
    answers = [r for r in ended if not r["problems"]]
    refused, flagged = sum(r["status"] == 4 for r in own), len(ended) - len(answers)
    failed = len(own) - refused - len(ended)
    row = [name, f"{epsilon:g}", f"{len(own)}", f"{refused}", f"{failed}", f"{flagged}"]
    row += [
        numbers(ended, of)[0],
        *numbers(answers, of),
        *numbers(others, of),
        f"{np.sqrt(np.mean((of.estimate / of.error) ** 2)):.1f}",
    ]
    return "| " + " | ".join(row) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tacit")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--epsilon", default=".3,.5,1,2,4,8")
    parser.add_argument("--relation", default="substitute")
    parser.add_argument("--prototype", type=pathlib.Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    program = None
    if args.prototype:
        spec = importlib.util.spec_from_file_location("prototype", args.prototype)
        program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(program)
    kept, done, lines = args.out / "runs.jsonl", {}, []
    for run in map(json.loads, kept.read_text().splitlines()) if kept.exists() else ():
        done.setdefault((run["set"], run["epsilon"], run["by"]), []).append(run)
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.sets.split(","):
            case, of = linear.load(name, args.data, pathlib.Path(temporary), args.relation)
            for epsilon in map(float, args.epsilon.split(",")):
                ways = {"tacit": lambda _: linear_agreement.anew(args.tacit, case, epsilon)}
                if program:
                    ways["prototype"] = lambda seed: of_prototype(program, of, epsilon, seed)
                made = {by: done.setdefault((name, epsilon, by), []) for by in ways}
                for by, one in ways.items():
                    linear_agreement.more(kept, made[by], args.runs, one, set=name, epsilon=epsilon, by=by)
                lines.append(cells(name, epsilon, of, made["tacit"], made.get("prototype", [])))
                print(lines[-1], flush=True)
    head = [
        "set",
        "epsilon",
        "fits",
        "refused",
        "failed",
        "flagged",
        "error, all fits",
        "error, answers",
        "width",
        "coverage (least)",
    ]
    head += ["prototype: error", "width", "coverage (least)", "zero: error"]
    (args.out / "table.md").write_text(
        "\n".join([f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *lines, ""])
    )


if __name__ == "__main__":
    main()
