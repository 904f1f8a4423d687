"""The noise-aware method: all families, persons, seeds, ledgers."""
import csv
import json
import math
import pathlib
import random
import re

from case_engine import AWARE, BASE, DELTA, LEDGER, case, common_faults, export, run


def page(folder):
    return open(f"{folder}/report.html").read()


def run_all():
    @case("noise-aware: seven releases at epsilon 1, near the non-private posterior")
    def _():
        done = run(BASE + AWARE + ["--epsilon", "1", "--delta", "1e-6", "--out", "a1"])
        assert not common_faults(done) and done.returncode == 0 and "7 releases" in done.stderr, done.stderr
        statement = json.load(open("a1/privacy.json"))
        assert sum(e["count"] for e in statement["events"]) == 7 and 0.999 < statement["epsilon"] <= 1
        text = open("a1/privacy.txt").read()
        assert "intervals include" in text and "clipped" not in text and "step-size" not in open("a1/run.yaml").read()
        # non-private means and sds of the README; a mean beyond 8 of twice that sd happens less than once in a million runs
        rows = {row["name"]: row for row in json.loads(run(["summary", "a1", "--json"]).stdout)["parameters"]}
        for name, mean, sd in (("Intercept", -10.95, 0.254), ("age", 0.1313, 0.0035), ("sexM", 0.419, 0.063),
                               ("log(flc)", 0.937, 0.077)):
            assert abs(rows[name]["mean"] - mean) < 16 * sd and 0.8 * sd < rows[name]["sd"] < 8 * sd, rows[name]
            assert rows[name]["rhat"] < 1.05 and rows[name]["ess_bulk"] > 100, rows[name]
        # the report begins with the answer: what 10 years do to the odds, by the very interval of the table, rounded
        answer = re.search(r"Odds of death: multiplied by <strong>([0-9.]+)</strong> \(([0-9.]+) to ([0-9.]+)\) per 10 years of age", page("a1"))
        for said, quantile in zip(answer.groups(), ("q50", "q5", "q95")):
            assert abs(float(said) / math.exp(10 * rows["age"][quantile]) - 1) < .03, (said, rows["age"])
        assert " per doubling of flc" in page("a1")
        assert re.search("Privacy noise (widened the intervals by|made the intervals) ", page("a1"))  # by percent below twice as wide

    @case("the default method is noise-aware where it applies")
    def _():
        def planned(words):
            done = run([*words, "--epsilon", "20", "--delta", "1e-6", "--dry-run", "--seed", "1"])
            assert done.returncode == 0, done.stderr
            why = re.search(r"^plan: not noise-aware: (.*)$", done.stderr, re.M)
            return re.match(r"plan: ([a-z-]+),", done.stderr)[1] + (": " + why[1] if why else "")
        small = ["--family", "bernoulli", "--data", "good.csv", "--schema", "good.yaml"]
        assert planned(BASE) == "noise-aware"
        assert re.match("dp-hmc: --leapfrog is for methods that release at every step", planned(BASE + ["--leapfrog", "2"]))
        assert planned(BASE + ["--method", "dp-hmc", "--leapfrog", "2"]) == "dp-hmc"  # nothing to explain
        assert "needs an intercept" in planned(["fit", "y ~ x + 0", *small, "--draws", "1"])
        pathlib.Path("rates.csv").write_text("n,x\n" + "".join(f"{i % 3},{0.5 + i % 15 / 10}\n" for i in range(600)))
        assert planned(["fit", "n ~ x", "--family", "poisson", "--data", "rates.csv", "--schema", "count.yaml"]) == "noise-aware"
        assert planned(["fit", "y ~ x", *small[:-1], "private-n.yaml", "--n-public", "4", "--draws", "1"]) == "noise-aware"
        pathlib.Path("classes.csv").write_text("k,x\n" + "".join(f"k{i % 12},{0.5 + i % 16 / 10}\n" for i in range(600)))
        classes = ["--family", "categorical", "--data", "classes.csv", "--schema", "many-classes.yaml", "--draws", "1"]
        assert "up to 20 parameters" in planned(["fit", "k ~ x", *classes])
        assert planned(["fit", "k ~ 1", *classes]) == "noise-aware"
        done = run(["fit", "n ~ x", "--family", "negbinomial", "--data", "rates.csv", "--schema", "count.yaml", "--epsilon", "20", *DELTA,
                    "--dry-run"])
        assert "plan: noise-aware, " in done.stderr, done.stderr
        times = ["fit", "t | cens(over) ~ x", "--family", "weibull", "--schema", "times.yaml", "--data", "times.csv"]
        pathlib.Path("times.yaml").write_text("columns: {t: {type: numeric, lower: .1, upper: 2}, over: {type: binary}, x: {type: numeric, lower: -1, upper: 1}}\n")
        pathlib.Path("times.csv").write_text("t,over,x\n" + "".join(f"{min(2, .2 + i % 29 / 10)},{int(i % 29 >= 18)},{i % 21 / 10 - 1}\n"
                                                                    for i in range(900)))
        assert planned(times) == "noise-aware"
        assert planned(times + ["--followed-to-bound"]) == "noise-aware"

    @case("times that are censored whenever persons are lost")
    def _():
        generator, lines = random.Random(3), []
        for _ in range(4000):
            x = generator.uniform(-1, 1)
            event, lost = generator.weibullvariate(math.exp(1 + .5 * x), 1.5), generator.expovariate(.3 if x > 0 else .1)
            lines.append(f"{min(max(event, .01), lost, 20):.4f},{int(event < lost and event < 20)},{x:.4f}\n")
        pathlib.Path("lost.csv").write_text("t,seen,x\n" + "".join(lines))
        pathlib.Path("lost.yaml").write_text("columns: {t: {type: numeric, lower: .001, upper: 20}, seen: {type: binary}, x: {type: numeric, lower: -1, upper: 1}}\n")
        of = ["fit", "Surv(t, seen) ~ x", "--data", "lost.csv", "--schema", "lost.yaml", "--quiet"]

        def told(folder):
            return {row["name"]: row for row in json.loads(run(["summary", folder, "--json"]).stdout)["parameters"]}
        for family in ("weibull", "lognormal"):
            done = run([*of, "--family", family, "--method", "hmc", "--exposed", "--draws", "300", "--chains", "2", "--seed", "1", "--out", f"lost-{family}-exposed"])
            assert done.returncode == 0, done.stderr
        beside, ratios = told("lost-weibull-exposed"), []
        for seed, folder in (("1", "lost"), ("2", "lost-2"), ("3", "lost-3")):
            done = run([*of, "--family", "weibull", "--epsilon", "20", *DELTA, "--seed", seed, "--out", folder])
            assert done.returncode == 0 and run(["diagnose", folder]).returncode == 0, done.stderr
            private = told(folder)
            for name in ("Intercept", "x", "shape"):
                assert abs(private[name]["mean"] - beside[name]["mean"]) < 6 * beside[name]["sd"], (private[name], beside[name])
            ratios.append(max(private[name]["sd"] / beside[name]["sd"] for name in ("Intercept", "x", "shape")))
            assert min(private[name]["sd"] / beside[name]["sd"] for name in ("Intercept", "x", "shape")) > .9, private
        assert sorted(ratios)[1] < 1.5, ratios  # where a few records far out are taken to be possible an answer is wider
        # times without those who were lost, or as if they had ended then, are elsewhere; so is another model of them, which a check sees
        assert abs(told("lost-lognormal-exposed")["Intercept"]["mean"] - beside["Intercept"]["mean"]) > 6 * beside["Intercept"]["sd"]
        done = run(["check", "lost", "--data", "lost.csv", "--epsilon", "20", *DELTA])
        assert done.returncode == 0 and "does not describe" not in done.stdout, done
        done = run([*of, "--family", "exponential", "--epsilon", "20", *DELTA, "--seed", "1", "--out", "lost-exponential"])
        done = run(["check", "lost-exponential", "--data", "lost.csv", "--epsilon", "20", *DELTA])
        assert "shape: the fit does not describe these records" in done.stdout, done

    @case("a plan says how many wrong records a budget hides from a program")
    def _():
        def hidden(epsilon, upper=600):
            pathlib.Path("hidden.yaml").write_text(f"columns: {{y: {{type: integer, lower: 0, upper: {upper}}}, x: {{type: numeric, lower: -1, upper: 1}}}}\n")
            done = run(["plan", "y ~ x", "--schema", "hidden.yaml", "--family", "negbinomial", "--epsilon", epsilon, *DELTA, "--n", "20000"])
            assert done.returncode == 0, done
            found = re.search(r"up to about ([0-9.]+) wrong records", done.stdout)
            return float(found[1]) if found else 0
        assert 20 < hidden("1") < 35 and 3 < hidden("8") < 6 and hidden("1000") == 0, [hidden(e) for e in ("1", "8", "1000")]
        assert hidden("1", upper=10) == 0  # bounds let no record be far out

    @case("counts of many records, whose first score has other modes, are answered at every budget")
    def _():
        generator = random.Random(5)

        def poisson(mean):
            limit, k, p = math.exp(-mean), 0, generator.random()
            while p > limit:
                k, p = k + 1, p * generator.random()
            return k
        with open("many.csv", "w") as file:
            file.write("y,a,b\n")
            for _ in range(20000):
                a, b = max(-4, min(4, generator.gauss(0, 1))), int(generator.random() < .4)
                file.write(f"{min(60, poisson(math.exp(1 + .4 * a - .2 * b)))},{a:.4f},{b}\n")
        pathlib.Path("many.yaml").write_text("columns: {y: {type: integer, lower: 0, upper: 60}, a: {type: numeric, lower: -4, upper: 4}, b: {type: binary}}\n")
        for epsilon in ("8", "12", "20"):
            done = run(["fit", "y ~ a + b", "--family", "poisson", "--data", "many.csv", "--schema", "many.yaml", "--epsilon", epsilon, *DELTA, "--seed", "2",
                        "--quiet", "--out", f"many-{epsilon}"])
            assert done.returncode == 0 and run(["diagnose", f"many-{epsilon}"]).returncode == 0, done.stderr
            told = {row["name"]: row for row in json.loads(run(["summary", f"many-{epsilon}", "--json"]).stdout)["parameters"]}
            for name, truth in (("Intercept", 1), ("a", .4), ("b", -.2)):
                assert abs(told[name]["mean"] - truth) < 6 * told[name]["sd"] < .15, told[name]

    @case("a program that its outcomes contradict gives no intervals, and one whose column fills little of its bounds wide ones")
    def _():
        pathlib.Path("contradict.yaml").write_text("columns: {y: {type: integer, lower: 0, upper: 30}, x: {type: numeric, lower: -1, upper: 1}}\n")
        shares, generator = [math.exp(-3) * 3 ** k / math.factorial(k) for k in range(20)], random.Random(4)
        as_said = generator.choices(range(20), shares, k=4000)  # by a Poisson distribution
        for name, count in (("even", lambda i: as_said[i]), ("odd", lambda i: 12 if i % 4 == 0 else 0)):
            pathlib.Path("contradict.csv").write_text("y,x\n" + "".join(f"{count(i)},{i % 21 / 10 - 1}\n" for i in range(4000)))
            pathlib.Path("counts.stan").write_text("data { int<lower=0, upper=30> y; real<lower=-1, upper=1> x; }\nparameters { real a; real b; }\n"
                                                   "model { a ~ normal(0, 2); b ~ normal(0, 2); y ~ poisson_log(a + b * x); }\n")
            done = run(["fit", "counts.stan", "--data", "contradict.csv", "--schema", "contradict.yaml", "--epsilon", "4", *DELTA, "--seed", "1",
                        "--out", f"counts-{name}"])
            assert done.returncode == 0 and ("the last scores lead far" in done.stdout + done.stderr) == (name == "odd"), done
            assert run(["diagnose", f"counts-{name}"]).returncode == (5 if name == "odd" else 0), name
            page = open(f"counts-{name}/report.html").read()
            assert ("<h2>Intervals</h2>" not in page and "Along each column" not in page) == ("none to give" in page) == (name == "odd"), name
        pathlib.Path("contradict.csv").write_text("y,x\n" + "".join(f"{as_said[i]},{.5 + i % 21 / 2000}\n" for i in range(4000)))
        done = run(["fit", "counts.stan", "--data", "contradict.csv", "--schema", "contradict.yaml", "--epsilon", "1", *DELTA, "--seed", "1",
                    "--out", "counts-narrow"])
        wide = {row["name"]: row for row in csv.DictReader(open("counts-narrow/summary.csv"))}["b"]
        assert done.returncode == 0 and float(wide["sd"]) > .5 and abs(float(wide["mean"])) < 4 * float(wide["sd"]), done

    @case("noise-aware: a linear regression from a few releases, the default for gaussian, residual sd unknown or known")
    def _():
        words = ["fit", "y ~ x + sex", "--family", "gaussian", "--data", "people.csv", "--schema", "people.yaml", "--epsilon", "20", *DELTA]
        done = run([*words, "--out", "linear"])
        assert not common_faults(done) and done.returncode == 0 and "noise-aware, 9 releases" in done.stderr, done.stderr
        statement = json.load(open("linear/privacy.json"))
        assert statement["exact"] is False and sum(event["count"] for event in statement["events"]) == 9, statement
        assert "Scores were released in" in open("linear/privacy.txt").read()
        rows = list(csv.DictReader(open("linear/summary.csv")))
        assert len(rows) == 4 and abs(float(rows[1]["mean"]) - 1.5) < 0.2 and 0 < float(rows[3]["mean"]) < 0.8, rows
        done = run([*words, "--sd", "0.3", "--out", "linear-known", "--quiet"])
        assert done.returncode == 0 and len(list(csv.DictReader(open("linear-known/summary.csv")))) == 3, done

    @case("noise-aware: a seed repeats, chains share nothing but the releases, a dry run spends nothing")
    def _():
        words = BASE + AWARE + ["--epsilon", "2", "--delta", "1e-6", "--seed", "5", "--quiet", "--draws", "100", "--chains", "3"]
        for out in ("a2", "a3"):
            assert run(words + ["--out", out]).returncode == 0
        first = [open(f"a2/draws-{c}.csv").read().split("Adaptation")[1] for c in (1, 2, 3)]
        again = [open(f"a3/draws-{c}.csv").read().split("Adaptation")[1] for c in (1, 2, 3)]
        assert first == again and len(set(first)) == 3
        assert json.load(open("a2/privacy.json"))["private"] is False
        dry = run(words[:-4] + ["--dry-run"])
        assert dry.returncode == 0 and "times the non-private ones" in dry.stderr, dry.stderr

    @case("noise-aware: persons of several rows, the default too; drawn again from what is kept; no rows or checks are made of them")
    def _():
        generator = random.Random(3)
        with open("visits.csv", "w") as out:
            out.write("who,y,x,s\n")
            for who in range(1500):
                effect = generator.gauss(0, 1)
                for _ in range(1 + who % 3):
                    x = generator.uniform(0.5, 2)
                    y = generator.random() < 1 / (1 + math.exp(-(x - 1.2 + effect)))
                    out.write(f"{who},{int(y)},{x:.3f},F\n")
        words = ["fit", "y ~ x", "--family", "bernoulli", "--data", "visits.csv", "--schema", "person.yaml", "--epsilon", "8", *DELTA, "--quiet"]
        done = run([*words, "--out", "persons"])
        assert not common_faults(done) and done.returncode == 0, done.stderr
        statement = json.load(open("persons/privacy.json"))
        assert any("Every unit counts once" in text for text in statement["assumptions"]), statement
        labels = sorted(event["label"] for event in statement["events"])
        assert len(labels) == 10 and {"numbers of rows", "bands of contrasts"} <= set(labels) and "squares of scores" in labels and statement["unit"] == "who", statement
        rows = list(csv.DictReader(open("persons/summary.csv")))
        assert 0.1 < float(rows[1]["mean"]) < 1.6 and 0.05 < float(rows[1]["sd"]) < 0.4, rows
        done = run(["refit", "persons", "--out", "persons-again"])
        assert done.returncode == 0, done.stderr
        assert open("persons/summary.csv").read() == open("persons-again/summary.csv").read()
        done = run(["synthesize", "persons", "--rows", "10", "--out", "rows.csv"])
        assert done.returncode == 2 and "rows of one unit hang together" in done.stderr, done.stderr
        done = run(["check", "persons", "--data", "visits.csv", "--epsilon", "1", *DELTA, "--out", "persons-check"])
        assert done.returncode == 2 and "units of one record" in done.stderr, done.stderr
        assert not pathlib.Path("persons-check").exists()

    @case("noise-aware: persons of several rows in a family that is a program, both relations; drawn again and told apart from rows")
    def _():
        generator = random.Random(4)
        with open("calls.csv", "w") as out:
            out.write("who,x,n\n")
            for who in range(2500):
                effect, x = generator.gammavariate(2, 0.5), generator.uniform(0, 2)
                for _ in range(1 + who % 4):
                    n, left = 0, effect * math.exp(0.2 + 0.5 * x)
                    while (left := left - generator.expovariate(1)) > 0:
                        n += 1
                    out.write(f"{who},{x:.3f},{min(n, 30)}\n")
        columns = "columns:\n  who: {type: id}\n  x: {type: numeric, lower: 0, upper: 2}\n  n: {type: integer, lower: 0, upper: 30}\n"
        sds = {}
        for name, head in (("rows", ""), ("persons-s", "unit: who\nmax_rows: 4\n"), ("persons-a", "unit: who\nmax_rows: 4\nrelation: add-remove\n")):
            pathlib.Path("calls.yaml").write_text(head + columns)
            done = run(["fit", "n ~ x", "--family", "negbinomial", "--data", "calls.csv", "--schema", "calls.yaml", "--epsilon", "100", *DELTA,
                        "--quiet", "--out", f"calls-{name}",
                        *(["--n-public", "2500"] if name == "persons-a" else [])])
            assert not common_faults(done) and done.returncode == 0, done.stderr
            rows = {row["name"]: row for row in csv.DictReader(open(f"calls-{name}/summary.csv"))}
            sds[name] = float(rows["b_x"]["sd"])  # NaN where a check withheld it, which one in some dozens of right fits may
            assert abs(float(rows["b_x"]["mean"]) - 0.5) < (0.4 if math.isnan(sds[name]) else 6 * sds[name]), rows
            labels = [event["label"] for event in json.load(open(f"calls-{name}/privacy.json"))["events"]]
            assert "slope of centred scores" in labels and ("number of units" in labels) == (name == "persons-a"), labels
            done = run(["check", f"calls-{name}", "--data", "calls.csv", "--epsilon", "2", *DELTA, "--by", "x", "--out", f"calls-{name}.json",
                        *(["--n-public", "2500"] if name == "persons-a" else [])])
            check = json.load(open(f"calls-{name}.json"))  # a right margin, by rows or persons, is flagged once in 10^6
            total, is_by_rows = sum(line["count"] for line in check["calibration"]), name == "rows"
            assert done.returncode == 0 and (is_by_rows or max(check["shape_z"], check["misfit_z"], check["by_misfit_z"]) < 4.9), done.stdout
            assert abs(total - (6250 if is_by_rows else 2500)) < 200, check
        assert not min(sds["persons-s"], sds["persons-a"]) < 1.2 * sds["rows"], sds
        statement = json.load(open("calls-persons-s/privacy.json"))
        assert any("Every unit counts once" in text for text in statement["assumptions"]) and statement["unit"] == "who", statement
        done = run(["refit", "calls-persons-a", "--out", "calls-again"])
        assert done.returncode == 0, done.stderr
        assert open("calls-persons-a/draws-1.csv").read() == open("calls-again/draws-1.csv").read()
        pathlib.Path("calls.yaml").write_text("unit: who\nmax_rows: 4\n"
                                              + columns.replace("lower: 0, upper: 2}", "lower: 0, upper: 2, missing: drop}"))
        done = run(["fit", "n ~ x", "--family", "negbinomial", "--method", "noise-aware", "--data", "calls.csv", "--schema", "calls.yaml",
                    "--epsilon", "8", *DELTA, "--out", "no"])
        assert done.returncode == 2 and "cannot leave out some rows" in done.stderr, done.stderr

    @case("noise-aware: a linear regression of persons of several rows, both relations; drawn again, combined, and told apart from rows")
    def _():
        generator = random.Random(6)
        with open("visits.csv", "w") as out:
            out.write("who,x,y\n")
            for who in range(3000):
                effect, x = generator.gauss(0, 2), generator.uniform(0, 2)
                for _ in range(1 + who % 4):
                    out.write(f"{who},{x:.3f},{min(max(10 + 3 * x + effect + generator.gauss(0, 1), 0), 30):.4f}\n")
        columns = "columns:\n  who: {type: id}\n  x: {type: numeric, lower: 0, upper: 2}\n  y: {type: numeric, lower: 0, upper: 30}\n"
        sds = {}
        persons = "unit: who\nmax_rows: 4\n"
        for name, head in (("rows", ""), ("persons-s", persons), ("persons-t", persons), ("persons-a", persons + "relation: add-remove\n")):
            pathlib.Path("visits.yaml").write_text(head + columns)
            given = ["--n-public", "3000"] if name == "persons-a" else []
            done = run(["fit", "y ~ x", "--family", "gaussian", "--data", "visits.csv", "--schema", "visits.yaml", "--epsilon", "100", *DELTA,
                        "--quiet", "--out", f"visits-{name}", *given])
            assert not common_faults(done) and done.returncode == 0, done.stderr
            rows = {row["name"]: row for row in csv.DictReader(open(f"visits-{name}/summary.csv"))}
            sds[name] = float(rows["b_x"]["sd"])
            assert abs(float(rows["b_x"]["mean"]) - 3) < 6 * sds[name], rows
            labels = [event["label"] for event in json.load(open(f"visits-{name}/privacy.json"))["events"]]
            assert ("numbers of rows" in labels) == (name != "rows"), labels
        assert min(sds["persons-s"], sds["persons-a"]) > 1.15 * sds["rows"], sds  # rows of a person hang together
        statement = json.load(open("visits-persons-s/privacy.json"))
        assert any("Every unit counts once" in text for text in statement["assumptions"]) and statement["unit"] == "who", statement
        done = run(["refit", "visits-persons-s", "--out", "visits-again"])
        assert done.returncode == 0, done.stderr
        assert open("visits-persons-s/draws-1.csv").read() == open("visits-again/draws-1.csv").read()
        done = run(["combine", "visits-persons-s", "visits-persons-t", "--out", "visits-both"])
        assert done.returncode == 0, done.stderr
        row = next(row for row in csv.DictReader(open("visits-both/summary.csv")) if row["name"] == "b_x")
        assert 0.6 < float(row["sd"]) / sds["persons-s"] < 0.8, row  # of twice the persons
        for words, said in ((["check", "visits-persons-s", "--data", "visits.csv", "--epsilon", "1", *DELTA], "units of one record"),
                            (["synthesize", "visits-persons-s", "--rows", "10", "--out", "no.csv"], "rows of one unit hang together")):
            done = run(words)
            assert done.returncode == 2 and said in done.stderr, done.stderr

    @case("noise-aware: poisson, and a ledger that gets what was charged")
    def _():
        rows = "".join(f"{1 + i % 3},{0.5 + i % 15 / 10}\n" for i in range(600))
        pathlib.Path("counts.csv").write_text("n,x\n" + rows)
        assert run(["ledger", "init", "a.ledger", *LEDGER]).returncode == 0
        done = run(["fit", "n ~ x", "--family", "poisson", "--data", "counts.csv", "--schema", "count.yaml", *AWARE, "--epsilon",
                    "2", "--delta", "1e-6", "--out", "a4", "--quiet", "--ledger", "a.ledger"])
        assert not common_faults(done) and done.returncode == 0, done.stderr
        spend = export("a.ledger")["spends"][0]
        assert spend["status"] == "settled" and spend["events"] == spend["reserved"] and len(spend["events"]) == 8
