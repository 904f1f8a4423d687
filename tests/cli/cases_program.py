"""The program itself: versions, help, pages, interrupts, disks that are full."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from case_engine import BASE, BUDGET, FORMULA, TACIT, case, run


def run_all():
    @case("--version names the build: version, commit, instruction set, what it was built with")
    def _():
        lines = run(["--version"]).stdout.split("\n")
        assert re.fullmatch(r"tacit \d+\.\d+\.\d+", lines[0]) and re.fullmatch(r"commit (unknown|[\w.+-]+)", lines[1]), lines
        assert lines[2] in [f"instruction set {name}" for name in ("portable", "avx2", "avx512")] and lines[3].startswith("with "), lines

    @case("help, man pages, completion")
    def _():
        assert run(["--help"]).returncode == 0 and run([]).returncode == 2
        for command in ("fit", "summary", "schema check", "schema draft", "import", "methods", "account", "ledger init",
                        "ledger show", "ledger export", "ledger verify", "infer", "release"):
            done = run(command.split() + ["--help"])
            assert done.returncode == 0 and "Examples:" in done.stdout and max(map(len, done.stdout.split("\n"))) <= 110
            page = run(["help", "--man", *command.split()])
            assert page.returncode == 0 and page.stdout.startswith(".TH")
            if shutil.which("mandoc"):
                lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=page.stdout, text=True, stdout=subprocess.PIPE)
                faults = [line for line in lint.stdout.split("\n") if line and "missing date" not in line]
                assert not faults, faults
        for words, said in ((["help", "--completion"], "knows one shell"), (["help", "--completion", "fish"], "knows one shell"),
                            (["methods", "more"], "usage: tacit methods [options]\n"), (["compare", "one"], "usage: tacit compare DIR DIR [DIR ...]\n")):
            done = run(words)
            assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done
        script = run(["help", "--completion", "bash"]).stdout
        assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0

        def completed(*words):
            line = " ".join(f"'{w}'" for w in words)
            return subprocess.run(["bash", "-c", f"{script}\nCOMP_WORDS=({line}) COMP_CWORD={len(words) - 1}; _tacit; echo ${{COMPREPLY[@]}}"],
                                  capture_output=True, text=True).stdout.split()
        assert {"fit", "infer", "schema", "ledger", "help"} <= set(completed("tacit", "")) and completed("tacit", "sche") == ["schema"]
        assert completed("tacit", "schema", "d") == ["draft"] and "verify" in completed("tacit", "ledger", "")
        assert completed("tacit", "fit", "y ~ x", "--family", "bern") == ["bernoulli"]
        assert completed("tacit", "fit", "y ~ x", "--family", "=", "negb") == ["negbinomial"]
        assert "dp-hmc" in completed("tacit", "fit", "--method", "") and completed("tacit", "fit", "--prior-basis", "b") == ["bounds"]
        assert completed("tacit", "fit", "--family", "bernoulli", "--eps") == ["--epsilon"]
        assert completed("tacit", "ledger", "init", "f", "--max") == ["--max-rows"] and completed("tacit", "fit", "--data", "/et") == []

    @case("a prior is of the coefficient that is reported, the same by a family's own kernels and by a program")
    def _():
        pathlib.Path("rise.csv").write_text("x,y\n" + "".join(f"{20 + i * 7 % 61},{3 + .05 * (20 + i * 7 % 61) + i * 11 % 23 / 6 - 2:.3f}\n" for i in range(300)))
        pathlib.Path("rise.yaml").write_text("columns: {x: {type: numeric, lower: 0, upper: 100}, y: {type: numeric, lower: -10, upper: 30}}\n")
        rise = ["y ~ x", "--data", "rise.csv", "--schema", "rise.yaml", "--method", "hmc", "--exposed", "--draws", "500", "--warmup", "300",
                "--seed", "1", "--quiet"]
        priors = ["--prior", "x: normal(0.1, 0.0005)", "--prior", "Intercept: normal(1, 0.002)"]
        for family in ("gaussian", "student"):  # one of kernels, one that is written as a program: what is so sure is the answer
            for scale, slope, intercept in (("original", .1, 1), ("scaled", .04, 28)):  # of a slope in half ranges, 20 / 50
                done = run(["fit", *rise, "--family", family, *priors, "--prior-scale", scale, "--out", f"rise-{family}-{scale}"])
                rows = {row["name"]: float(row["mean"]) for row in csv.DictReader(open(f"rise-{family}-{scale}/summary.csv"))}
                assert done.returncode in (0, 5) and abs(rows["b_x"] - slope) < .01 and abs(rows["b_Intercept"] - intercept) < 1, (family, scale, rows)
        done = run(["fit", *rise, "--family", "student", *priors, "--out", "rise-said"])  # nothing said: original
        assert "b_s[1] ~ normal(0.25, 0.00125);" in open("rise-said/program.stan").read()
        done = run(["fit", *rise, "--family", "student", "--prior", "z: flat", "--out", "rise-no"])
        assert done.returncode == 2 and "the prior's term 'z' is no coefficient of the model" in done.stderr, done

    @case("help of every option is whole")
    def _():
        said = " ".join(run(["fit", "--help"]).stdout.split())
        assert said.count("half student_t(3, 0, 1) for sigma.") == 1  # the end of the longest one

    @case("run.yaml is YAML")
    def _():
        try:
            import yaml
        except ImportError:
            return
        settings = yaml.safe_load(open("p1/run.yaml"))
        assert settings["method"] == "dp-penalty" and settings["formula"] == FORMULA

    @case("a full standard output is a failure")
    def _():
        with open("/dev/full", "w") as full:
            done = subprocess.run([TACIT, "methods"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "standard output" in done.stderr

    long_run = BASE + ["--epsilon", "1e6", "--delta", "1e-6", "--method", "dp-penalty", "--noise-ratio", "30", "--quiet",
                       "--chains", "2"]

    def interrupt(out, extra, after):
        process = subprocess.Popen([TACIT, *long_run, *extra, "--out", out], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout, stderr

    @case("what is promised is fixed beforehand, whatever was charged", arithmetic=True)
    def _():
        for name, extra, price in (("hmc", ["--method", "dp-hmc", "--epsilon", "30"], 30),
                                   ("bits", ["--method", "dp-barker", "--epsilon", "3"], None)):
            told = []
            for number in range(2):
                out = f"promise-{name}-{number}"
                done = run(BASE + ["--delta", "1e-6", "--chains", "1", "--draws", "30", "--yes", *extra, "--out", out])
                assert done.returncode == 0, done.stderr
                statement = json.load(open(f"{out}/privacy.json"))
                told.append(statement["epsilon"])
                assert 0 < statement["epsilon_charged"] <= statement["epsilon"] <= statement["epsilon_budget"]
                assert statement["epsilon_charged_is_a_guarantee"] is False
                header = open(f"{out}/draws-1.csv").read()
                assert f"# dp_epsilon = {statement['epsilon']:g}"[:20] in header and "# dp_epsilon_charged_no_guarantee = " in header
                words = " ".join(open(f"{out}/privacy.txt").read().split())
                assert "fixed before its first release" in words and "is no guarantee" in words
                assert "the guarantee is the budget" in done.stdout and "is no guarantee" in open(f"{out}/report.html").read()
                assert f"(epsilon {statement['epsilon']:.6g}, delta 1e-06)" in run(["summary", out]).stdout
            assert told[0] == told[1] == (price or told[0]), told

    @case("SIGINT: draws so far are written and the charge is stated")
    def _():
        status, stdout, stderr = interrupt("i1", ["--draws", "100000", "--warmup", "10"], 2)
        assert status == 130, (status, stderr)
        assert "; charged " in stdout and "interrupted" in stderr
        statement = json.load(open("i1/privacy.json"))
        assert statement["end"] == "interrupted" and statement["epsilon"] > 0
        rows = [line for line in open("i1/draws-1.csv") if line[0] not in "#l"]
        assert f"num_samples = {len(rows)}\n" in open("i1/draws-1.csv").read()

    @case("SIGINT during warm-up: nothing written, the charge is stated")
    def _():
        status, stdout, stderr = interrupt("i2", ["--draws", "10", "--warmup", "1000000", "--yes"], 1)
        assert status == 130 and not os.path.exists("i2") and "; charged " in stderr, (status, stderr)

    @case("disk full: it is refused before anything is spent, and nothing is left")
    def _():
        if os.geteuid() != 0 or not shutil.which("mount"):
            return
        os.makedirs("tiny", exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "tiny"], stderr=subprocess.DEVNULL).returncode:
            return
        try:
            done = run(BASE + BUDGET + ["--out", "tiny/fit", "--method", "dp-penalty", "--draws", "3000", "--quiet"])
            assert done.returncode == 1 and "No space left" in done.stderr and "charged" not in done.stdout + done.stderr, done
            assert os.listdir("tiny") == [], os.listdir("tiny")
        finally:
            subprocess.run(["umount", "tiny"])
