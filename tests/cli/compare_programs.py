#!/usr/bin/env python3
"""compare_programs.py OLD NEW SOURCE_ROOT: do two builds of the program say and write the same, byte for byte?

For changes that move decisions and must not alter them. Both run the bad inputs of run_cases.py and seeded runs of every method,
plans, dry runs, releases and inference; standard output and error, exit status and every file are compared, times, hashes and
names of temporary files aside. Draws are compared too: both programs must be built by the same compiler.
"""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

OLD, NEW = map(os.path.abspath, sys.argv[1:3])
sys.argv = ["run_cases.py", OLD, sys.argv[3]]
sys.dont_write_bytecode = True
import case_engine as cases  # noqa: E402, reads its arguments when it is imported
from bad_inputs import BAD  # noqa: E402
from case_files import FILES, make_columns, make_ledgers  # noqa: E402

VARIES = [(re.compile(pattern), word) for pattern, word in (
    (rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", b"TIME"), (rb"\b[0-9a-f]{64}\b", b"HASH"), (rb"\.tmp-\d+", b".tmp-N"))]
FEW = ["--chains", "2", "--draws", "8", "--warmup", "4", "--seed", "7"]
LONGER = {"noise-aware": ["--draws", "40", "--warmup", "30"]}
COUNTS = ["fit", "n ~ x", "--data", "count.csv", "--schema", "count.yaml", "--family", "poisson"]
GAUSSIAN = ["fit", "y ~ x", "--data", "people.csv", "--schema", "people.yaml", "--family", "gaussian"]
PERSONS = ["fit", "y ~ x", "--family", "bernoulli", "--data", "person.csv", "--schema", "person.yaml"]
PRIVATE_N = ["fit", "y ~ x", "--family", "bernoulli", "--data", "good.csv", "--schema", "private-n.yaml", "--n-public", "4"]
PLAN = ["plan", cases.FORMULA, "--schema", cases.YAML, "--family", "bernoulli", "--n", "7874", "--epsilon", "3", "--delta", "1e-6"]


def seeded_fits(program):
    methods = json.loads(subprocess.run([program, "methods", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    for method in methods:
        name = method["name"]
        how = ["--epsilon", "20", "--delta", "1e-6"] if method["private"] else ["--exposed"]
        yield cases.BASE + ["--method", name, *how, *FEW, *LONGER.get(name, []), "--curator-notes"]
        if name in ("noise-aware", "dp-hmc", "dp-penalty", "hmc"):
            yield cases.BASE + ["--method", name, *how, "--chains", "2", "--dry-run"]
    budget = ["--epsilon", "20", "--delta", "1e-6"]
    hmc = [*cases.BASE, *budget, *FEW, "--method", "dp-hmc"]
    walk = [*cases.BASE, *budget, *FEW, "--method", "dp-penalty"]
    yield cases.BASE + budget + FEW[:2] + FEW[6:] + ["--quiet"]
    for more in (["--metric", "private", "--clip-grad", "private"], ["--clip-ratio", "private", "--clip-share", "0.05"],
                 ["--no-jitter", "--no-reuse", "--init", "0", "--temperature", "0.5"], ["--acceptance", "barker", "--leapfrog", "1"],
                 ["--prior", "normal(0, 1)", "--prior", "age: cauchy(0, 2)", "--prior-scale", "original", "--thin", "2"],
                 ["--noise-grad", "9", "--noise-ratio", "8", "--step-size", "0.1"], ["--threads", "2", "--metric-file", "four.txt"],
                 ["--init", "four.txt", "--quiet"], ["--init", "words.txt"], ["--metric-file", "numbers.txt"], ["--metric-file", "words.txt"]):
        yield hmc + more
    for proposal in ("full", "one-component", "guided"):
        yield walk + ["--acceptance", "penalty", "--proposal", proposal]
    for rule in (["penalty-bit", "--sigma", "2"], ["probit-bit"], ["arcsine", "--kappa", "0.5", "--cap", "0.6"]):
        yield walk + ["--acceptance", *rule] # slow: their accounting is
    yield [*cases.BASE, *budget, *FEW, "--method", "dp-barker-vcorr", "--variance", "1.5", "--sampling-rate", "0.2"]
    yield [*cases.BASE, *budget, *FEW, "--method", "dp-barker-vcorr", "--acceptance", "barker-penalty"]
    yield [*cases.BASE, *budget, *FEW, "--method", "dp-sghmc", "--friction", "2", "--step-decay", "0.3"]
    for base in (COUNTS, GAUSSIAN, PERSONS, PRIVATE_N):
        for more in ([], ["--method", "dp-hmc", "--clip-grad", "1", "--clip-ratio", "1"], ["--method", "dp-penalty", "--clip-grad", "private",
                                                                                            "--clip-ratio", "private"],
                     ["--method", "noise-aware"]):
            yield base + ["--epsilon", "30", "--delta", "1e-6", *FEW, *more, "--curator-notes"]
    yield GAUSSIAN + ["--sd", "1", "--epsilon", "3", "--delta", "1e-6", *FEW]
    yield ["fit", "sex ~ x + kids", "--data", "people.csv", "--schema", "people.yaml", "--family", "categorical", *budget, *FEW]
    for epsilon in ("0.01", "0.3", "3"):
        yield cases.BASE + ["--epsilon", epsilon, "--delta", "1e-6", "--dry-run"]
        yield cases.BASE + ["--epsilon", epsilon, "--delta", "1e-6", "--dry-run", "--method", "dp-hmc", "--quiet"]
        yield cases.BASE + ["--epsilon", epsilon, "--delta", "1e-6", "--dry-run", "--method", "dp-penalty", "--acceptance", "barker",
                            "--ledger", "good.ledger"]


def others():
    for more in ([], ["--json"], ["--epsilon", "0.1"], ["--clip-grad", "private", "--metric", "private"], ["--draws", "100", "--chains", "2"]):
        yield PLAN + more
    for base in (COUNTS, GAUSSIAN):
        yield ["plan", base[1], *base[4:], "--n", "600", "--epsilon", "1", "--delta", "1e-5", "--clip-grad", "2", "--clip-ratio", "2"]
    yield ["methods"]
    yield ["methods", "--json"]
    yield ["--help"]
    for command in ("fit", "summary", "schema check", "schema draft", "import", "methods", "plan", "diagnose", "account", "ledger init",
                    "ledger show", "ledger export", "ledger verify", "release", "infer"):
        yield [*command.split(), "--help"]
        yield ["help", "--man", *command.split()]
    yield ["help", "--completion", "bash"]
    for mechanism in ("gaussian", "laplace"):
        yield ["release", "--statistic", "clamped-mean", "--column", "hours", "--data", "people.csv", "--schema", "people.yaml", "--epsilon",
               "1", "--seed", "3", "--mechanism", mechanism, *(["--delta", "1e-6"] if mechanism == "gaussian" else [])]
    for statistic, formula in (("moments", "y ~ x"), ("score", "old ~ x")):
        yield ["release", formula, "--statistic", statistic, "--data", "people.csv", "--schema", "people.yaml", "--epsilon", "9", "--delta",
               "1e-6", "--seed", "3"]
    yield ["release", "--statistic", "counts", "--column", "sex,smoker", "--data", "people.csv", "--schema", "people.yaml", "--epsilon",
           "1", "--delta", "1e-6", "--mechanism", "discrete-gaussian", "--seed", "3"]
    for model, statistics in (("gauss", "mean gauss-mean classical n-mean sum"), ("gauss2", "mean moments"), ("poisson", "sum discrete"),
                              ("table", "counts"), ("factors", "cells factors short"), ("regression", "products one-column one-bound"),
                              ("logistic", "score short-score"), ("hours", "mean")):
        for statistic in statistics.split():
            for method in ([], ["--method", "gibbs"], ["--method", "marginal"], ["--method", "hmc", "--path", "joint", "--leapfrog", "3"]):
                yield ["infer", f"{model}-model.yaml", "--statistic", f"{statistic}.yaml", "--n", "200", "--chains", "2", "--draws", "10",
                       "--warmup", "10", "--seed", "2", *method]


def steady(data):
    for pattern, word in VARIES:
        data = pattern.sub(word, data)
    return data


def files_under(path):
    if path.is_file():
        yield path.name, steady(path.read_bytes())
    for file in sorted(path.rglob("*")) if path.is_dir() else ():
        yield str(file.relative_to(path)), steady(file.read_bytes())


def ledger_of(path):
    with sqlite3.connect(path) as ledger:
        return steady("\n".join(ledger.iterdump()).encode())


def record(program, folder):
    """What the program does in a fresh folder: {command line: everything seen}."""
    cases.TACIT = program
    seen = {}
    os.mkdir(folder)
    os.chdir(folder)
    for name, text in FILES.items():
        pathlib.Path(name).write_text(text)
    pathlib.Path("cut.csv.gz").write_bytes(b"\x1f\x8b")
    pathlib.Path("four.txt").write_text("0.1 0.2\n# comment\n0.3, 0.4\n")
    os.mkdir("exists")
    make_ledgers()
    make_columns()
    commands = [words for _, words, _, _ in BAD]
    for words in [*seeded_fits(program), *others()]:
        writes = words[0] in ("fit", "release", "infer") and "--help" not in words and "--dry-run" not in words
        commands.append([*words, "--out", "out"] if writes else words)
    for words in commands:
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        seen[" ".join(words)] = (done.returncode, steady(done.stdout), steady(done.stderr), dict(files_under(pathlib.Path("out"))))
        if pathlib.Path("out").is_dir():
            shutil.rmtree("out")
        pathlib.Path("out").unlink(missing_ok=True)
    for path in sorted(pathlib.Path().glob("*.ledger")):
        if path.name == "good.ledger":
            seen[path.name] = ledger_of(path)
    os.chdir("/")
    shutil.rmtree(folder)
    return seen


def main():
    with tempfile.TemporaryDirectory() as place:
        old, new = (record(program, f"{place}/work") for program in (OLD, NEW))
    assert old.keys() == new.keys()
    differing = [name for name in old if old[name] != new[name]]
    for name in differing:
        print(f"\n--- {name}")
        parts = zip(("status", "stdout", "stderr"), old[name], new[name]) if isinstance(old[name], tuple) else [("file", old[name], new[name])]
        for part, before, after in parts:
            if before != after:
                print(f"  {part}: {before!r}\n     now: {after!r}"[:3000])
        if isinstance(old[name], tuple) and old[name][3] != new[name][3]:
            names = old[name][3].keys() | new[name][3].keys()
            print("  files:", sorted(file for file in names if old[name][3].get(file) != new[name][3].get(file)))
    succeeded = sum(isinstance(what, tuple) and what[0] == 0 for what in old.values())
    print(f"{len(old)} command lines, {succeeded} of them succeed, {len(differing)} differ")
    sys.exit(len(differing) > 0)


main()
