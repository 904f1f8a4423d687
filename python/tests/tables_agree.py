#!/usr/bin/env python3
"""tables_agree.py PROGRAM: do the libraries that are installed here make the tables that `tacit summary` prints, to the printed digits?

For environments with other versions than the tests have: run with each one's Python. PROGRAM is the program tacit. Frames of pandas and polars, plain and with
categories, give the draws of plain lists; the posterior's tables by pandas, polars and arviz are those that the program prints of the directory.
"""
import importlib
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from decimal import Decimal

warnings.simplefilter("ignore")
import tacit  # noqa: E402, its warnings, too
from samples import fit, records  # noqa: E402

COLUMNS = ("mean", "sd", "q5", "q50", "q95", "mcse_mean", "ess_bulk", "ess_tail", "rhat")


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def printed(program, directory):
    """{parameter: {column: the text that is printed}}"""
    text = subprocess.run([program, "summary", directory], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in text.split("\n\n")[0].splitlines()[1:]]
    return {label: dict(zip(COLUMNS, numbers, strict=False)) for label, *numbers in lines}


def agree(what, found, expected):
    """found: {parameter: {column: number}}; every number is within half of the last digit that is printed."""
    n = 0
    for label, columns in found.items():
        for column, number in columns.items():
            text = expected[label][column]
            half = 0.5 * 10.0 ** Decimal(text).as_tuple().exponent
            assert abs(float(number) - float(text)) <= half * (1 + 1e-9), f"{what}: {label}, {column}: {number} where {text} is printed"
            n += 1
    assert n > 0
    print(f"ok: {what}: {n} numbers")


def sources(pandas, polars):
    columns = records()
    made = {}
    if pandas is not None:
        frame = pandas.DataFrame(columns)
        made |= {"pandas": frame, "pandas, category": frame.astype({"s": "category"}), "pandas, nullable": frame.convert_dtypes()}
    if polars is not None:
        frame = polars.DataFrame(columns)
        made |= {"polars": frame, "polars, lazy": frame.lazy(), "polars, categorical": frame.with_columns(polars.col("s").cast(polars.Categorical)),
                 "polars, enum": frame.with_columns(polars.col("s").cast(polars.Enum(["b", "a"])))}
    few = {"formula": "y ~ x + s + k", "seed_not_private": 3, "draws": 50, "warmup": 50}
    expected = fit(columns, **few)._draws
    for name, data in made.items():
        assert fit(data, **few)._draws == expected, f"{name}: other draws"
    print(f"ok: {len(made)} kinds of frames give the draws of plain lists")


def main(program):
    pandas, polars, arviz = map(library, ("pandas", "polars", "arviz"))
    there = [f"{module.__name__} {module.__version__}" for module in (pandas, polars, arviz, library("pyarrow"), library("numpy"))
             if module is not None]
    print(f"Python {platform.python_version()}, {', '.join(there)}")
    sources(pandas, polars)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "fit")
        post = fit(records(), out=out)
        expected = printed(program, out)
        labels = post.labels
        if pandas is not None:
            summary, frame = post.summary(), post.to_pandas()
            agree("summary()", {label: {column: summary.loc[label, column] for column in summary} for label in labels}, expected)
            agree("pandas of the draws", {label: {"mean": frame[label].mean(), "sd": frame[label].std(), "q50": frame[label].median()}
                                          for label in labels}, expected)
        if polars is not None:
            draws = polars.DataFrame({label: post.draws()[:, :, j].ravel() for j, label in enumerate(labels)})
            agree("polars of the draws", {label: {"mean": draws[label].mean(), "sd": draws[label].std(), "q50": draws[label].median()}
                                          for label in labels}, expected)
        if arviz is not None:
            if "stats.ci_prob" in arviz.rcParams:  # of arviz 1: ess_tail is of that quantile and its mirror, 0.89 if not said; here as elsewhere 0.95
                arviz.rcParams["stats.ci_prob"] = 0.95
            table = arviz.summary(post.to_arviz(), round_to="none")
            names = {"mean": "mean", "sd": "sd", "ess_bulk": "ess_bulk", "ess_tail": "ess_tail", "rhat": "r_hat"}
            agree("arviz.summary", {label: {ours: table.loc[label, theirs] for ours, theirs in names.items()} for label in labels}, expected)


if __name__ == "__main__":
    main(sys.argv[1])
