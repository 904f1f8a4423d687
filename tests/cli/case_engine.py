"""How cases of the command line are run and counted, and the words that many of them share. Reads the arguments of run_cases.py."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

TACIT = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(sys.argv[2]).resolve()
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
ALL = "--all" in sys.argv or "TACIT_TEST_FULL" in os.environ or ONLY != ""
FEW = float(os.environ.get("TACIT_TEST_MULTIPLIER", "1")) < 1  # under sanitizers: cases whose seconds are arithmetic of other cases are left out
CSV = str(ROOT / "data/flchain/flchain.csv")
YAML = str(ROOT / "data/flchain/flchain.yaml")
FORMULA = "death ~ age + sex + log(flc)"
BASE = ["fit", FORMULA, "--family", "bernoulli", "--data", CSV, "--schema", YAML]
BUDGET = ["--epsilon", "20", "--delta", "1e-6"]
DELTA = ["--delta", "1e-6"]
LEDGER = ["--data-id", "clinic", "--epsilon", "3", "--delta", "1e-6"]
QUICK = ["--method", "dp-penalty", "--chains", "1", "--quiet"]
AWARE = ["--method", "noise-aware"]
SHORT = ["--chains", "2", "--draws", "30", "--warmup", "10", "--quiet"]

counts = {"passed": 0, "failed": 0}


def verdict(name, problem):
    if problem:
        counts["failed"] += 1
        print(f"FAILED {name}: {problem}")
    else:
        counts["passed"] += 1


def run(words, **options):
    return subprocess.run([TACIT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=250,
                          errors="replace", **options)


def common_faults(done):
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    if re.search(r"Sanitizer|runtime error", done.stderr):
        return "sanitizer: " + done.stderr[-2000:]
    left = [name for name in os.listdir(".") if ".tmp" in name]
    return f"left {left}" if left else None


def case(name, long=False, arithmetic=False):
    """Decorator: run the function as a case; it returns or raises what is wrong. Long cases (over a second) run with --all."""
    def register(function):
        if (long and not ALL) or (arithmetic and FEW) or ONLY not in name:
            return function
        try:
            problem = function()
        except Exception as error:  # a broken case is a failed one
            at = error.__traceback__.tb_next
            problem = f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}: {error!r}"
        verdict(name, problem)
        return function
    return register


def check_bad(name, words, status, pattern):
    done = run(words)
    problem = common_faults(done)
    lines = done.stderr.rstrip("\n").split("\n")
    messages = [line for line in lines if not line.startswith(("plan:", "warning:", "note:"))]
    if not problem and done.returncode != status:
        problem = f"exit status {done.returncode}, expected {status}: {done.stderr}"
    if not problem and not re.search(pattern, done.stderr):
        problem = f"no match for {pattern!r} in {done.stderr!r}"
    if not problem and len(messages) not in (1, 3):
        problem = f"not one clear line: {messages}"
    if not problem and os.path.exists("out"):
        problem = "an output directory was left behind"
    shutil.rmtree("out", ignore_errors=True)
    return problem, messages


def simple(data, schema, formula="y ~ x + s", *extra):
    return ["fit", formula, "--family", "bernoulli", "--data", data, "--schema", schema, *BUDGET, "--out", "out", *extra]


def replaced(option, value):
    words = BASE + BUDGET + ["--out", "out"]
    words[words.index(option) + 1] = value
    return words


def release(statistic, column, *extra, data="people.csv", schema="people.yaml", epsilon="1"):
    columns = ["--column", column] if column else []
    return ["release", "--statistic", statistic, *columns, "--data", data, "--schema", schema, "--epsilon", epsilon, "--out", "out", *extra]


def on_ledger(ledger, *extra):
    return BASE + ["--epsilon", "2", "--delta", "1e-6", "--out", "out", *QUICK, "--ledger", ledger, *extra]


def infer(model="gauss", statistic="mean", *extra, n=("--n", "200")):
    return ["infer", f"{model}-model.yaml", "--statistic", f"{statistic}.yaml", "--out", "out", *n, *extra]


def fit(out, *extra, expect=0):
    done = run(BASE + ["--out", out, *SHORT, *extra])
    problem = common_faults(done)
    assert not problem, problem
    assert done.returncode == expect, done.stderr
    return done


def export(path):
    done = run(["ledger", "export", path, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
