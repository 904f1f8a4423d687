"""Statistics released, and inference from them."""
import csv
import json
import os
import pathlib
import re

from case_engine import DELTA, case, common_faults, export, infer, release, run


def run_all():
    @case("infer: all models and methods; a report that says it is post-processing")
    def _():
        few = ["--chains", "2", "--draws", "200", "--warmup", "100", "--seed", "1"]
        cases = [("gauss", "mean", "gibbs"), ("gauss", "mean", "hmc"), ("gauss", "mean", "marginal"), ("gauss2", "moments", "gibbs"),
                 ("gauss2", "moments", "hmc"), ("gauss", "gauss-mean", "auto"), ("poisson", "sum", "gibbs"),
                 ("poisson", "sum", "marginal"), ("table", "counts", "gibbs"), ("table", "counts", "marginal"),
                 ("factors", "cells", "gibbs")]
        means = {}
        for number, (model, statistic, method) in enumerate(cases):
            words = infer(model, statistic, "--method", method, *few)
            words[words.index("out")] = f"infer{number}"
            done = run(words)
            assert not common_faults(done) and done.returncode == 0, (words, done.stderr)
            assert "inference from it costs no privacy" in done.stdout, done.stdout
            statement = json.load(open(f"infer{number}/privacy.json"))
            assert statement["private"] is True and statement["post_processing"] is True
            assert statement["exact"] is (method != "marginal" or model != "gauss")
            assert sorted(os.listdir(f"infer{number}") + ["diagnostics.json", "schema.yaml"]) == sorted(os.listdir("p1"))
            rows = list(csv.DictReader(open(f"infer{number}/summary.csv")))
            means.setdefault((model, statistic), []).append((float(rows[0]["mean"]), float(rows[0]["sd"])))
            done = run(["summary", f"infer{number}"])
            assert done.returncode == 0 and "at no further privacy cost" in done.stdout, done.stderr
        for results in means.values():
            for mean, sd in results:
                assert abs(mean - results[0][0]) < sd, means

    @case("infer: noise by calibration, its cost, and a warning where the classical one protects less")
    def _():
        few = ["--chains", "1", "--draws", "20", "--warmup", "20"]
        done = run([w if w != "out" else "cal1" for w in infer("gauss", "gauss-mean", *few)])
        statement = json.load(open("cal1/privacy.json"))
        assert abs(statement["epsilon"] - 1) < 1e-6 and statement["delta"] == 1e-5 and "warning: classical" not in done.stderr
        assert re.search(r"scale 0\.0373\d", done.stdout), done.stdout  # 0.01 / sqrt(2 rho), rho = tacit_gaussian_rho(1, log 1e-5)
        done = run([w if w != "out" else "cal2" for w in infer("gauss", "classical", *few)])
        assert "its true delta is 2.27e-05, not 1e-05" in done.stderr, done.stderr
        done = run([w if w != "out" else "cal3" for w in infer("gauss", "n-mean", *few, n=())])
        assert done.returncode == 0 and "noise laplace, scale 0.01 (epsilon 1, delta 0" in done.stdout, done.stdout
        done = run([w if w != "out" else "cal4" for w in infer("gauss", "mean", *few, n=("--n", "50000"))])
        assert "method marginal (chosen): 50000 records replaced" in done.stdout, done.stdout

    @case("infer: a program's table and a sum of real numbers together")
    def _():
        done = run(["infer", "income.stan", "--statistic", "capped.yaml", "--n", "48210", "--chains", "1", "--warmup", "40", "--draws", "30",
                    "--seed", "1",
                    "--out", "capped"])
        assert done.returncode == 0 and "method gibbs (chosen): records drawn along with the parameters, exactly" in done.stdout, done
        rows = list(csv.DictReader(open("capped/summary.csv")))
        assert abs(float(rows[0]["mean"]) - 10.46) < 0.05 and abs(float(rows[1]["mean"]) - 0.717) < 0.05, rows
        assert rows[0]["sd"] == "NaN", rows
        checks = json.load(open("capped/diagnostics.json"))["checks"]
        assert {c["term"]: c["verdict"] for c in checks if c["id"] == "statistic-contradicts"} == {"table": "problem", "capped": "problem"}, checks
        done = run(["diagnose", "capped"])
        assert done.returncode == 5 and "problem  capped: the model cannot have brought forth what was published" in done.stdout, done

    @case("infer: what a program fits is not flagged")
    def _():
        done = run(["infer", "income.stan", "--statistic", "fitting.yaml", "--n", "48210", "--chains", "2", "--warmup", "200", "--draws", "200",
                    "--seed", "1",
                    "--out", "fitting"])
        assert done.returncode == 0 and "problem" not in done.stdout and "published (p" not in done.stdout, done
        checks = json.load(open("fitting/diagnostics.json"))["checks"]
        assert [c["verdict"] for c in checks] == ["fine"] * 3 and {c["term"] for c in checks} == {"table", ""}, checks
        assert abs(float(list(csv.DictReader(open("fitting/summary.csv")))[1]["mean"]) - 0.753) < 0.02

    @case("infer: a ridge that narrows is said")
    def _():
        with open("ridge.stan", "w") as file:
            file.write("data { real<lower=0> x; } parameters { real mu; real<lower=0> sigma; } model { mu ~ normal(1, 1); sigma ~ exponential(1); "
                       "x ~ lognormal(mu, sigma); } statistic { high = count(x > 4); }")
        with open("ridge.yaml", "w") as file:
            file.write("n: 7874\nstatistics:\n  high: {mechanism: geometric, scale: 4, value: [6499, 1377]}\n")
        done = run(["infer", "ridge.stan", "--statistic", "ridge.yaml", "--chains", "2", "--warmup", "200", "--draws", "400", "--seed", "1",
                    "--out", "ridge"])
        assert done.returncode == 0 and "of trajectories was lost where the posterior narrows" in done.stderr, done
        checks = json.load(open("ridge/diagnostics.json"))["checks"]
        assert [c["verdict"] for c in checks if c["id"] == "trajectories-lost"] == ["warning"], checks

    @case("release and infer: a private analysis without editing a file")
    def _():
        few = ["--chains", "2", "--draws", "300", "--warmup", "200", "--seed", "1"]
        steps = {"gaussian": DELTA, "laplace": [], "discrete-gaussian": [*DELTA, "--step", "0.5"], "discrete-laplace": ["--step", "0.5"]}
        for mechanism, extra in steps.items():
            for statistic, column, model, expected in (("clamped-mean", "hours", "hours", (40, 1.5)), ("clamped-mean", "kids", "poisson", (0.5, 0.2)),
                                                       ("counts", "sex,smoker", "people", (0.5, 0.05))):
                options = extra[:2] if column == "kids" and extra[:1] == ["--delta"] else extra if column == "hours" else [w for w in extra
                                                                                                                           if w in DELTA]
                name = f"{mechanism}-{column}"
                words = [w if w != "out" else name + ".yaml" for w in release(statistic, column, "--mechanism", mechanism, *options, epsilon="5")]
                done = run(words)
                assert done.returncode == 0 and f"cost: epsilon 5 at delta {'1e-06' if 'gaussian' in mechanism else '0'}" in done.stdout, (words,
                                                                                                                                           done)
                assert run(words).returncode == 1, "written over"
                done = run(["infer", f"{model}-model.yaml", "--statistic", name + ".yaml", "--out", "post-" + name, *few])
                assert done.returncode == 0 and "(epsilon 5, delta" in done.stdout, (name, done)
                rows = list(csv.DictReader(open(f"post-{name}/summary.csv")))
                mean, tolerance = expected
                assert abs(float(rows[0]["mean"]) - mean) < tolerance, (name, rows[0])

    @case("release and infer: a linear regression, on the scale of the columns")
    def _():
        done = run([w if w != "out" else "xy.yaml" for w in ["release", "y ~ x", *release("moments", None, *DELTA, epsilon="100")[1:]]])
        assert done.returncode == 0 and "5 values" in done.stdout, done
        done = run(["infer", "regression-model.yaml", "--statistic", "xy.yaml", "--out", "post-xy", "--chains", "2", "--draws", "200",
                    "--warmup", "20"])
        assert done.returncode == 0 and "method marginal (chosen)" in done.stdout and "(approximate)" in done.stdout, done
        assert json.load(open("post-xy/privacy.json"))["exact"] is False
        rows = list(csv.DictReader(open("post-xy/summary.csv")))
        assert abs(float(rows[1]["mean"]) - 1.5) < 0.15, rows
        assert abs(float(rows[2]["mean"]) - 0.29) < 0.09, rows  # of 23 equally spaced numbers; prior and noise of the squares besides

    @case("release and infer: a logistic regression, on the scale of the columns")
    def _():
        done = run([w if w != "out" else "oldx.yaml" for w in ["release", "old ~ x", *release("score", None, *DELTA, epsilon="100")[1:]]])
        assert done.returncode == 0 and "4 values" in done.stdout, done
        done = run(["infer", "logistic-model.yaml", "--statistic", "oldx.yaml", "--out", "post-oldx", "--chains", "2", "--draws", "200",
                    "--warmup", "20"])
        assert done.returncode == 0 and "method marginal (chosen)" in done.stdout and "(epsilon 100, delta 1e-06" in done.stdout, done
        exposed = run(["fit", "old ~ x", "--family", "bernoulli", "--data", "people.csv", "--schema", "people.yaml", "--method", "hmc",
                       "--exposed", "--out", "exposed-oldx"])
        assert exposed.returncode == 0, exposed
        rows, exact = (list(csv.DictReader(open(folder + "/summary.csv"))) for folder in ("post-oldx", "exposed-oldx"))
        assert len(rows) == len(exact) == 2, rows
        for mine, other in zip(rows, exact):
            assert abs(float(mine["mean"]) - float(other["mean"])) < 3 * float(other["sd"]), (rows, exact)

    @case("release: seeded noise repeats and says that it protects nobody; secret noise does not repeat")
    def _():
        for name, extra in (("seed1", ["--seed", "3"]), ("seed2", ["--seed", "3"]), ("secret1", []), ("secret2", [])):
            done = run([w if w != "out" else name + ".yaml" for w in release("clamped-mean", "hours", *DELTA, *extra)])
            assert ("NOT PRIVATE" in done.stdout) is (extra != []), done.stdout
        texts = [open(name + ".yaml").read() for name in ("seed1", "seed2", "secret1", "secret2")]
        assert texts[0] == texts[1] and texts[2] != texts[3] and "is_private: false" in texts[0] and "is_private: true" in texts[2]
        done = run(["infer", "hours-model.yaml", "--statistic", "seed1.yaml", "--out", "post-seed", "--chains", "1", "--draws", "20"])
        assert "not private" in done.stderr and "(epsilon" not in done.stdout, done

    @case("release: ledgers add up gaussian and pure releases")
    def _():
        run(["ledger", "init", "people.ledger", "--data-id", "people", "--epsilon", "3", *DELTA])
        words = release("clamped-mean", "hours", "--ledger", "people.ledger", "--data-id", "people")
        first = run([w if w != "out" else "l1.yaml" for w in words + DELTA])
        second = run([w if w != "out" else "l2.yaml" for w in words + ["--mechanism", "laplace"]])
        assert first.returncode == 4 or first.returncode == 0, first
        state = json.loads(run(["ledger", "export", "people.ledger", "--json"]).stdout)
        labels = [e["label"] for spend in state["spends"] for e in spend["events"]]
        assert labels == ["clamped sum"], labels  # epsilon 1 as gaussian has room; pure epsilon 1 is a gaussian of rho 0.76
        assert second.returncode == 4 and "room for" in second.stderr and not os.path.exists("l2.yaml"), second
        third = run([w if w != "out" else "l3.yaml" for w in release("clamped-mean", "hours", "--ledger", "people.ledger", "--mechanism", "laplace",
                                                                     epsilon="0.2")])
        assert third.returncode == 0, third

    @case("release: ledgers take discrete gaussian counts")
    def _():
        run(["ledger", "init", "counts.ledger", "--data-id", "people", "--epsilon", "3", *DELTA])
        done = run([w if w != "out" else "dg.yaml" for w in
                    release("counts", "sex", *DELTA, "--mechanism", "discrete-gaussian", "--ledger", "counts.ledger")])
        assert done.returncode == 0, done
        state = export("counts.ledger")
        (event,) = state["spends"][0]["events"]
        assert event["event"].startswith("discrete-gaussian:sigma=") and state["spends"][0]["status"] == "settled", state
        assert 0.99 < state["epsilon_spent"] < 1.03, state
        assert "x discrete-gaussian:sigma=" in run(["ledger", "show", "counts.ledger"]).stdout

    @case("infer: seeded runs repeat, on any number of threads")
    def _():
        few = ["--chains", "3", "--draws", "50", "--warmup", "20", "--quiet", "--seed", "4"]
        for name, threads in (("same1", "1"), ("same2", "3")):
            run([w if w != "out" else name for w in infer("gauss", "mean", *few, "--threads", threads)])
        for chain in (1, 2, 3):
            assert open(f"same1/draws-{chain}.csv").read() == open(f"same2/draws-{chain}.csv").read()

    @case("plan for persons of several rows recommends nothing that fit refuses")
    def _():
        pathlib.Path("persons.yaml").write_text("relation: substitute\nunit: who\nmax_rows: 3\ncolumns:\n  who: {type: id}\n  y: {type: binary}\n"
                                               "  x: {type: numeric, lower: 0, upper: 1}\n")
        said = run(["plan", "y ~ x", "--family", "bernoulli", "--schema", "persons.yaml", "--n", "100000", "--epsilon", "8",
                    "--delta", "1e-7"]).stdout
        by_record = [line.split()[0] for line in said.split("\n") if "goes by records" in line]
        assert {"dp-mala", "dp-sgld", "dp-fast-mh"} <= set(by_record) and "Recommended: --method noise-aware" in said, said
