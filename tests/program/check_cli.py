#!/usr/bin/env python3
"""tacit model and tacit fit with programs, as a user calls them: check_cli.py TACIT. Exit statuses, names, and that both paths agree."""
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile

tacit, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(tempfile.mkdtemp())
SCHEMA = """dataset: test
columns:
  y: {type: binary}
  x: {type: numeric, lower: -1, upper: 1}
  g: {type: categorical, levels: [a, b, c]}
"""
PROGRAM = """data { int N; int J; vector[N] x; array[N] int<lower=1, upper=J> g; array[N] int<lower=0, upper=1> y; real s; }
parameters { real a; real b; vector[J] w; }
model { a ~ normal(0, s); b ~ normal(0, 2.5); w ~ normal(0, 1); y ~ bernoulli_logit(a + b * (x - mean(x)) + w[g]); }
generated quantities { real odds = exp(b); vector[N] log_lik; }
"""


def run(status, *args):
    result = subprocess.run([str(tacit), *map(str, args)], capture_output=True, text=True, cwd=work)
    assert result.returncode == status, (args, result.returncode, result.stdout, result.stderr)
    return result


def means(folder):
    with (work / folder / "summary.csv").open() as file:
        return {row["name"]: (float(row["mean"]), float(row["sd"])) for row in csv.DictReader(l for l in file if not l.startswith("#"))}


def main():
    generator = random.Random(4)
    rows = [(generator.random() < .5, generator.uniform(-1, 1), generator.choice("abc")) for _ in range(400)]
    (work / "d.csv").write_text("y,x,g\n" + "".join(f"{int(y)},{x:.5f},{g}\n" for y, x, g in rows))
    (work / "s.yaml").write_text(SCHEMA)
    (work / "m.stan").write_text(PROGRAM)
    assert "mean() would go over records" in run(3, "model", "check", "m.stan").stderr
    told = json.loads(run(0, "model", "check", "m.stan", "--schema", "s.yaml", "--set", "mean(x)=0", "--set", "s=5", "--json").stdout)
    assert told["columns"] == ["x", "g", "y"] and told["reported"] == ["a", "b", "w[1]", "w[2]", "w[3]", "odds"], told
    assert told["records"] == "N" and 1 < told["grad_bound"] < 2, told
    assert "no public number is given" in run(3, "model", "check", "m.stan", "--schema", "s.yaml", "--set", "mean(x)=0").stderr
    assert "'g' has 3 levels in the schema, the program says 4" in run(
        3, "model", "check", "m.stan", "--schema", "s.yaml", "--set", "mean(x)=0", "--set", "s=5", "--set", "J=4").stderr
    common = ["--data", "d.csv", "--schema", "s.yaml", "--seed", "1", "--quiet"]
    exposed = ["--method", "hmc", "--exposed", "--draws", "500"]
    # What the parser takes in a row, or nests, is bounded: a stack that overflows is a crash.
    start = "data { int N; vector<lower=-1, upper=1>[N] x; }\nparameters { real m; }\nmodel { m ~ normal(0, 1); "
    functions = "functions { " + "".join(f"real f{i}(real a) {{ return {f'f{i - 1}(a)' if i else 'a'}{' + a' * 900}; }} " for i in range(45)) + "}\n"
    for deep, words in ((start + "for (i in 1:N) target += m" + " + x[i]" * 20000 + "; }", "operations in a row"),
                        (start + "x" + "[1:N]" * 20000 + " ~ normal(m, 1); }", "operations in a row"),
                        (start + "x" + "'" * 20000 + " ~ normal(m, 1); }", "operations in a row"),
                        (start + "for (i in 1:N) target += " + "(" * 20000 + "m" + ")" * 20000 + "; }", "nested more than"),
                        (start + "for (i in 1:N) target += " + "- " * 20000 + "m; }", "nested more than"),
                        (start + "{" * 20000 + "x ~ normal(m, 1);" + "}" * 20000 + " }", "nested more than"),
                        (functions + start + "for (i in 1:N) target += f44(m); }", "deep in each other")):
        (work / "deep.stan").write_text(deep)
        assert words in run(3, "model", "check", "deep.stan").stderr, words
    (work / "deep.stan").write_text(start + "for (i in 1:N) target += m * x[i]" + " + m * x[i]" * 900 + "; }")
    run(0, "model", "check", "deep.stan", "--schema", "s.yaml")
    # Records are no public numbers: outcomes of a second size, and lists that could be of records, want a word that they are public.
    (work / "two.stan").write_text("data { int N; int M; vector<lower=-1, upper=1>[N] x; vector[M] z; }\nparameters { real m; }\n"
                                   "model { m ~ normal(0, 1); x ~ normal(m, 1); z ~ normal(m, 1); }\n")
    (work / "knots.stan").write_text("data { int N; int M; vector<lower=-1, upper=1>[N] x; vector[M] at; }\nparameters { real m; }\n"
                                     "model { m ~ normal(0, 1); for (i in 1:N) x[i] ~ normal(m + fmin(x[i], at[1]) + at[M], 1); }\n")
    few, many = ",".join(["0.5"] * 16), ",".join(["0.5"] * 17)
    (work / "many.json").write_text('{"at": [' + many + "]}")
    for command in (["model", "check"], ["fit"]):
        end = ["--schema", "s.yaml"] if command[0] == "model" else [*common, *exposed, "--out", "refused"]
        said = run(3, *command, "two.stan", "--set", "M=2", "--set", "z=0.1,0.2", *end).stderr
        assert "'z' has a density" in said and "one row a person" in said.lower() and "--public z" in said, said
        for given in (["--set", f"at={many}"], ["--constants", "many.json"]):
            said = run(2, *command, "knots.stan", "--set", "M=17", *given, *end).stderr
            assert "'at' is given as 17 numbers" in said and "--public at" in said, said
        said = run(2, *command, "knots.stan", "--set", "M=16", "--set", f"at={few}", "--public", "ta", *end).stderr
        assert "no numbers are given under that name" in said, said
        assert not (work / "refused").exists()
    run(0, "model", "check", "two.stan", "--set", "M=2", "--set", "z=0.1,0.2", "--public", "z", "--schema", "s.yaml")
    run(0, "model", "check", "knots.stan", "--set", "M=16", "--set", f"at={few}", "--schema", "s.yaml")
    run(0, "model", "check", "knots.stan", "--set", "M=17", "--set", f"at={many}", "--public", "at", "--schema", "s.yaml")
    run(0, "fit", "two.stan", "--set", "M=2", "--set", "z=0.1,0.2", "--public", "z", *common, "--epsilon", "5", "--delta", "1e-6", "--yes", "--out", "two")
    run(0, "refit", "two", "--out", "two-again")
    run(2, "fit", "y ~ x", "--family", "bernoulli", *common, *exposed, "--public", "x", "--out", "refused")
    program = ["fit", "m.stan", "--set", "mean(x)=0", "--set", "s=5", *common]
    run(0, *program, *exposed, "--out", "a")
    assert list(means("a")) == ["a", "b", "w.1", "w.2", "w.3", "odds"]
    assert run(0, "predict", "a", "--newdata", "grid").stdout.count("\n") == 25
    assert "x: slope" in run(0, "contrast", "a", "--effect", "x", "--population", "d.csv").stdout
    run(0, "contrast", "a", "exp(a)", "--json")
    run(0, *program, "--epsilon", "900", "--delta", "1e-6", "--dry-run")  # nothing has to be clipped
    plan = json.loads(run(0, "plan", *program[1:6], "--schema", "s.yaml", "--n", "400", "--epsilon", "900", "--delta", "1e-6", "--json").stdout)
    assert {choice["method"] for choice in plan if choice["iterations"]} >= {"dp-hmc", "dp-penalty"}, plan
    run(2, *program, *exposed, "--family", "bernoulli", "--out", "b")
    run(2, "fit", "y ~ x", "--family", "bernoulli", *common, *exposed, "--set", "s=5", "--out", "b")
    # A formula by its family's kernels and by its program: the same posterior.
    run(0, "fit", "y ~ x", "--family", "bernoulli", *common, *exposed, "--out", "c")
    text = run(0, "fit", "y ~ x", "--family", "bernoulli", "--schema", "s.yaml", "--print-model").stdout
    (work / "p.stan").write_text(text)
    run(0, "fit", "p.stan", "--records", "none", *common, *exposed, "--out", "d")
    kernels, written = means("c"), means("d")
    for name in ("b_x", "b_Intercept"):
        label = name if name in kernels else "Intercept"
        (m, s), (n, t) = kernels[label], written[name]
        assert abs(m - n) < .2 * s and abs(s / t - 1) < .15, (name, kernels, written)  # seeded: comes out the same
    run(0, "fit", "y ~ x + (1 | g)", "--family", "bernoulli", *common, *exposed, "--out", "e")
    assert "r_g_1.3" in means("e")
    # The intercept of outcomes above 0 is about where they can be.
    for bounds, prior in (("10, upper: 400", "normal(4.1, 10)"), (".3, upper: 30", "normal(0, 10)"), (".001, upper: 7", "normal(0, 10)"), (".001, upper: 1000", "normal(3.5, 10)"), (".001, upper: .01", "normal(-5.8, 10)")):
        (work / "wages.yaml").write_text("columns:\n  w: {type: numeric, lower: %s}\n  x: {type: numeric, lower: 0, upper: 1}\n" % bounds)
        for family in ("gamma", "lognormal", "weibull", "exponential"):
            text = run(0, "fit", "w ~ x", "--family", family, "--schema", "wages.yaml", "--print-model").stdout
            assert f"Intercept_s ~ {prior}" in text, (bounds, text)
    # Classes: the same by kernels and by the program.
    run(0, "fit", "g ~ x", "--family", "categorical", *common, *exposed, "--out", "f")
    (work / "q.stan").write_text(run(0, "fit", "g ~ x", "--family", "categorical", "--schema", "s.yaml", "--print-model").stdout)
    run(0, "fit", "q.stan", "--records", "none", *common, *exposed, "--out", "h")
    kernels, written = means("f"), means("h")
    for level in "bc":
        for name in ("x", "Intercept"):
            (m, s), (n, t) = kernels[f"b_{level}_{name}"], written[f"b_{level}_{name}"]
            assert abs(m - n) < .2 * s and abs(s / t - 1) < .15, (level, name, kernels, written)
    (work / "w.yaml").write_text(SCHEMA.replace("{type: binary}", "{type: categorical, levels: ['0', '1']}"))
    run(0, "fit", "g ~ x + (1 | y)", "--family", "categorical", *common[:2], "--schema", "w.yaml", *common[4:], *exposed, "--out", "k")
    assert "r_y_1.2.2" in means("k")
    assert sum(line.startswith("~") for line in run(0, "model", "list").stdout.splitlines()) >= 30
    (work / "rep.stan").write_text("data { int N; vector[N] x; }\nparameters { real a; }\nmodel { a ~ normal(0, 1); x ~ normal(a, 1); }\n"
                                   "generated quantities { array[N] real x_rep = normal_rng(rep_vector(a, N), 1); }\n")
    assert "'x_rep' is not computed" in run(0, "model", "check", "rep.stan").stderr  # a draw for each record has the shape of what takes it
    said = run(2, "model", "check", "rep.stan", "--set", "a=1,b=2").stderr
    assert "'b=2' is no number; each name wants its own: --set a=1 --set b=2" in said, said
    print("ok")


main()
