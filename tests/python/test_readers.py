#!/usr/bin/env python3
"""Read reports with CmdStanPy and ArviZ and compare with summary.csv.

    test_readers.py DIRECTORY       check one report
    test_readers.py WRITE_REPORT    write reports of all kinds with that program and check each
    test_readers.py fit TACIT FLCHAIN.CSV FLCHAIN.YAML    fit with the program itself and check what it writes

Exit status 77 (skipped) where CmdStanPy or ArviZ is not installed.
"""

import csv
import glob
import math
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
try:
    import arviz as az
    import cmdstanpy
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# CmdStanPy's from_csv refuses num_warmup = 0, so every variant has some, saved or not.
VARIANTS = [
    [],
    ["parameters=1", "chains=1"],
    ["parameters=30", "draws=200"],
    ["warmup=100", "save"],
    ["warmup=100", "save", "thin=5"],
    ["thin=7", "dense"],
    ["unit", "stopped"],
    ["save", "stopped", "exposed"],
]

FITS = [
    ["--method", "hmc", "--exposed", "--draws", "300", "--warmup", "200", "--leapfrog", "8"],
    ["--method", "rwmh", "--exposed", "--draws", "300", "--warmup", "100", "--chains", "1"],
    ["--method", "dp-hmc", "--epsilon", "8", "--delta", "1e-6"],
    ["--method", "dp-hmc", "--epsilon", "8", "--delta", "1e-6", "--seed", "1", "--chains", "2"],
    ["--method", "dp-penalty", "--epsilon", "8", "--delta", "1e-6", "--thin", "2"],
]


def close(actual, expected):
    if not math.isfinite(actual) or not math.isfinite(expected):
        return str(actual) == str(expected)
    return abs(actual - expected) <= 1e-9 * (1 + abs(expected))


def tail_ess(x):
    """ArviZ's ESS of the tails' indicators. Its own "tail" differs where chains repeat draws: its quantile of equal draws
    is rounded, at times to below them, and where no draw lies above a quantile it takes all draws as independent."""
    tails = [x <= np.quantile(x, p) for p in (0.05, 0.95)]
    if any(tail.all() for tail in tails):
        return math.nan
    return min(az.ess(tail.astype(float), method="mean") for tail in tails)


def compare(source, name, x, row):
    """x: shape (chains, draws)."""
    found = {
        "mean": x.mean(),
        "sd": x.std(ddof=1),
        "q5": np.quantile(x, 0.05),
        "q50": np.quantile(x, 0.5),
        "q95": np.quantile(x, 0.95),
        "mcse_mean": az.mcse(x, method="mean"),
        "ess_bulk": az.ess(x, method="bulk"),
        "ess_tail": tail_ess(x),
    }
    if x.shape[0] > 1:  # ArviZ leaves R-hat of a single chain undefined
        found["rhat"] = az.rhat(x, method="rank")
    for key, value in found.items():
        if not close(float(value), float(row[key])):
            raise AssertionError(f"{source}: {key} of {name} is {value}, summary.csv has {row[key]}")


def variables(data):
    """Column of the CSV -> array (chains, draws), for scalars and vectors."""
    out = {}
    for name in data.data_vars:
        values = data[name].values
        if values.ndim == 2:
            out[name] = values
        else:
            for k in range(values.shape[2]):
                out[f"{name}.{k + 1}"] = values[:, :, k]
    return out


def check(directory):
    with open(os.path.join(directory, "summary.csv"), newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    files = sorted(glob.glob(os.path.join(directory, "draws-*.csv")))

    fit = cmdstanpy.from_csv(files)
    sampler = fit.method_variables()
    assert set(sampler) >= {"lp__", "accept_stat__", "stepsize__", "treedepth__", "divergent__"}, sampler.keys()
    assert not sampler["lp__"].any() and not sampler["divergent__"].any()
    assert fit.metadata.cmdstan_config["seed"] == "withheld"
    frame = fit.draws_pd()
    columns = [c for c in frame.columns if not c.endswith("__")]
    assert len(columns) == len(rows), (columns, list(rows))
    for column, name in zip(columns, rows):
        x = fit.draws()[:, :, list(fit.column_names).index(column)].T
        compare("CmdStanPy", name, x, rows[name])

    readers = {"from_cmdstanpy": lambda: az.from_cmdstanpy(fit)}
    if hasattr(az, "from_cmdstan"):
        readers["from_cmdstan"] = lambda: az.from_cmdstan(files)
    for reader, read in readers.items():
        found = variables(read().posterior)
        assert set(found) == set(rows), (reader, set(found) ^ set(rows))
        for name, x in found.items():
            compare(reader, name, x, rows[name])
    return len(rows)


def check_settings(directory):
    try:
        import yaml
    except ImportError:
        return
    with open(os.path.join(directory, "run.yaml"), encoding="utf-8") as file:
        settings = yaml.safe_load(file)
    assert settings["prior"] == ["normal(0, 2.5)", "age: student_t(3, 0, 1)"], settings
    assert settings["note"] == "yes" and settings["chains"] == 4 and settings["no-jitter"] is False, settings


def check_fits(tacit, data, schema):
    with tempfile.TemporaryDirectory() as folder:
        for i, settings in enumerate(FITS):
            directory = os.path.join(folder, str(i))
            subprocess.run([tacit, "fit", "death ~ age + sex + log(flc)", "--family", "bernoulli", "--data", data,
                            "--schema", schema, "--quiet", "--out", directory, *settings],
                           check=True, stdout=subprocess.DEVNULL)
            print(f"{' '.join(settings)}: {check(directory)} quantities agree")


def main():
    target = sys.argv[1]
    if target == "fit":
        check_fits(*sys.argv[2:])
        return
    if os.path.isdir(target):
        print(f"{target}: {check(target)} quantities agree")
        return
    with tempfile.TemporaryDirectory() as folder:
        for i, variant in enumerate(VARIANTS):
            directory = os.path.join(folder, str(i))
            subprocess.run([target, directory, *variant], check=True)
            print(f"{' '.join(variant) or 'default'}: {check(directory)} quantities agree")
            check_settings(directory)


if __name__ == "__main__":
    main()
