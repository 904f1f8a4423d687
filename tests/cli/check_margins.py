#!/usr/bin/env python3
"""tacit release --statistic margins, tacit infer and tacit synthesize from them: the files that they hand on, and what is refused before anything is spent.

    check_margins.py TACIT
"""
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TACIT = os.path.abspath(sys.argv[1])
CHAINS = ["--chains", "2", "--warmup", "150", "--draws", "150", "--seed", "1"]


def run(*words, status=0):
    done = subprocess.run([TACIT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    if status:
        assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr if status else done.stdout


def say_all(*words, status=0):
    done = subprocess.run([TACIT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
    assert done.returncode == status, (words, done.returncode, done.stdout)
    return done.stdout


def refuse(words, message, status=2):
    said = run(*words, status=status)
    assert message in said, said


os.chdir(tempfile.mkdtemp())
rng = random.Random(5)
COLUMNS = "columns:\n  sex: {type: categorical, levels: [F, 'M, m']}\n  age: {type: categorical, levels: [young, middle, old]}\n  ill: {type: binary}\n"
MANY = "".join(f"  c{i}: {{type: binary}}\n" for i in range(18))
pathlib.Path("d.yaml").write_text("dataset: first\n" + COLUMNS + MANY)
pathlib.Path("open.yaml").write_text("dataset: first\nrelation: add-remove\n" + COLUMNS + MANY)
N = 4000
rows = []
for _ in range(N):
    age = rng.randrange(3)
    rows.append(f"{rng.choice(['F', chr(34) + 'M, m' + chr(34)])},{['young', 'middle', 'old'][age]},{int(rng.random() < 0.1 + 0.2 * age)},"
                + ",".join(str(rng.randrange(2)) for _ in range(18)))
pathlib.Path("d.csv").write_text("sex,age,ill," + ",".join(f"c{i}" for i in range(18)) + "\n" + "\n".join(rows) + "\n")
run("ledger", "init", "l", "--data-id", "first", "--epsilon", "3", "--delta", "1e-5")
RELEASE = ["release", "--data", "d.csv", "--schema", "d.yaml", "--statistic", "margins", "--epsilon", "1", "--delta", "1e-6"]
TWO = ["--margin", "sex,age", "--margin", "age , ill"]

# Released once, charged once; inferred from without a model; rows of all columns.
said = run(*RELEASE, *TWO, "--mechanism", "discrete-gaussian", "--ledger", "l", "--out", "m.yaml")
assert "12 values" in said and "MODEL" not in said, said
text = pathlib.Path("m.yaml").read_text()
assert f"n: {N}\n" in text and "relation: substitute" in text and text.count("- columns:") == 2, text
assert "release: margins sex age ill" in run("ledger", "show", "l")
said = run("infer", "--statistic", "m.yaml", "--out", "post", *CHAINS)
assert "age=old:ill=1" in said and "warning" not in said and "relation substitute" in said, said
assert pathlib.Path("post/statistic.yaml").read_text() == text
said = " ".join(pathlib.Path("post/privacy.txt").read_text().split())
assert "the chain's distribution is the posterior given the release" in said.lower(), said
said = run("synthesize", "post", "--sets", "6", "--out", "rows.csv")
made = list(csv.reader(open("rows.csv")))
assert made[0] == ["synthetic_set", "sex", "age", "ill"] and len(made) == 1 + 6 * N
ill = sum(row[3] == "1" for row in made[1:] if row[2] == "old") / sum(row[2] == "old" for row in made[1:])
assert abs(ill - 0.5) < 0.06, ill
compared = json.loads(pathlib.Path("rows.csv.json").read_text())
assert compared["private"] and len(compared["cells"]) == 12
assert all(abs(c["released_share"] - c["rows_share"]) < 0.03 for c in compared["cells"]), compared
assert "T = (1 + 1/M) b &minus; u" in pathlib.Path("rows.csv.html").read_text()
run("synthesize", "post", "--sets", "6", "--out", "again.csv")
assert pathlib.Path("again.csv").read_bytes() == pathlib.Path("rows.csv").read_bytes()

# The same again, and the number of records private: reported, and asked for where rows are made.
said = run("release", "--data", "d.csv", "--schema", "open.yaml", *RELEASE[5:], *TWO, "--out", "open-m.yaml")
text = pathlib.Path("open-m.yaml").read_text()
assert "\nn:" not in text and "relation: add-remove" in text and str(N) not in said, (text, said)
said = run("infer", "--statistic", "open-m.yaml", "--out", "open-post", *CHAINS)
n = [float(line.split()[1]) for line in said.splitlines() if line.startswith("n ")]
assert len(n) == 1 and abs(n[0] - N) < 120, said
refuse(["synthesize", "open-post", "--sets", "2", "--out", "x.csv"], "--rows")
run("synthesize", "open-post", "--sets", "2", "--rows", "50", "--out", "x.csv")

# The number said to tacit infer alone: rows are as many.
run("infer", "--statistic", "open-m.yaml", "--n", 3987, "--out", "said-post", *CHAINS)
run("synthesize", "said-post", "--sets", "2", "--out", "said.csv")
assert len(pathlib.Path("said.csv").read_text().splitlines()) == 1 + 2 * 3987

# A prior, and findings: swamped by noise, contradicting each other.
pathlib.Path("model.yaml").write_text("records: table\neffects: normal(0, 1)\n")
assert "each normal(0, 1) beforehand" in run("infer", "model.yaml", "--statistic", "m.yaml", "--out", "post-1", *CHAINS)
WRITTEN = ("statistic: margins\nfactors: {a: [x, y], b: [x, y]}\nmargins: [{columns: [a], value: [%s, 40]}, {columns: [a, b], value: [30, 30, 20, 20]}]\n"
           "n: 100\nmechanism: gaussian\nscale: %s\n")
pathlib.Path("swamped.yaml").write_text(WRITTEN % (60, 400))
assert "noise swamps 3 of the effects" in say_all("infer", "--statistic", "swamped.yaml", "--out", "p1", *CHAINS)
pathlib.Path("torn.yaml").write_text(WRITTEN % (90, 2))
said = say_all("infer", "--statistic", "torn.yaml", "--out", "p2", *CHAINS)
assert "problem  the margins contradict each other" in said and " NA " in said, said
assert "the margins contradict each other" in say_all("diagnose", "p2", status=5)
refuse(["synthesize", "p2", "--sets", "2", "--out", "torn.csv"], "a check of the fit forbids intervals", 3)
page = pathlib.Path("p2/report.html").read_text()
assert "contradict each other" in page, page
# More cells than counts are drawn of: noise is taken for continuous.
names = [f"c{i}" for i in range(17)]
pathlib.Path("near.yaml").write_text("statistic: margins\nfactors: {" + ", ".join(f"{c}: [x, y]" for c in names) + "}\nmargins:\n" + "".join(
    f"  - {{columns: [{a}, {b}], value: [30, 20, 20, 30]}}\n" for a, b in zip(names, names[1:])) + "n: 100\nmechanism: discrete-gaussian\nscale: 0.3\n")
assert "discrete noise of scale 0.3 is taken for continuous" in say_all("infer", "--statistic", "near.yaml", "--out", "p3", *CHAINS)

# Refused in a line, before anything is spent.
ring = [word for i in range(18) for j in range(i) for word in ("--margin", f"c{i},c{j}")]
before = run("ledger", "show", "l")
for words, message in ((ring, "clique of 2.621e+05 cells"), (["--margin", "sex,age", "--margin", "age,sex"], "same columns"),
                       (["--margin", "sex,aeg"], "did you mean 'age'"),
                       ([], "--margin is needed"), (["--margin", "sex,sex"], "names a column twice"),
                       (501 * ["--margin", "sex"], "at most 500 margins"), (["--margin", "sex,"], "no column ''"),
                       (["--column", "sex", *TWO], "takes its columns from --margin")):
    refuse([*RELEASE, *words, "--ledger", "l", "--out", "no.yaml"], message, 3 if "mean" in message or "no column" in message else 2)
refuse([*RELEASE[:7], "--epsilon", "1", *TWO, "--mechanism", "laplace", "--out", "no.yaml"], "gaussian or discrete-gaussian")
refuse([*RELEASE[:5], "--statistic", "counts", "--column", "sex", "--margin", "age", *RELEASE[7:], "--out", "no.yaml"], "--margin only goes with")
assert run("ledger", "show", "l") == before and not pathlib.Path("no.yaml").exists()
for damage, message in (("columns: [a, b]", "columns: [b, a]"), ("[30, 30, 20, 20]", "[30, 30, 20]"), ("scale: 2", "scale: -2"), ("n: 100", "n: 1.5"),
                        ("gaussian", "gauss"), ("margins: [", "margin: ["),
                        ("[a, b]", "[a, c]")):
    pathlib.Path("damaged.yaml").write_text((WRITTEN % (60, 2)).replace(damage, message))
    said = run("infer", "--statistic", "damaged.yaml", "--out", "no", status=3)
    assert "damaged.yaml:" in said, said
refuse(["infer", "--statistic", "m.yaml", "--method", "gibbs", "--out", "no"], "--method marginal alone")
refuse(["infer", "--statistic", "m.yaml", "--n", "17", "--out", "no"], "17 on the command line", 3)
refuse(["infer", "--statistic", "d.yaml", "--out", "no"], "a model is needed")
assert not pathlib.Path("no").exists()
