"""Every method, plans, diagnoses, schemas."""
import json
import pathlib
import random
import re

from case_engine import ALL, BASE, CSV, FEW, FORMULA, ROOT, YAML, case, common_faults, counts, run


def run_all():
    @case("methods")
    def _():
        listed = json.loads(run(["methods", "--json"]).stdout)
        assert all(set(m) == {"name", "private", "exact", "summary"} for m in listed)
        assert {"noise-aware", "dp-hmc", "dp-penalty", "hmc", "rwmh"} <= {m["name"] for m in listed}
        assert "dp-hmc" in run(["methods"]).stdout
        page = pathlib.Path(ROOT, "docs/guide/method.md").read_text()
        rows = {name: line.split("|")[2].strip() == "yes" for line in page.split("\n") if line.startswith("| `") and line.count("|") == 4
                for name in re.findall(r"`([a-z-]+)`", line.split("|")[1])}
        assert rows == {m["name"]: m["private"] for m in listed}, rows

    @case("every private method runs, spends within its budget, and states what account recomputes")
    def _():
        rng = random.Random(4)
        rows = "".join(f"{int(rng.random() < 0.3 + 0.4 * i / 3000)},{i / 3000:.4f}\n" for i in range(3000))
        pathlib.Path("small.csv").write_text("y,x\n" + rows)
        pathlib.Path("small.yaml").write_text("relation: substitute\ncolumns:\n  y: {type: binary}\n"
                                              "  x: {type: numeric, lower: 0, upper: 1}\n")
        pathlib.Path("small-counts.yaml").write_text("relation: substitute\ncolumns:\n  y: {type: integer, lower: 0, upper: 3}\n"
                                               "  x: {type: numeric, lower: 0, upper: 1}\n")
        words = ["fit", "y ~ x", "--family", "bernoulli", "--data", "small.csv", "--schema", "small.yaml", "--epsilon", "40",
                 "--delta", "1e-6", "--quiet", "--yes", "--chains", "2"]
        rules = [["--method", m["name"]] for m in json.loads(run(["methods", "--json"]).stdout) if m["private"]]
        rules += [["--method", m, "--acceptance", a] for m in ("dp-penalty", "dp-hmc") for a in ("penalty-bit", "barker")]
        rules += [["--method", "dp-barker-vcorr", "--acceptance", "barker-penalty", "--sampling-rate", "1"],
                  ["--method", "dp-hmc", "--leapfrog", "1", "--no-reuse"]]
        rules += [["--method", "dp-sghmc", "--step-decay", "0.333", "--draws", "40"],
                  ["--method", "dp-barker-vcorr", "--acceptance", "barker-penalty"],
                  ["--method", "dp-penalty", "--metric", "private", "--clip-grad", "private", "--clip-ratio", "private"],
                  ["--method", "dp-hmc", "--acceptance", "barker", "--metric", "private"],
                  ["--method", "dp-fast-mh", "--metric", "private"],
                  ["--method", "dp-barker-vcorr", "--metric", "private"],
                  ["--method", "noise-aware", "--family", "gaussian"],
                  ["--method", "noise-aware", "--family", "gaussian", "--sd", "0.5"],
                  ["--method", "noise-aware", "--family", "poisson", "--schema", "small-counts.yaml"],
                  ["--method", "dp-penalty", "--family", "gaussian", "--metric", "private", "--clip-ratio", "private"]]
        if not ALL:  # sums of thousands of decisions take seconds to account for
            slow = (["--method", "dp-mala"], ["--method", "dp-fast-mh-full"], ["--method", "dp-sghmc", "--step-decay"],
                    ["--method", "dp-penalty", "--acceptance", "barker"])
            rules = [rule for rule in rules if "penalty-bit" not in rule and not any(rule[: len(s)] == s for s in slow)]
            rules = [[*rule, "--draws", "500"] if rule == ["--method", "dp-barker"] else rule for rule in rules]
        if FEW:
            rules = [rule for rule in rules if rule[:2] not in (["--method", "dp-barker"], ["--method", "dp-fast-mh"])]
        for number, extra in enumerate(rules):
            done = run([*words, *extra, "--out", f"each{number}"])
            assert done.returncode == 0 and not common_faults(done), (extra, done.stderr)
            statement = json.load(open(f"each{number}/privacy.json"))
            assert 0 < statement["epsilon"] <= 40, (extra, statement)
            events = statement.get("schedule", statement["events"])
            again = run(["account", *[w for e in events for w in ("--event", e["event"], "--count", str(e["count"]))],
                         "--delta", "1e-6", "--in-order", "--json"])
            assert abs(json.loads(again.stdout)["epsilon"] / statement["epsilon_charged"] - 1) < 1e-6, (extra, again.stdout)
            labels = {e["label"] for e in events}
            assert ("curvature" in labels) is ("--metric" in extra), (extra, labels)
            assert ("gradient norms" in labels) is ("--clip-ratio" in extra), (extra, labels)
            assert ("whitened joint moments" in labels) is (extra[:4] == ["--method", "noise-aware", "--family", "gaussian"]), labels

    @case("dp-barker-vcorr says how exact it is")
    def _():
        words = ["--method", "dp-barker-vcorr", "--chains", "1", "--draws", "20", "--quiet", "--yes", "--epsilon", "20", "--delta", "1e-6"]
        for number, (extra, is_exact) in enumerate((([], False), (["--acceptance", "barker-penalty"], False),
                                                    (["--sampling-rate", "1"], False),
                                                    (["--acceptance", "barker-penalty", "--sampling-rate", "1"], True))):
            done = run(BASE + words + extra + ["--out", f"v{number}"])
            assert done.returncode == 0 and not common_faults(done), done.stderr
            assert json.load(open(f"v{number}/privacy.json"))["exact"] is is_exact
            assert ("correction variable" in open(f"v{number}/privacy.txt").read()) is ("--acceptance" not in extra)
            assert "variance: 2" in open(f"v{number}/run.yaml").read()

    @case("dp-hmc: k L + 1 gradients, or k (L + 1) as in the paper; one step of a trajectory is a Langevin method")
    def _():
        words = ["--method", "dp-hmc", "--chains", "1", "--draws", "10", "--warmup", "5", "--init", "0", "--quiet", "--yes", "--epsilon", "20",
                 "--delta", "1e-6"]
        for number, (extra, gradients) in enumerate(((["--leapfrog", "3"], 46), (["--leapfrog", "3", "--no-reuse"], 60),
                                                     (["--leapfrog", "1"], 16), (["--leapfrog", "1", "--no-reuse"], 30))):
            done = run(BASE + words + extra + ["--out", f"g{number}"])
            assert done.returncode == 0, done.stderr
            counts = {e["label"]: e["count"] for e in json.load(open(f"g{number}/privacy.json"))["events"]}
            assert counts == {"gradient": gradients, "log-ratio": 15}, counts

    @case("plan: what each method makes of a budget; nothing is read", long=True)
    def _():
        words = ["plan", FORMULA, "--family", "bernoulli", "--schema", YAML, "--delta", "1e-6", "--n"]
        rows = json.loads(run([*words, "7874", "--epsilon", "8", "--json"]).stdout)
        assert {"noise-aware", "dp-mala", "dp-sgld", "dp-barker"} <= {row["method"] for row in rows}
        assert all(("width_poor" in row) is (row["method"] == "noise-aware") for row in rows if row["iterations"]), rows
        assert all(row["width_poor"] >= row["width"] for row in rows if "width_poor" in row), rows
        assert all(row["width"] >= 1 and (row["ess"] is None) is (row["method"] == "noise-aware") for row in rows if row["iterations"])
        chains = [row for row in rows if row["iterations"] and row["method"] != "noise-aware"]
        assert all(0 < row["ess_wide"] < row["ess"] / 2 for row in chains), chains
        richer = json.loads(run([*words, "78740", "--epsilon", "8", "--json"]).stdout)
        for few, many in zip(rows, richer):
            assert many["iterations"] >= few["iterations"]
        assert "Recommended: --method" in run([*words, "7874", "--epsilon", "8"]).stdout
        assert "None of these will do" in run([*words, "300", "--epsilon", "0.5"]).stdout

    @case("plan and fit agree on noise-aware: where it applies, what it releases, how wide it is, and that it is taken", long=True)
    def _():
        def planned(formula, family, schema, n, epsilon, *more):
            words = ["plan", formula, "--family", family, "--schema", schema, "--n", n, "--epsilon", epsilon, "--delta", "1e-6", *more]
            row = next(row for row in json.loads(run([*words, "--json"]).stdout) if row["method"] == "noise-aware")
            done = run(words)
            assert not common_faults(done) and done.returncode == 0, done.stderr
            return row, done.stdout
        def fitted(words, epsilon):
            done = run([*words, "--epsilon", epsilon, "--delta", "1e-6", "--dry-run", "--seed", "1"])
            match = re.match(r"plan: noise-aware, (\d) releases.* (?:at least about ([\d.e+]+) times|may come near)", done.stderr)
            return int(match[1]), float(match[2] or 1)
        taken = "Recommended: --method noise-aware, which tacit fit takes by itself"
        for epsilon in ("1", "8"):
            row, text = planned(FORMULA, "bernoulli", YAML, "7874", epsilon)
            assert fitted(BASE, epsilon) == (7, float(f"{row['width']:.3g}")) and row["iterations"] == 7, row
            assert taken in text and "the best of the exact ones is" in text, text
        row, text = planned(FORMULA, "bernoulli", YAML, "7874", "8", "--metric", "private")
        assert taken in text and "It goes without --metric." in text, text
        linear = ["fit", "y ~ x + sex", "--family", "gaussian", "--data", "people.csv", "--schema", "people.yaml"]
        n = str(len(open("people.csv").readlines()) - 1)
        row, text = planned("y ~ x + sex", "gaussian", "people.yaml", n, "20")
        assert fitted(linear, "20") == (9, float(f"{row['width']:.3g}")) and row["iterations"] == 9 and taken in text, (row, text)
        row, text = planned(FORMULA, "bernoulli", YAML, "7874", "0.1")
        assert row["width"] > 3 and "None of these will do" in text, (row, text)
        row, text = planned("y ~ x + 0", "bernoulli", "good.yaml", "100000", "8")
        assert row["iterations"] == 0 and "needs an intercept" in text and not re.search(r"Recommended: .*noise-aware", text), text
        row, text = planned("y ~ x", "bernoulli", "private-n.yaml", "100000", "8")
        assert row["iterations"] == 8 and taken in text, text  # the count of units is released too
        row, text = planned("s ~ x", "categorical", "good.yaml", "100000", "8")
        assert row["iterations"] == 24 and taken in text and "forecast of noise-aware" in text, text  # as a program
        pathlib.Path("visits.yaml").write_text("relation: substitute\ncolumns:\n  n: {type: integer, lower: 0, upper: 400}\n"
                                               "  x: {type: numeric, lower: 0, upper: 1}\n")
        row, text = planned("n ~ x", "poisson", "visits.yaml", "100000", "8", "--clip-grad", "1", "--clip-ratio", "1")
        assert row["iterations"] == 8 and row["width"] > 1.2 and "Say so: tacit fit takes noise-aware by itself" in text, (row, text)
        assert re.search(r"Recommended: --method dp-", text), text

    @case("diagnose says what is wrong in words")
    def _():
        done = run(BASE + ["--method", "dp-penalty", "--epsilon", "1", "--delta", "1e-6", "--out", "d1", "--quiet", "--yes"])
        assert done.returncode == 0, done.stderr
        done = run(["diagnose", "d1"])
        assert done.returncode == 5 and "problem" in done.stdout and not done.stderr, done
        assert json.loads(run(["diagnose", "d1", "--json"]).stdout)[0]["severity"] == "problem"
        run(BASE + ["--method", "dp-hmc", "--epsilon", "8", "--delta", "1e-6", "--out", "d2", "--quiet", "--draws", "200", "--chains",
                    "1", "--yes"])
        drowned = run(["diagnose", "d2"]).stdout
        assert "drowned in privacy noise" in drowned and "in the acceptance test" in drowned, drowned

    @case("schema check and draft")
    def _():
        done = run(["schema", "check", YAML, "--data", CSV])
        assert done.returncode == 0 and "ok" in done.stdout and "7874" not in done.stdout, done
        draft = run(["schema", "draft", CSV]).stdout
        assert "50" not in draft and "105" not in draft and "age" in draft
        assert run(["schema", "draft", CSV, "--out", "draft.yaml"]).returncode == 0
        assert run(["schema", "check", "draft.yaml"]).returncode == 3
