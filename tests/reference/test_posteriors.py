#!/usr/bin/env python3
"""The program's posteriors against independent reference posteriors (no privacy, made by other software).

    test_posteriors.py TACIT

Needs the folder named by TACIT_SHARED; skips (exit status 77) without it. A mean must lie within 0.1 posterior sd of the
reference's, a sd within 5 %, beyond three standard errors of both. An exact sampler stays some six standard errors within
that, so that a false alarm is unlikely even over some 100 comparisons.
"""
import csv
import glob
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

if "TACIT_SHARED" not in os.environ:
    print("TACIT_SHARED is not set: skipped")
    sys.exit(77)
TACIT = os.path.abspath(sys.argv[1])
SHARED = pathlib.Path(os.environ["TACIT_SHARED"])
# Longer trajectories than eight steps turn round: they tell the mean more precisely, but not the sd.
EXPOSED = ["--method", "hmc", "--exposed", "--draws", "2500", "--warmup", "500", "--leapfrog", "8"]


def original(intercept, slopes, *more):
    return ["--prior-scale", "original", "--prior", f"Intercept: {intercept}", "--prior", slopes,
            *(word for prior in more for word in ("--prior", prior))]


FLCHAIN = {"age": "integer 50 105", "sex": "categorical F M", "flc": "numeric 0.05 50", "death": "binary"}
TIGHT = dict(FLCHAIN, flc="numeric 0.3 30")
ARRESTS = {"released": "binary", "colour": "categorical black white", "age": "integer 10 80",
           "sex": "categorical female male", "employed": "categorical no yes", "citizen": "categorical no yes",
           "checks": "integer 0 6"}
ARRESTS_FORMULA = "released ~ colour + age + sex + employed + citizen + checks"
KIDIQ = {"kid_score": "numeric 0 200", "mom_hs": "binary", "mom_iq": "numeric 70 140"}
VISITS = {"mdvis": "integer 0 100", "lncoins": "numeric 0 5", "lpi": "numeric 0 8", "fmde": "numeric 0 9",
          "physlm": "numeric 0 1", "disea": "numeric 0 60", "idp": "binary", "hlthg": "binary", "hlthf": "binary",
          "hlthp": "binary"}
FLAT = original("flat", "flat", "sigma: flat")

# reference, data, family, formula, columns, settings
CASES = [
    ("flchain_logistic", "flchain", "bernoulli", "death ~ age + sex + log(flc)", FLCHAIN,
     original("normal(0, 20)", "normal(0, 2.5)")),
    ("flchain_logistic_tight", "flchain", "bernoulli", "death ~ age + sex + log(flc)", TIGHT, []),
    ("arrests_logistic", "arrests", "bernoulli", ARRESTS_FORMULA, ARRESTS, original("normal(0, 10)", "normal(0, 2.5)")),
    ("arrests_logistic_cauchy", "arrests", "bernoulli", ARRESTS_FORMULA, ARRESTS,
     original("cauchy(0, 10)", "cauchy(0, 0.1)")),
    ("arrests_logistic_student", "arrests", "bernoulli", ARRESTS_FORMULA, ARRESTS,
     original("student_t(3, 0, 2.5)", "student_t(3, 0, 0.2)")),
    ("ucb_logistic", "ucb_admissions", "bernoulli", "admitted ~ gender + department",
     {"admitted": "binary", "gender": "categorical male female", "department": "categorical A B C D E F"},
     original("normal(0, 10)", "normal(0, 2.5)")),
    ("nhanes_logistic", "nhanes_cholesterol", "bernoulli", "high_cholesterol ~ sex + age_group + race",
     {"high_cholesterol": "binary", "sex": "categorical male female",
      "age_group": "categorical 0-19 20-39 40-59 60+",
      "race": "categorical non_hispanic_white non_hispanic_black hispanic other"},
     original("normal(0, 10)", "normal(0, 2.5)")),
    ("doctor_visits_poisson", "doctor_visits", "poisson",
     "mdvis ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp", VISITS,
     original("normal(0, 10)", "normal(0, 2.5)")),
    ("kidiq_momiq", "kidiq", "gaussian", "kid_score ~ mom_iq", KIDIQ, original("flat", "flat", "sigma: cauchy(0, 2.5)")),
    ("kidiq_momhsiq", "kidiq", "gaussian", "kid_score ~ mom_hs + mom_iq", KIDIQ,
     original("flat", "flat", "sigma: cauchy(0, 2.5)")),
    ("kidiq_normal_prior", "kidiq", "gaussian", "kid_score ~ mom_hs + mom_iq", KIDIQ,
     original("normal(0, 100)", "normal(0, 2.5)", "mom_hs: normal(0, 10)", "sigma: normal(0, 20)")),
    ("kidiq_known_sd", "kidiq", "gaussian", "kid_score ~ mom_hs + mom_iq", KIDIQ,
     original("normal(0, 100)", "normal(0, 2.5)", "mom_hs: normal(0, 10)") + ["--sd", "18"]),
    ("earnings_logearn_height", "earnings", "gaussian", "log(earn) ~ height",
     {"earn": "numeric 100 300000", "height": "numeric 50 80"}, FLAT),
    ("mesquite_logvolume", "mesquite", "gaussian", "log(weight) ~ log(diam1 * diam2 * canopy_height)",
     {"weight": "numeric 10 10000", "diam1": "numeric 0.1 6", "diam2": "numeric 0.1 6", "canopy_height": "numeric 0.1 4"},
     FLAT),
]


def write_schema(columns):
    lines = ["columns:"]
    for name, kind in columns.items():
        words = kind.split()
        if words[0] in ("numeric", "integer"):
            lines.append(f"  {name}: {{type: {words[0]}, lower: {words[1]}, upper: {words[2]}}}")
        elif words[0] == "categorical":
            levels = ", ".join(f'"{level}"' for level in words[1:])
            lines.append(f"  {name}: {{type: categorical, levels: [{levels}]}}")
        else:
            lines.append(f"  {name}: {{type: binary}}")
    pathlib.Path("schema.yaml").write_text("\n".join(lines) + "\n")


def data_file(name, response):
    """The shared file, or a copy without the rows whose response is missing."""
    path = SHARED / "data" / f"{name}.csv"
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    place = rows[0].index(response) if response in rows[0] else None
    if place is None or all(row[place] for row in rows):
        return str(path)
    with open("kept.csv", "w", newline="") as file:
        csv.writer(file).writerows(row for row in rows if row[place])
    return "kept.csv"


def fit(data, family, formula, settings, out):
    words = [TACIT, "fit", formula, "--family", family, "--data", data, "--schema", "schema.yaml", "--seed", "1", "--quiet",
             "--threads", "2", "--out", out, *settings]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    summary = json.loads(subprocess.run([TACIT, "summary", out, "--json"], stdout=subprocess.PIPE, check=True).stdout)
    for parameter, error in zip(summary["parameters"], relative_sd_errors(out), strict=True):
        parameter["sd_error"] = error
    return summary


def relative_sd_errors(out, batch=50):
    """Standard error of log(sd) of each parameter, by means of batches: ESS is about the mean and says little here."""
    chains = []
    for path in sorted(glob.glob(f"{out}/draws-*.csv")):
        with open(path, newline="") as file:
            rows = list(csv.reader(line for line in file if not line.startswith("#")))
        kept = [i for i, name in enumerate(rows[0]) if not name.endswith("__")]
        chains.append([[float(row[i]) for row in rows[1:]] for i in kept])
    errors = []
    for draws in zip(*chains, strict=True):
        mean = statistics.fmean(x for chain in draws for x in chain)
        squares = [[(x - mean) ** 2 for x in chain] for chain in draws]
        means = [statistics.fmean(chain[i:i + batch]) for chain in squares for i in range(0, len(chain) - batch + 1, batch)]
        errors.append(statistics.stdev(means) / math.sqrt(len(means)) / (2 * statistics.fmean(means)))
    return errors


def deviation(ours, reference):
    """How far mean and sd lie beyond Monte Carlo error, as fractions of their tolerances; and the raw distances."""
    mean, sd = (reference.get(f"exact_{key}", reference.get(key)) for key in ("mean", "sd"))
    error = math.hypot(ours["mcse_mean"], 0 if "exact_mean" in reference else reference["mcse_mean"])
    sd_error = math.hypot(ours["sd_error"], 0 if "exact_sd" in reference else 0.008)
    distance, ratio = abs(ours["mean"] - mean) / sd, abs(ours["sd"] / sd - 1)
    return max((distance - 3 * error / sd) / 0.1, (ratio - 3 * sd_error) / 0.05), distance, ratio


def compare(name, summary, seconds):
    reference = json.load(open(SHARED / "reference" / "posteriors" / f"{name}.json"))["parameters"]
    ours = {parameter["name"]: parameter for parameter in summary["parameters"]}
    generic = [key for key in reference if not key.startswith("scaled_")]
    aliases = dict(zip(generic, [p["name"] for p in summary["parameters"]])) if "beta[1]" in reference else {}
    worst = [deviation(ours[aliases.get(key, key)], reference[key]) for key in generic]
    excess, distance, ratio = (max(column) for column in zip(*worst))
    print(f"{name:28s} mean off by {distance:.3f} sd, sd by {100 * ratio:.1f} %, least ESS "
          f"{min(p['ess_bulk'] for p in summary['parameters']):.0f}, sd known to "
          f"{100 * max(p['sd_error'] for p in summary['parameters']):.1f} %, {seconds:.1f} s", flush=True)
    return excess <= 1


def compare_softmax():
    """Contrasts to class 0; the reference's prior differs a little from one on contrasts, hence wider tolerances."""
    write_schema({"floor_measure": "categorical 0 1 2 3 9", "log_radon": "numeric -3 6", "log_uranium": "numeric -3 2"})
    with open(SHARED / "data" / "radon.csv", newline="") as file, open("radon.csv", "w", newline="") as out:
        rows = csv.DictReader(file)
        writer = csv.writer(out)
        writer.writerow(["floor_measure", "log_radon", "log_uranium"])
        writer.writerows([row["floor_measure"], row["log_radon"], row["log_uranium"]] for row in rows
                         if row["is_test"] == "0")
    start = time.time()
    formula = "floor_measure ~ I((log_radon - 0.878904145) / 2.15609678) + I((log_uranium - 0.631069008) / 1.064862508)"
    summary = fit("radon.csv", "categorical", formula, EXPOSED + original("normal(0, 14)", "normal(0, 14)"), "softmax")
    reference = json.load(open(SHARED / "reference/posteriors/radon_softmax.json"))["contrasts_to_class_0"]
    terms = ["Intercept", "log_radon", "log_uranium"]
    worst_mean, worst_sd = 0, 0
    for i, parameter in enumerate(summary["parameters"]):
        level = ["1", "2", "3", "9"][i // 3]
        expected = reference[f"{terms[i % 3]}[floor={level}] - {terms[i % 3]}[floor=0]"]
        worst_mean = max(worst_mean, abs(parameter["mean"] - expected["mean"]) / expected["sd"])
        worst_sd = max(worst_sd, abs(parameter["sd"] / expected["sd"] - 1))
    print(f"{'radon_softmax (contrasts)':28s} mean off by {worst_mean:.3f} sd, sd by {100 * worst_sd:.1f} %, "
          f"{time.time() - start:.1f} s", flush=True)
    return worst_mean <= 0.15 and worst_sd <= 0.1


def compare_private():
    """Private methods at a budget so large that their noise is negligible."""
    write_schema(TIGHT)
    results = []
    pathlib.Path("start.txt").write_text("0.466 3.61 0.21 2.16\n")
    for method, settings in (
            ("dp-hmc", ["--draws", "2500", "--warmup", "200", "--noise-grad", "0.01", "--noise-ratio", "0.01", "--leapfrog", "8",
                        "--step-size", "1.2"]),
            ("dp-penalty", ["--draws", "8000", "--warmup", "500", "--thin", "4", "--noise-ratio", "0.01", "--step-size",
                            "4"])):
        start = time.time()
        summary = fit(str(SHARED / "data/flchain.csv"), "bernoulli", "death ~ age + sex + log(flc)",
                      ["--method", method, "--epsilon", "1e11", "--delta", "1e-6", "--init", "start.txt", *settings], method)
        print(f"{method}, negligible noise:")
        results.append(compare("flchain_logistic_tight", summary, time.time() - start))
    return all(results)


def main():
    results = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, data, family, formula, columns, settings in CASES:
            write_schema(columns)
            start = time.time()
            summary = fit(data_file(data, formula.split(" ")[0]), family, formula, EXPOSED + settings, name)
            results.append(compare(name, summary, time.time() - start))
        results += [compare_softmax(), compare_private()]
        os.chdir("/")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


main()
