#!/usr/bin/env python3
"""What checks of fits of programs find, at which budget: records of known kinds, fits by right and wrong programs, checks of each.

    checks.py TACIT [--replicates R] [--records N] [--only KIND]

Prints a table: of each kind and budget of the check, how many of R fits it says do not describe the records (z above 4.9) by shape, calibration and column,
and mean z of each; of fits that are right also how many of the z are above 1.64, where 5 % would be.
"""
import argparse
import json
import math
import pathlib
import random
import subprocess
import tempfile

POISSON = """data { real<lower=-1, upper=1> x; int<lower=0, upper=40> y; }
parameters { real a; real b; }
model { a ~ normal(0, 2); b ~ normal(0, 2); y ~ poisson_log(a + b * x); }
"""
COUNT, SIZE = "{type: integer, lower: 0, upper: 40}", "{type: numeric, lower: 0.001, upper: 50}"
TIME = "{type: numeric, lower: 0.001, upper: 4}\n  over: {type: binary}"


def poisson(rng: random.Random, mean: float) -> int:
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count


def negbin(rng: random.Random, mean: float) -> int:
    return poisson(rng, mean * rng.gammavariate(2, 0.5))


def of_curve(x: float) -> float:
    return 0.7 + 0.5 * x + 0.6 * (x * x - 1 / 3)


# records: (formula, family or program, type of y, response of one with linear predictor eta)
KINDS = {
    "negative binomial, right": ("y ~ x", "negbinomial", COUNT, lambda rng, x: negbin(rng, math.exp(0.7 + 0.5 * x))),
    "Weibull times, censored, right": ("y | cens(over) ~ x", "weibull", TIME, lambda rng, x: math.exp(0.7 + 0.5 * x) * rng.weibullvariate(1, 1.4)),
    "counts of variance 3 means, Poisson program": ("p.stan", None, COUNT, lambda rng, x: poisson(rng, rng.gammavariate(math.exp(0.7 + 0.5 * x) / 2, 2))),
    "lognormal numbers, as Weibull": ("y ~ x", "weibull", SIZE, lambda rng, x: math.exp(0.7 + 0.5 * x + 0.9 * rng.gauss(0, 1))),
    "log-logistic times, as Weibull": ("y | cens(over) ~ x", "weibull", TIME, lambda rng, x: math.exp(0.7 + 0.5 * x) * (1 / rng.random() - 1) ** -0.5),
    "a curve in x, left out": ("y ~ x", "negbinomial", COUNT, lambda rng, x: negbin(rng, math.exp(of_curve(x)))),
}
EPSILONS = ("0.1", "0.3", "1")


def run(folder: pathlib.Path, *words: str) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")


def replicate(tacit: str, kind: str, n: int, seed: int) -> dict[str, list[float]]:
    """z of shape, calibration and column by budget."""
    formula, family, column, response = KINDS[kind]
    rng, found = random.Random(seed), {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "p.stan").write_text(POISSON)
        (folder / "s.yaml").write_text(f"columns:\n  x: {{type: numeric, lower: -1, upper: 1}}\n  y: {column}\n")
        with open(folder / "d.csv", "w") as file:
            file.write("x,y,over\n")
            for _ in range(n):
                x = rng.uniform(-1, 1)
                y = response(rng, x)
                file.write(f"{x:.6f},{min(y, 4) if column is TIME else y},{int(y > 4)}\n")
        of_family = ["--family", family] if family else []
        followed = ["--followed-to-bound"] if column is TIME else []
        run(folder, tacit, "fit", formula, *of_family, *followed, "--data", "d.csv", "--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "--seed", str(seed),
            "--yes", "--out", "fit")
        for epsilon in EPSILONS:
            run(folder, tacit, "check", "fit", "--data", "d.csv", "--epsilon", epsilon, "--delta", "1e-7", "--by", "x", "--seed", str(seed + 1), "--out", f"{epsilon}.json")
            check = json.loads((folder / f"{epsilon}.json").read_text())
            found[epsilon] = [check["shape_z"], check["misfit_z"], check["by_misfit_z"]]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tacit")
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--records", type=int, default=10000)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    tacit = str(pathlib.Path(args.tacit).resolve())
    print("| records, fitted at epsilon 1 | epsilon of the check | found by shape | by prediction | by column | mean z | above 1.64 |\n| --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        if args.only not in kind:
            continue
        runs = [replicate(tacit, kind, args.records, 100 * r + 1) for r in range(args.replicates)]
        for epsilon in EPSILONS:
            z = [run[epsilon] for run in runs]
            found = " | ".join(str(sum(of[k] > 4.9 for of in z)) for k in range(3))
            means = ", ".join(f"{sum(of[k] for of in z) / len(z):.1f}" for k in range(3))
            above = f"{sum(of[k] > 1.645 for of in z for k in range(3))} of {3 * len(z)}" if "right" in kind else ""
            print(f"| {kind} | {epsilon} | {found} | {means} | {above} |", flush=True)


if __name__ == "__main__":
    main()
