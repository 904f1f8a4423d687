#!/usr/bin/env python3
"""tacit predict and contrast of fits of programs, and of families that are programs, against the same computed here from the written draws.

    check_predict_programs.py TACIT
"""
import csv
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

from written_draws import agree, draws_of

TACIT = os.path.abspath(sys.argv[1])


def run(*words, status=0):
    done = subprocess.run([TACIT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stderr if status else done.stdout


def fit(model, out, *more):
    run("fit", model, "--data", "d.csv", "--schema", "d.yaml", "--method", "hmc", "--exposed", "--out", out, "--draws", "200", "--warmup", "200",
        "--chains", "2",
        "--seed", "5", "--quiet", *more)
    return draws_of(out)


def predict(out, *words):
    return list(csv.DictReader(run("predict", out, "--newdata", "new.csv", *words).splitlines()))


def logistic(x):
    return 1 / (1 + math.exp(-x))


# A response's mean, over seeds, is within 6 standard errors of what the draws say: 1e-9 a comparison.
def responses_agree(out, row, mean, variance, draws, outcome=None, seeds=range(1, 11)):
    expected = statistics.fmean(mean(d) for d in draws)
    spread = statistics.fmean(variance(d) + (mean(d) - expected) ** 2 for d in draws)
    found = []
    for seed in seeds:
        rows = [r for r in predict(out, "--response", "--seed", str(seed)) if outcome is None or r["class"] == outcome]
        found.append(float(rows[row]["mean"]))
    assert abs(statistics.fmean(found) - expected) < 6 * math.sqrt(spread / (len(found) * len(draws))) + 1e-9, (out, statistics.fmean(found),
                                                                                                                expected)


os.chdir(tempfile.mkdtemp())
rng = random.Random(11)
lines = []
for i in range(400):
    x, g, w = rng.uniform(-2, 3), rng.choice("ABC"), rng.choice((0.5, 1, 2))
    n = sum(rng.random() < math.exp(0.3 + 0.4 * x) / 60 for _ in range(60)) * (rng.random() < 0.8)
    t = rng.weibullvariate(math.exp(1 + 0.3 * x), 1.5)
    o = ["lo", "mid", "hi"][min(2, max(0, int(1 + 0.5 * x + rng.gauss(0, 0.7))))]
    y = max(-9.9, min(11.9, 1 + 2 * x + rng.gauss(0, 1)))
    tr = rng.randrange(1, 10)
    lines.append(f"{x:.4f},{g},{w},{n},{max(min(t, 9), 0.01):.4f},{int(t > 9)},{o},{rng.choice('pqr')},{y:.4f},{tr},{sum(rng.random() < 0.4 for _ in range(tr))}")
pathlib.Path("d.csv").write_text("x,g,w,n,t,late,o,c,y,tr,k\n" + "\n".join(lines) + "\n")
pathlib.Path("d.yaml").write_text(
    "columns:\n  x: {type: numeric, lower: -2, upper: 3}\n  g: {type: categorical, levels: [A, B, C]}\n  w: {type: numeric, lower: 0.5, upper: 2}\n"
    "  n: {type: integer, lower: 0, upper: 60}\n  t: {type: numeric, lower: 0.001, upper: 9}\n  late: {type: binary}\n"
    "  o: {type: categorical, levels: [lo, mid, hi]}\n  c: {type: categorical, levels: [p, q, r]}\n  y: {type: numeric, lower: -10, upper: 12}\n"
    "  tr: {type: integer, lower: 1, upper: 10}\n  k: {type: integer, lower: 0, upper: 10}\n")
pathlib.Path("new.csv").write_text("g,w,x,tr\nA,1,0.25,3\nC,2,-1.5,10\nB,0.5,3,1\n")
new = [("A", 1, 0.25, 3), ("C", 2, -1.5, 10), ("B", 0.5, 3.0, 1)]
PLACE = {"A": 1, "B": 2, "C": 3}

# negative binomial with an offset and a group's effects: rates, linear predictors, contrasts, average effects
draws = fit("n ~ x + offset(log(w)) + (1 | g)", "nb", "--family", "negbinomial")


def eta(d, g, w, x):
    return d["b_Intercept"] + d["b_x"] * x + math.log(w) + d[f"r_g_1.{PLACE[g]}"]


for words, link in (([], math.exp), (["--linear"], float)):
    out = predict("nb", *words)
    assert len(out) == 3 and list(out[0]) == ["mean", "sd", "q5", "q50", "q95"]
    for row, (g, w, x, _) in zip(out, new):
        agree(row, [link(eta(d, g, w, x)) for d in draws])
responses_agree("nb", 2, lambda d: math.exp(eta(d, "B", 0.5, 3)), lambda d: math.exp(eta(d, "B", 0.5, 3))
                + math.exp(2 * eta(d, "B", 0.5, 3)) / d["phi"], draws)
effects = json.loads(run("contrast", "nb", "--effect", "g", "--effect", "x", "--population", "new.csv", "--json"))
assert [e["name"] for e in effects] == ["g: B - A", "g: C - A", "x: slope"]
agree(effects[0], [statistics.fmean(math.exp(eta(d, "B", w, x)) - math.exp(eta(d, "A", w, x)) for _, w, x, _ in new) for d in draws])
assert "Expected response" in open("nb/report.html").read()  # curves along x and w
ratio = json.loads(run("contrast", "nb", "b_x", "--exponentiate", "--json"))[0]
assert ratio["of_coefficient"] == "a rate ratio", ratio
agree(ratio, [math.exp(d["b_x"]) for d in draws])
grid = list(csv.DictReader(run("predict", "nb", "--newdata", "grid").splitlines()))
assert [row["g"] for row in grid if row["varies"] == "g"] == ["A", "B", "C"] and {row["varies"] for row in grid} == {"x", "g", "w"}

# ordered classes: a probability of each level, and drawn levels; the linear predictor is 0 in the middle of x
draws = fit("o ~ x", "cu", "--family", "cumulative")
out = predict("cu")
assert [row["class"] for row in out] == ["lo", "mid", "hi"] * 3
for i, (_, _, x, _) in enumerate(new):
    low = [logistic(d["cut.1"] - d["b_x"] * (x - 0.5)) for d in draws]
    high = [1 - logistic(d["cut.2"] - d["b_x"] * (x - 0.5)) for d in draws]
    agree(out[3 * i], low)
    agree(out[3 * i + 1], [1 - a - b for a, b in zip(low, high)])
    agree(out[3 * i + 2], high)
linear = predict("cu", "--linear")
assert len(linear) == 3 and "class" not in linear[0]
agree(linear[2], [2.5 * d["b_x"] for d in draws])
responses_agree("cu", 1, lambda d: logistic(d["cut.1"] + 2 * d["b_x"]), lambda d: 0.25, draws, "lo")

# classes beside the first, as the program of a formula with a group
draws = fit("c ~ x + (1 | g)", "ca", "--family", "categorical")
out, linear = predict("ca"), predict("ca", "--linear")
assert [row["class"] for row in linear] == ["q", "r"] * 3
for i, (g, _, x, _) in enumerate(new):
    of = [[d[f"b_{c}_Intercept"] + d[f"b_{c}_x"] * x + d[f"r_g_1.{k}.{PLACE[g]}"] for k, c in ((1, "q"), (2, "r"))] for d in draws]
    for k in range(2):
        agree(linear[2 * i + k], [e[k] for e in of])
        agree(out[3 * i + 1 + k], [math.exp(e[k]) / (1 + sum(map(math.exp, e))) for e in of])

# a censored time is predicted uncensored
draws = fit("t | cens(late) ~ x", "we", "--family", "weibull")
out = predict("we")
for row, (_, _, x, _) in zip(out, new):
    agree(row, [math.exp(d["b_Intercept"] + d["b_x"] * x + math.lgamma(1 + 1 / d["shape"])) for d in draws])
assert "exp(-shape * b)" in run("contrast", "we", "b_x", "--exponentiate")
scale = [math.exp(d["b_Intercept"] + 3 * d["b_x"]) for d in draws]
late = statistics.fmean(math.exp(-(9 / s) ** d["shape"]) for s, d in zip(scale, draws))
assert late > 0.1  # q95 is beyond where the data end
assert float(predict("we", "--response")[2]["q95"]) > 9
responses_agree("we", 0, lambda d: math.exp(d["b_Intercept"] + 0.25 * d["b_x"] + math.lgamma(1 + 1 / d["shape"])),
                lambda d: math.exp(2 * (d["b_Intercept"] + 0.25 * d["b_x"])) * math.gamma(1 + 2 / d["shape"]), draws)

# heavy tails, on the scale of the column
draws = fit("y ~ x", "st", "--family", "student")
for row, (_, _, x, _) in zip(predict("st"), new):
    agree(row, [d["b_Intercept"] + d["b_x"] * x for d in draws])
responses_agree("st", 1, lambda d: d["b_Intercept"] - 1.5 * d["b_x"],
                lambda d: d["sigma"] ** 2 * (d["nu"] / (d["nu"] - 2) if d["nu"] > 3 else 3), draws)

# more zeros
draws = fit("n ~ x", "zi", "--family", "zero_inflated_poisson")
for row, (_, _, x, _) in zip(predict("zi"), new):
    agree(row, [(1 - d["zero"]) * math.exp(d["b_Intercept"] + d["b_x"] * x) for d in draws])
responses_agree("zi", 2, lambda d: (1 - d["zero"]) * math.exp(d["b_Intercept"] + 3 * d["b_x"]),
                lambda d: 2 * math.exp(d["b_Intercept"] + 3 * d["b_x"]) + math.exp(2 * (d["b_Intercept"] + 3 * d["b_x"])) * d["zero"], draws)

# hurdles: given that there is anything at all
draws = fit("n ~ x", "hn", "--family", "hurdle_negbinomial")


def hurdle(d, x):
    mean = math.exp(d["b_Intercept"] + d["b_x"] * x)
    return (1 - d["zero"]) * mean / (1 - (d["phi"] / (d["phi"] + mean)) ** d["phi"])


for row, (_, _, x, _) in zip(predict("hn"), new):
    agree(row, [hurdle(d, x) for d in draws])
for row, x in ((0, 0.25), (1, -1.5), (2, 3)): # both ways of drawing what is not zero
    responses_agree("hn", row, lambda d: hurdle(d, x), lambda d: 3 * hurdle(d, x) * (1 + hurdle(d, x)), draws)

# trials are a column of the rows
draws = fit("k | trials(tr) ~ x", "bb", "--family", "beta_binomial")
for row, (_, _, x, tr) in zip(predict("bb"), new):
    agree(row, [tr * logistic(d["b_Intercept"] + d["b_x"] * x) for d in draws])
responses_agree("bb", 1, lambda d: 10 * logistic(d["b_Intercept"] - 1.5 * d["b_x"]), lambda d: 25, draws)

# a program of arrays, with public numbers, two outcomes, one of which the other is told by
pathlib.Path("own.stan").write_text("""data {
  int<lower=0> N;
  vector[N] x;
  vector[N] y;
  array[N] int<lower=1, upper=3> g;
  array[N] int<lower=0> n;
  real half;
}
parameters { vector[3] a; real b; real c; real<lower=0> s; simplex[2] share; }
transformed parameters { real slope = b / half; }
model {
  a ~ normal(0, 3); b ~ normal(0, 3); c ~ normal(0, 1); s ~ normal(0, 2);
  y ~ normal(a[g] + slope * x, s);
  for (i in 1:N) target += poisson_log_lpmf(n[i] | c + 0.1 * y[i] + log(share[1]));
}
""")
draws = fit("own.stan", "own", "--set", "half=2.5")
pathlib.Path("new.csv").write_text("g,x,y\nA,0.25,2\nC,-1.5,-1\nB,3,7\n")
out = predict("own")
assert [row["class"] for row in out] == ["y", "n"] * 3
for i, (g, x, y) in enumerate((("A", 0.25, 2), ("C", -1.5, -1), ("B", 3, 7))):
    agree(out[2 * i], [d[f"a.{PLACE[g]}"] + d["b"] / 2.5 * x for d in draws])
    agree(out[2 * i + 1], [d["share.1"] * math.exp(d["c"] + 0.1 * y) for d in draws])
os.rename("own.stan", "elsewhere.stan")  # the program comes from the fit
assert predict("own") == out

# truncated: by draws, and said
pathlib.Path("cut.stan").write_text("data { real x; real<lower=-10, upper=12> y; }\nparameters { real a; real b; real<lower=0> s; }\n"
                                    "model { a ~ normal(0, 5); b ~ normal(0, 5); s ~ normal(0, 3); y ~ normal(a + b * x, s) T[-10, 12]; }\n")
draws = fit("cut.stan", "cut")
done = subprocess.run([TACIT, "predict", "cut", "--newdata", "new.csv"], capture_output=True, text=True)
assert done.returncode == 0 and "mean of 200 draws" in done.stderr, done
for row, x in zip(csv.DictReader(done.stdout.splitlines()), (0.25, -1.5, 3)):
    expected = [d["a"] + d["b"] * x for d in draws]  # the bounds are far
    assert abs(float(row["mean"]) - statistics.fmean(expected)) < 6 * statistics.fmean(d["s"] for d in draws) / math.sqrt(200 * len(draws)), row

# weighted: what the graph moves from density to weight, signs and constants, is no second density
for place, weight in enumerate(("w * ", "0.5 * w * ", "2 * ")):
    pathlib.Path("weighted.stan").write_text("data { real x; real w; int<lower=0, upper=1> late; }\nparameters { real a; real b; }\n"
                                             f"model {{ a ~ normal(0, 5); b ~ normal(0, 5); target += {weight}bernoulli_logit_lpmf(late | a + b * x); }}\n")
    draws = fit("weighted.stan", f"weighted-{place}")
    for row, (_, _, x, _) in zip(predict(f"weighted-{place}"), new, strict=True):
        agree(row, [logistic(d["a"] + d["b"] * x) for d in draws])

# what has no answer is refused, in one line
MIXTURE = "data { real x; real y; }\nparameters { real a; real b; real<lower=0> s; }\nmodel { a ~ normal(0, 5); b ~ normal(0, 5); s ~ normal(0, 3); %s }\n"
for name, statement, pattern in (
        ("mix", "target += log_mix(0.5, normal_lpdf(y | a, s), normal_lpdf(y | b * x, s));", "holds more than one density"),
        ("byhand", "target += normal_lpdf(y | a + b * x, s) - normal_lccdf(-10 | a + b * x, s);", "more than one density"),
        ("scaled", "target += s * normal_lpdf(y | a + b * x, s);", "times what depends on parameters"),
        ("algebra", "target += -0.5 * square((y - a - b * x) / s) - log(s);", "holds no density"),
        ("cauchy", "y ~ cauchy(a + b * x, s);", "does not exist")):
    pathlib.Path(f"{name}.stan").write_text(MIXTURE % statement)
    fit(f"{name}.stan", name)
    said = run("predict", name, "--newdata", "new.csv", status=3)
    assert pattern in said and said.count("\n") == 1, said
assert len(predict("cauchy", "--linear")) == 3

# bad rows: one clear line each, nothing written
for text, pattern in (("g,w,x\nZ,1,0\n", "bad.csv:2:1: column 'g'"), ("g,w,x\nA,1,9\n", "bad.csv:2:5: column 'x'"),
                      ("g,w,x\nA,,1\n", "bad.csv:2:3: column 'w'"),
                      ("g,x\nA,1\n", "'w'"), ("", "bad.csv")):
    pathlib.Path("bad.csv").write_text(text)
    said = run("predict", "nb", "--newdata", "bad.csv", "--out", "never.csv", status=3)
    assert pattern in said and said.count("\n") == 1 and not os.path.exists("never.csv"), said
pathlib.Path("narrow.stan").write_text("data { real<lower=0, upper=2> x; real y; }\nparameters { real a; real b; real<lower=0> s; }\n"
                                       "model { a ~ normal(0, 5); b ~ normal(0, 5); s ~ normal(0, 3); y ~ normal(a + b * x, s); }\n")
fit("narrow.stan", "narrow")
assert "column 'x'" in run("predict", "narrow", "--newdata", "new.csv", status=3)  # within the schema, beyond the program
for change in (lambda text: text.replace("negbinomial", "poisson"), lambda text: text.replace("phi ~ gamma(2, 0.5)", "phi ~ gamma(3, 0.5)"),
               lambda text: ""):
    shutil.rmtree("changed", ignore_errors=True)
    shutil.copytree("nb", "changed")
    kept = pathlib.Path("changed/program.stan")
    kept.write_text(change(kept.read_text()))
    said = run("predict", "changed", "--newdata", "new.csv", status=3)
    assert "changed after the fit" in said and said.count("\n") == 1, said
os.unlink("changed/program.stan")
assert "has neither" in run("predict", "changed", "--newdata", "new.csv", status=3)
print("ok")
