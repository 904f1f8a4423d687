"""Fits, what they write, and what is asked before anything is spent."""
import json
import os
import pathlib
import re
import shutil
import subprocess

from case_engine import BASE, BUDGET, FORMULA, LEDGER, SHORT, TACIT, YAML, case, export, fit, run


def run_all():
    @case("private fit writes the contract")
    def _():
        fit("p1", *BUDGET, "--method", "dp-penalty")
        statement = json.load(open("p1/privacy.json"))
        for key in ("private", "epsilon", "delta", "relation", "unit", "accountant", "events", "version"):
            assert key in statement, key
        assert statement["private"] is True and 0 < statement["epsilon"] <= 20 and statement["delta"] == 1e-6
        names = sorted(os.listdir("p1"))
        assert names == ["diagnostics.json", "draws-1.csv", "draws-2.csv", "privacy.json", "privacy.txt", "report.html", "run.yaml",
                         "schema.yaml", "summary.csv"], names
        for name in names:
            assert "flchain.csv" not in open(f"p1/{name}").read(), f"{name} names the private file"

    @case("summary --json keeps its contract")
    def _():
        summary = json.loads(run(["summary", "p1", "--json"]).stdout)
        assert set(summary) == {"private", "n_chains", "n_draws", "parameters"}, summary.keys()
        assert summary["private"] is True and summary["n_chains"] == 2 and summary["n_draws"] == 30
        keys = {"name", "mean", "sd", "q5", "q50", "q95", "mcse_mean", "ess_bulk", "ess_tail", "rhat"}
        assert all(set(p) == keys for p in summary["parameters"])
        assert [p["name"] for p in summary["parameters"]] == ["Intercept", "age", "sexM", "log(flc)"]

    @case("summary prints a table")
    def _():
        done = run(["summary", "p1"])
        assert done.returncode == 0 and "log(flc)" in done.stdout and "differentially private" in done.stdout

    @case("two private runs differ")
    def _():
        fit("p2", *BUDGET, "--method", "dp-penalty")
        assert open("p1/draws-1.csv").read() != open("p2/draws-1.csv").read()

    @case("dp-hmc runs and spends within its budget")
    def _():
        fit("h1", "--epsilon", "8", "--delta", "1e-6", "--method", "dp-hmc")
        assert json.load(open("h1/privacy.json"))["epsilon"] <= 8

    @case("--seed repeats, whatever the number of threads, and is not private")
    def _():
        for out, threads in (("s1", "1"), ("s2", "1"), ("s3", "2")):
            fit(out, *BUDGET, "--method", "dp-hmc", "--seed", "7", "--threads", threads)
        for name in ("draws-1.csv", "draws-2.csv"):
            texts = [open(f"{out}/{name}").read() for out in ("s1", "s2", "s3")]
            assert texts[0] == texts[1] == texts[2]
        assert json.load(open("s1/privacy.json"))["private"] is False
        assert all("NOT PRIVATE" in open(f"s1/{name}").read() for name in ("privacy.txt", "report.html"))

    @case("--seed repeats, whatever the instruction set and the number of threads")
    def _():
        texts = []
        for name in ("portable", "avx2", "avx512"):
            environment = {**os.environ, "TACIT_INSTRUCTION_SET": name}
            done = run(["methods"], env=environment)
            if done.returncode == 2 and "which this processor lacks" in done.stderr:
                continue
            assert f"instruction set {name}\n" in run(["--version"], env=environment).stdout
            for threads in range(1, 8) if name != "avx2" else (2,):
                words = BASE + ["--out", "isa", *SHORT, *BUDGET, "--method", "dp-hmc", "--seed", "7", "--threads", str(threads)]
                done = run(words, env=environment)
                assert done.returncode == 0, done.stderr
                texts.append([open(f"isa/{draws}").read() for draws in ("draws-1.csv", "draws-2.csv")])
                shutil.rmtree("isa")
        assert len(texts) >= 7 and texts == texts[:1] * len(texts)

    @case("an instruction set that does not exist is one clear line")
    def _():
        for name in ("sse", "AVX2", "avx512 "):
            done = run(BASE + ["--out", "isa", *SHORT, *BUDGET], env={**os.environ, "TACIT_INSTRUCTION_SET": name})
            assert done.returncode == 2 and not os.path.exists("isa"), done
            assert done.stderr.count("\n") == 1 and f"must be portable, avx2 or avx512, not '{name}'" in done.stderr, done.stderr
        assert run(["methods"], env={**os.environ, "TACIT_INSTRUCTION_SET": ""}).returncode == 0

    @case("metric, start values and the other settings of the sampler")
    def _():
        pathlib.Path("metric.txt").write_text("\n".join(
            " ".join("0.002" if i == j else "0.0002" for j in range(4)) for i in range(4)) + "\n")
        pathlib.Path("start.txt").write_text("# public guess\n0.4 3.5 0.2 2\n")
        fit("m1", "--epsilon", "100", "--delta", "1e-6", "--method", "dp-hmc", "--metric-file", "metric.txt", "--init",
            "start.txt", "--no-jitter", "--no-reuse", "--step-size", "0.4", "--leapfrog", "3", "--temperature", "0.5",
            "--thin", "2")
        header = open("m1/draws-1.csv").read()
        assert "0.002, 0.0002" in header.replace("0.00020000000000000001", "0.0002") and "dense_e" in header

    @case("exposed run says NOT PRIVATE")
    def _():
        done = fit("e1", "--method", "hmc", "--exposed")
        assert "NOT PRIVATE" in done.stdout
        statement = json.load(open("e1/privacy.json"))
        assert statement["private"] is False and statement["epsilon"] is None and statement["events"] == []

    @case("dry run releases and writes nothing")
    def _():
        done = run(BASE + BUDGET + ["--dry-run"])
        assert done.returncode == 0 and "plan:" in done.stderr and done.stdout == ""

    def at_terminal(words, answer):
        """Run with a terminal as standard input and error; what was printed there, and the exit status."""
        leader, follower = os.openpty()
        process = subprocess.Popen([TACIT, *words], stdin=follower, stdout=subprocess.PIPE, stderr=follower)
        os.close(follower)
        os.write(leader, answer)
        seen = b""
        try:
            while chunk := os.read(leader, 4096):
                seen += chunk
        except OSError:  # the program has closed its side
            pass
        process.communicate(timeout=250)
        os.close(leader)
        return seen.decode(), process.returncode

    @case("the plan and its forecast come before anything is spent", long=True)
    def _():
        pathlib.Path("plan.metric").write_text("0.002 0.0095 0.001 0.031\n")
        done = run(BASE + ["--epsilon", "20", "--delta", "1e-6", "--method", "dp-penalty", "--dry-run"])
        assert re.search(r"worth about \d+ independent draws", done.stderr) and "log acceptance ratio" in done.stderr
        assert "warning" not in done.stderr, done.stderr
        planned = json.loads(run(["plan", FORMULA, "--family", "bernoulli", "--schema", YAML, "--n", "7874", "--epsilon", "20",
                                  "--delta", "1e-6", "--json"]).stdout)
        ess = next(row["ess"] for row in planned if row["method"] == "dp-penalty" and row["acceptance"] == "penalty")
        assert f"worth about {ess:.2g} independent draws" in done.stderr, (ess, done.stderr)
        assert "if three times as wide" in done.stderr, done.stderr
        given = run(BASE + ["--epsilon", "20", "--delta", "1e-6", "--method", "dp-penalty", "--dry-run", "--metric-file", "plan.metric"])
        assert "worth about" in given.stderr and "three times as wide" not in given.stderr, given.stderr

    @case("a bad forecast is a question at a terminal, a warning elsewhere, and --yes is an answer")
    def _():
        words = BASE + ["--epsilon", "2", "--delta", "1e-6", "--method", "dp-penalty", "--chains", "1", "--out"]
        for answer in (b"\n", b"no\n", b"\x04"):
            text, status = at_terminal(words + ["q1"], answer)
            assert status == 4 and "[y/N]" in text and "nothing was released" in text and not os.path.exists("q1"), (text, status)
        text, status = at_terminal(words + ["q1", "--quiet"], b"n\n")
        assert status == 4 and "Spend epsilon 2" in text and "plan:" not in text, text
        text, status = at_terminal(words + ["q1"], b"y\n")
        assert status == 0 and "[y/N]" in text and os.path.exists("q1"), text
        text, status = at_terminal(words + ["q2", "--yes"], b"")
        assert status == 0 and "[y/N]" not in text and "warning:" in text and os.path.exists("q2"), text
        text, status = at_terminal(words[:-1] + ["--dry-run"], b"")
        assert status == 0 and "[y/N]" not in text and "warning:" in text, text
        good = BASE + ["--epsilon", "20", "--delta", "1e-6", "--method", "dp-penalty", "--dry-run"]
        assert "warning" not in at_terminal(good, b"")[0]
        done = run(words + ["q3"], stdin=subprocess.DEVNULL)
        assert done.returncode == 0 and "[y/N]" not in done.stderr and "warning:" in done.stderr, done.stderr
        words = BASE + ["--epsilon", "2", "--delta", "1e-6", "--method", "dp-hmc", "--chains", "1", "--quiet", "--out", "q4"]
        hopeless = run(words, stdin=subprocess.DEVNULL)
        assert hopeless.returncode == 4 and "spent for nothing" in hopeless.stderr and "--yes goes on" in hopeless.stderr, hopeless.stderr
        assert not os.path.exists("q4") and run(words + ["--yes"]).returncode == 0
        words = BASE + ["--epsilon", "2", "--delta", "1e-6", "--method", "dp-penalty", "--chains", "1", "--out"]
        assert run(["ledger", "init", "q.ledger", *LEDGER]).returncode == 0
        assert at_terminal(words + ["q5", "--ledger", "q.ledger"], b"n\n")[1] == 4
        assert export("q.ledger")["spends"] == [], "what is declined is not reserved either"

    @case("curator's notes go to standard error only, under their heading")
    def _():
        done = fit("n1", *BUDGET, "--method", "dp-penalty", "--curator-notes")
        assert "FOR THE CURATOR ONLY" in done.stderr and "clipped" not in done.stdout

    @case("a number that only the curator may see is in no file of a fit")
    def _():
        rows = "".join(f"{i % 2},{9 if i < 1237 else 1 + i % 7 / 8},F\n" for i in range(3000))
        pathlib.Path("clamped.csv").write_text("y,x,s\n" + rows)
        done = run(["fit", "y ~ x", "--family", "bernoulli", "--data", "clamped.csv", "--schema", "good.yaml", *BUDGET, *SHORT,
                    "--method", "dp-hmc", "--seed", "3", "--curator-notes", "--out", "n2"])
        assert done.returncode == 0 and re.search(r"values_clamped +1237 ", done.stderr), done.stderr
        for name in os.listdir("n2"):
            text = open(f"n2/{name}").read()
            assert not re.search(r"(?<![\d.])1237(?![\d.])", text) and "clamped" not in text, name
        published = json.load(open("n2/diagnostics.json"))
        assert set(published) == {"accept_rate", "ratio_noise_variance", "gradient_signal", "divergent_share", "clip_grad",
                                  "clip_ratio"}
        assert 0 <= published["accept_rate"] <= 1 and published["gradient_signal"] >= 0
