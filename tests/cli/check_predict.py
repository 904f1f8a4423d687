#!/usr/bin/env python3
"""tacit predict, contrast and compare against the same numbers computed here from the written draws.

    check_predict.py TACIT SOURCE_ROOT
"""
import csv
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from written_draws import agree, draws_of

TACIT = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(sys.argv[2]).resolve()


def run(*words, status=0):
    done = subprocess.run([TACIT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stderr if status else done.stdout


def fit(formula, family, data, schema, out, *more):
    run("fit", formula, "--family", family, "--data", data, "--schema", schema, "--method", "hmc", "--exposed", "--out", out,
        "--draws", "200", "--warmup", "200", "--chains", "2", "--quiet", *more)
    return draws_of(out)


def table(text):
    return list(csv.DictReader(text.splitlines()))


def logistic(x):
    return 1 / (1 + math.exp(-x))


os.chdir(tempfile.mkdtemp())
rng = random.Random(7)
rows = [(rng.uniform(-2, 3), rng.choice("ABC"), rng.random()) for _ in range(400)]
pathlib.Path("d.csv").write_text("x,g,who,y,t,n,c\n" + "".join(
    f"{x},{g},{i % 90},{int(u < logistic(x - (g == 'B')))},{1 + 2 * x + rng.gauss(0, 1):.4f},{int(3 * u + max(x, 0))},{'pqr'[int(u * 3)]}\n"
    for i, (x, g, u) in enumerate(rows)))
pathlib.Path("d.yaml").write_text(
    "# notes of d.csv\ndataset: d\nunit: who\nmax_rows: 9\ncolumns:\n  x: {type: numeric, lower: -2, upper: 3}\n"
    "  g: {type: categorical, levels: [A, B, C]}\n  who: {type: id}\n  y: {type: binary}\n  t: {type: numeric, lower: -10, upper: 12}\n"
    "  n: {type: integer, lower: 0, upper: 20}\n  c: {type: categorical, levels: [p, q, r]}\n")
pathlib.Path("new.csv").write_text("g,x\nA,0.25\nC,-1.5\nB,3\n")
new = [("A", 0.25), ("C", -1.5), ("B", 3.0)]

# bernoulli: expected responses, linear predictors, contrasts, average effects
draws = fit("y ~ x * g", "bernoulli", "d.csv", "d.yaml", "b")
assert "d.csv" not in open("b/schema.yaml").read()


def eta(d, g, x):
    level = d.get(f"b_g{g}", 0) + x * d.get(f"b_x_g{g}", 0)
    return d["b_Intercept"] + x * d["b_x"] + level


for words, link in (([], logistic), (["--linear"], float)):
    out = table(run("predict", "b", "--newdata", "new.csv", *words))
    assert len(out) == 3 and list(out[0]) == ["mean", "sd", "q5", "q50", "q95"]
    for row, (g, x) in zip(out, new):
        agree(row, [link(eta(d, g, x)) for d in draws])
run("predict", "b", "--newdata", "new.csv", "--out", "b.csv")
assert table(open("b.csv").read()) == table(run("predict", "b", "--newdata", "new.csv"))
run("predict", "b", "--newdata", "new.csv", "--out", "b.csv", status=1)
grid = table(run("predict", "b", "--newdata", "grid"))
assert len(grid) == 21 + 3 and [row["g"] for row in grid if row["varies"] == "g"] == ["A", "B", "C"]
agree(grid[20], [logistic(eta(d, "A", 3.0)) for d in draws])
for row, f in zip(json.loads(run("contrast", "b", "x - gB", "gB:x" if "gB:x" in open("b/summary.csv").read() else "x:gB", "2*(x + `gC`)^2/4 - 1e-3",
                                 "inv_logit(Intercept)", "--json")),
                  (lambda d: d["b_x"] - d["b_gB"], lambda d: d["b_x_gB"], lambda d: 2 * (d["b_x"] + d["b_gC"]) ** 2 / 4 - 1e-3,
                   lambda d: logistic(d["b_Intercept"]))):
    agree(row, [f(d) for d in draws])
    assert abs(row["p_above"] - statistics.fmean(f(d) > 0 for d in draws)) < 1e-12
agree(json.loads(run("contrast", "b", "x", "--exponentiate", "--json"))[0], [math.exp(d["b_x"]) for d in draws])
effects = json.loads(run("contrast", "b", "--effect", "g", "--effect", "x", "--population", "new.csv", "--json"))
assert [e["name"] for e in effects] == ["g: B - A", "g: C - A", "x: slope"]
agree(effects[1], [statistics.fmean(logistic(eta(d, "C", x)) - logistic(eta(d, "A", x)) for _, x in new) for d in draws])
slope = [statistics.fmean((d["b_x"] + d.get(f"b_x_g{g}", 0)) * logistic(eta(d, g, x)) * (1 - logistic(eta(d, g, x)))
                          for g, x in new) for d in draws]
agree(effects[2], slope, 2e-4)  # at the bound the difference is one-sided

# gaussian: responses have the residual's spread
draws = fit("t ~ x", "gaussian", "d.csv", "d.yaml", "t")
agree(table(run("predict", "t", "--newdata", "new.csv"))[1], [d["b_Intercept"] - 1.5 * d["b_x"] for d in draws])
row = table(run("predict", "t", "--newdata", "new.csv", "--response"))[1]
assert abs(float(row["sd"]) / statistics.fmean(d["sigma"] for d in draws) - 1) < 0.2, row
assert run("predict", "t", "--newdata", "new.csv", "--response", "--seed", "2") != run("predict", "t", "--newdata", "new.csv", "--response")
fit("t ~ x", "gaussian", "d.csv", "d.yaml", "known", "--sd", "0.05")
row = table(run("predict", "known", "--newdata", "new.csv", "--response"))[1]
assert 0.035 < float(row["sd"]) < 0.07, row

# poisson, categorical
draws = fit("n ~ x", "poisson", "d.csv", "d.yaml", "n")
agree(table(run("predict", "n", "--newdata", "new.csv"))[0], [math.exp(d["b_Intercept"] + 0.25 * d["b_x"]) for d in draws])
row = table(run("predict", "n", "--newdata", "new.csv", "--response"))[0]
rate = statistics.fmean(math.exp(d["b_Intercept"] + 0.25 * d["b_x"]) for d in draws)
assert abs(float(row["mean"]) - rate) < 6 * math.sqrt(rate / len(draws)), (row, rate)
draws = fit("c ~ x", "categorical", "d.csv", "d.yaml", "c")
out = table(run("predict", "c", "--newdata", "new.csv"))
assert [row["class"] for row in out] == list("pqr") * 3
weights = [[1, math.exp(d["b_q_Intercept"] + 0.25 * d["b_q_x"]), math.exp(d["b_r_Intercept"] + 0.25 * d["b_r_x"])] for d in draws]
for k in range(3):
    agree(out[k], [w[k] / sum(w) for w in weights])
out = table(run("predict", "c", "--newdata", "new.csv", "--response"))
assert abs(sum(float(row["mean"]) for row in out) - 3) < 1e-9

# bad input: one clear line each, nothing written
for text, pattern in (("g,x\nA,9\n", "bad.csv:2:3: column 'x': outside its bounds in the schema, where the fit says nothing"),
                      ("g,x\nZ,1\n", "bad.csv:2:1: column 'g'"), ("g,x\n,1\n", "bad.csv:2:1: column 'g': a missing value, and the schema has no public"),
                      ("g\nA\n", "'x'"), ("", "bad.csv"), ("g,x\n", "bad.csv has no rows below its header")):
    pathlib.Path("bad.csv").write_text(text)
    said = run("predict", "b", "--newdata", "bad.csv", "--out", "never.csv", status=3)
    assert pattern in said and said.count("\n") == 1 and not os.path.exists("never.csv"), said
for expression, pattern in (("x - foo", "no parameter"), ("x +", "it ends where"), ("(x", "expected ')'"), ("x x", "expected + - * / ^"),
                            ("`z`", "no parameter has this label"), ("exp x", "expected '('"), ("(" * 100 + "x", "nested deeper")):
    assert pattern in run("contrast", "b", expression, status=3), expression
for expression in ("x / 0", "log(-exp(x))", "1 / (x - x)"):  # a share of the draws that are left would be one of others
    assert "draws it is no finite number" in run("contrast", "b", expression, status=2), expression
assert "--population" in run("contrast", "b", "--effect", "x", status=2)
assert "has no column 'gg'" in run("contrast", "b", "--effect", "gg", "--population", "new.csv", status=3)
assert "exclude" in run("predict", "b", "--newdata", "new.csv", "--response", "--linear", status=2)
assert run("predict", "b", "--newdata", "grid", "--out", "new.csv", status=1).count("\n") == 1
os.unlink("b/schema.yaml")
assert "schema.yaml" in run("predict", "b", "--newdata", "new.csv", status=1)

# Labels that would be the same; what is missing in new rows. Of kernels and of a program alike.
pathlib.Path("same.csv").write_text("sex,sexM,sigma,x,b_x,y,k,t\n" + "".join(
    f"{'FM'[i % 2]},{rng.uniform(-1, 1):.3f},{rng.uniform(0, 2):.3f},{rng.uniform(-1, 1):.3f},{rng.uniform(-1, 1):.3f},{rng.randrange(2)},{rng.randrange(9)},"
    f"{rng.uniform(1, 9):.3f}\n" for i in range(300)))
pathlib.Path("same.yaml").write_text(
    "columns:\n  sex: {type: categorical, levels: [F, M], missing: drop}\n  sexM: {type: numeric, lower: -1, upper: 1, missing: 0.25}\n"
    "  sigma: {type: numeric, lower: 0, upper: 2}\n  x: {type: numeric, lower: -1, upper: 1, missing: drop}\n  b_x: {type: numeric, lower: -1, upper: 1}\n"
    "  y: {type: binary}\n  k: {type: integer, lower: 0, upper: 9}\n  t: {type: numeric, lower: 1, upper: 9}\n")
pathlib.Path("rows.csv").write_text("sex,sexM,sigma,x,b_x\nM,0.25,1,0.5,-1\nM,,1,0.5,-1\n")
pathlib.Path("gone.csv").write_text("sex,sexM,sigma,x,b_x\nM,0.25,1,0.5,-1\nM,0.5,1,,-1\n")
for family, response in (("bernoulli", "y"), ("gaussian", "t"), ("negbinomial", "k"), ("lognormal", "t")):
    out = f"same-{family}"
    draws = fit(f"{response} ~ sex + sexM + sigma + x + b_x", family, "same.csv", "same.yaml", out)
    own = "(sigma)" if family in ("gaussian", "lognormal") else "sigma"
    for label, name in (("sex[M]", "b_sex_M"), ("sexM", "b_sexM"), ("`sigma`", "b_sigma"), ("x", "b_x"), ("`b_x`", "b_b_x"), ("b_b_x", "b_b_x"),
                        *([("(sigma)", "sigma")] if own != "sigma" else [])):
        agree(json.loads(run("contrast", out, label, "--json"))[0], [d[name] for d in draws])
    assert "another's name" in run("contrast", out, "b_x", status=3)
    link = [d["b_Intercept"] + d["b_sex_M"] + 0.25 * d["b_sexM"] + d["b_sigma"] + 0.5 * d["b_x"] - d["b_b_x"] for d in draws]
    for row in table(run("predict", out, "--newdata", "rows.csv", "--linear")):
        agree(row, link)
    assert "row 2: column 'x' is missing" in run("predict", out, "--newdata", "gone.csv", status=3)
    assert "column 'x' is missing" in run("contrast", out, "--effect", "sexM", "--population", "gone.csv", status=3)

side = run("compare", "t", "known", "n")
assert "sigma" in side and side.count("NOT PRIVATE") == 3
print("ok")
