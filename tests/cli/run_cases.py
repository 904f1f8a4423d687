#!/usr/bin/env python3
"""Run the program as a user would: bad inputs and good paths.

    run_cases.py TACIT SOURCE_ROOT            run the quick cases; ends with "N passed, N failed"
    run_cases.py TACIT SOURCE_ROOT --all      run all cases
    run_cases.py TACIT SOURCE_ROOT --only TEXT  run the cases with TEXT in their names
    run_cases.py TACIT SOURCE_ROOT --table    write docs/errors.md from what the program really prints
"""
import gzip
import hashlib
import csv
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

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
COLUMNS = "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: 0.5, upper: 2}\n  s: {type: categorical, levels: [F, M]}\n"

MARGINS = "statistic: margins\nfactors: {a: [x, y]}\nmargins: [{columns: [a], value: [%s]}]\nn: 100\nmechanism: gaussian\nscale: 2\n"
MEAN = "statistic: mean\nvalue: 0.31\nlower: -1\nupper: 1\nmechanism: laplace\nepsilon: 1\n"

FILES = {
    "broken.yaml": "columns: {y: [1, 2\n",
    "key.yaml": "columns:\n  y: {type: binary}\nrelaton: substitute\n",
    "reversed.yaml": "columns:\n  y: {type: binary}\n  x: {type: numeric, lower: 5, upper: 1}\n",
    "levels.yaml": "columns:\n  s: {type: categorical}\n",
    "type.yaml": "columns:\n  s: {type: number}\n",
    "todo.yaml": 'columns:\n  x: {type: numeric, lower: "?", upper: "?"}\n',
    "good.yaml": COLUMNS,
    "zero.yaml": COLUMNS.replace("0.5", "0"),
    "wide.yaml": COLUMNS.replace("upper: 2", "upper: 3"),
    "more.yaml": COLUMNS + "  z: {type: binary}\n",
    "strict.yaml": COLUMNS.replace("upper: 2", "upper: 2, out_of_range: error"),
    "private-n.yaml": "relation: add-remove\n" + COLUMNS,
    "person.yaml": "unit: who\nmax_rows: 3\n" + COLUMNS + "  who: {type: id}\n",
    "person.csv": "who,y,x,s\na,1,1.5,F\na,0,0.7,M\nb,1,1.1,M\n",
    "many.yaml": "columns:\n  n: {type: integer, lower: 0, upper: 5000}\n  x: {type: numeric, lower: 0.5, upper: 2}\n",
    "count.yaml": "columns:\n  n: {type: integer, lower: 0, upper: 50}\n  x: {type: numeric, lower: 0.5, upper: 2}\n",
    "numbers.json": '{"values": [1, 2]}\n',
    "good.csv": "y,x,s\n1,1.5,F\n0,0.7,M\n1,1.1,M\n0,1.9,F\n",
    "level.csv": "y,x,s\n1,1.5,F\n0,0.7,X\n",
    "text.csv": "y,x,s\n1,high,F\n",
    "ragged.csv": "y,x,s\n1,1.5,F\n0,0.7\n",
    "open.csv": 'y,x,s\n1,1.5,"F\n',
    "nul.csv": "y,x,s\n1,1.5,F\n\0,1,F\n",
    "empty.csv": "",
    "text.sav": "y,x,s\n1,1.5,F\n",
    "broken.sas7bdat": "\0" * 12 + "not a SAS file",
    "latin.csv": "y,größe\n1,1.5\n".encode("latin-1"),
    "header.csv": "y,x,s\n",
    "drop.yaml": COLUMNS.replace("upper: 2", "upper: 2, missing: drop"),
    "drop-level.yaml": "columns:\n  s: {type: categorical, levels: [drop, M], missing: drop}\n",
    "missing.csv": "y,x,s\n1,,F\n",
    "range.csv": "y,x,s\n1,7,F\n",
    "date.csv": "y,x,s\n1,2001-02-03,F\n",
    "words.csv": "y,x,s\n1,3 February 2001,F\n",
    "since.yaml": COLUMNS.replace("upper: 2", "upper: 9999, since: 2000-01-01"),
    "day.yaml": "columns:\n  x: {type: numeric, since: 2001-02-29, lower: 0, upper: 9}\n",
    "labels.yaml": "columns:\n  x: {type: numeric, lower: 0, upper: 9, labels: true}\n",
    "dated.yaml": "columns:\n  x: {type: categorical, levels: [a], since: 2001-02-03}\n",
    "count.csv": "n,x\n1,1.5\n0,0.7\n4,1\n",
    "plan.yaml": "relation: add-remove\nonce:\n  - event: gaussian:sigma=50\n    label: moments\neach_iteration:\n"
                 "  - event: poisson-gaussian:q=0.01,sigma=1\n    count: 11\n",
    "plan-key.yaml": "each_iteraton:\n  - event: gaussian:sigma=50\n",
    "plan-event.yaml": "once:\n  - event: gaussian:sigma=-1\n",
    "plan-count.yaml": "once:\n  - event: gaussian:sigma=1\n    count: 1.5\n",
    "plan-empty.yaml": "relation: substitute\n",
    "plan-anchor.yaml": "once: &all\n  - event: gaussian:sigma=1\n",
    "plan-second.yaml": "once:\n  - event: gaussian:sigma=1\n---\niterations: 3\n",
    "plan-twice.yaml": "once:\n  - event: gaussian:sigma=1\nonce:\n  - event: gaussian:sigma=9\n",
    "pair.csv": "p,q\n0.5,0.25\n0.5,0.75\n",
    "pair-sum.csv": "p,q\n0.5,0.25\n0.6,0.75\n",
    "pair-text.csv": "p,q\n0.5,a\n",
    "numbers.txt": "1 2 3\n",
    "words.txt": "1 2\nthree\n",
    "income.stan": "data { real<lower=0> income; }\ntransformed data { int<lower=0, upper=4> band = cut(income, {1e4, 3e4, 6e4, 1e5}); }\n"
                   "parameters { real mu; real<lower=0> sigma; }\nmodel { mu ~ normal(10, 2); sigma ~ exponential(1); income ~ lognormal(mu, sigma); }\n"
                   "statistic { table = count(band); capped = sum(fmin(income, 2e5)); }\n",
    "capped.yaml": "statistics:\n  table: {mechanism: discrete-gaussian, scale: 20, value: [2201, 16904, 17712, 7908, 3489], clamped: [0, inf]}\n"
                   "  capped: {mechanism: laplace, scale: 2e5, value: 2040000000}\n",
    "fitting.yaml": "statistics:\n  table: {mechanism: discrete-gaussian, scale: 20, value: [5775, 23626, 13297, 4012, 1443], clamped: [0, inf]}\n",
    "capped-noisy-n.yaml": "statistics:\n  capped: {mechanism: laplace, scale: 2e5, value: 2040000000}\nn: {mechanism: laplace, scale: 1, value: 48210}\n",
    "group.yaml": "records: {a: 200}\nstatistics:\n  table: {mechanism: laplace, scale: 2, value: [20, 60, 60, 40, 20]}\n",
    "margins-a.yaml": MARGINS % "50, 50",
    "margins-b.yaml": MARGINS % "51, 49",
    "waits.stan": "data { real<lower=0> t; }\nparameters { real<lower=0> rate; }\nmodel { rate ~ gamma(2, 1); t ~ gamma(2, rate); }\n"
                  "statistic { total = sum(fmin(t, 3)); }\n",
    "waits.yaml": "statistics:\n  total: {mechanism: laplace, scale: 3, value: 30}\n",
    "gauss-model.yaml": "records: gaussian\nmean: normal(0, 1)\nsd: 0.5\n",
    "gauss2-model.yaml": "records: gaussian\nmean: normal(0, 1)\nvariance: inverse_gamma(2, 1)\n",
    "poisson-model.yaml": "records: poisson\nrate: gamma(2, 0.5)\n",
    "table-model.yaml": "records: categorical\nlevels: [a, b, c]\nprobabilities: dirichlet(1)\n",
    "factors-model.yaml": "records: categorical\nfactors: {sex: [F, M], smoker: [no, yes]}\nprobabilities: dirichlet(1, 1, 2, 2)\n",
    "law-model.yaml": "records: gaussan\n",
    "key-model.yaml": "records: gaussian\nmaen: normal(0, 1)\n",
    "prior-model.yaml": "records: gaussian\nmean: normal(0)\nsd: 1\n",
    "scale-model.yaml": "records: gaussian\nmean: normal(0, -1)\nsd: 1\n",
    "nosd-model.yaml": "records: gaussian\nmean: normal(0, 1)\n",
    "mixed-model.yaml": "records: poisson\nrate: gamma(2, 1)\nsd: 1\n",
    "level-model.yaml": "records: categorical\nlevels: [a]\nprobabilities: dirichlet(1)\n",
    "list-model.yaml": "- records\n",
    "mean.yaml": MEAN,
    "n-mean.yaml": MEAN + "n: 200\n",
    "gauss-mean.yaml": MEAN.replace("laplace", "gaussian") + "delta: 1e-5\n",
    "classical.yaml": MEAN.replace("laplace\nepsilon: 1", "classical-gaussian\nepsilon: 10") + "delta: 1e-5\n",
    "moments.yaml": "statistic: moments\nvalue: [0.3, 0.3]\nlower: -1\nupper: 1\nmechanism: gaussian\nscale: [0.02, 0.01]\n",
    "sum.yaml": "statistic: sum\nvalue: 612\nlower: 0\nupper: 10\nmechanism: discrete-laplace\nepsilon: 1\n",
    "counts.yaml": "statistic: counts\nvalue: [60, -1, 143]\nmechanism: discrete-gaussian\nscale: 2\ndelta: 1e-6\n",
    "cells.yaml": "statistic: counts\nvalue: [60.2, 20.1, 99.7, 18]\nmechanism: laplace\nepsilon: 1\n",
    "kind.yaml": MEAN.replace("mean", "median"),
    "mechanism.yaml": MEAN.replace("laplace", "laplase"),
    "noscale.yaml": MEAN.replace("epsilon: 1\n", ""),
    "twoscales.yaml": MEAN + "scale: 1\n",
    "nodelta.yaml": MEAN.replace("laplace", "gaussian"),
    "negative.yaml": MEAN.replace("epsilon: 1", "scale: -1"),
    "nobounds.yaml": MEAN.replace("lower: -1\n", ""),
    "bounds.yaml": MEAN.replace("lower: -1", "lower: 3"),
    "novalue.yaml": MEAN.replace("value: 0.31\n", ""),
    "word.yaml": MEAN.replace("0.31", "high"),
    "twice.yaml": MEAN + "value: 0.4\n",
    "misspelt.yaml": MEAN.replace("lower", "lowr"),
    "nostep.yaml": MEAN.replace("laplace", "discrete-laplace"),
    "offgrid.yaml": "statistic: sum\nvalue: 61.5\nlower: 0\nupper: 10\nmechanism: discrete-laplace\nepsilon: 1\n",
    "discrete.yaml": "statistic: sum\nvalue: 61\nlower: 0\nupper: 10\nmechanism: discrete-gaussian\nepsilon: 1\ndelta: 1e-6\n",
    "short.yaml": "statistic: counts\nvalue: [60, 20]\nmechanism: laplace\nepsilon: 1\n",
    "open-statistic.yaml": "statistic: [mean\n",
    "empty-value.yaml": "statistic: counts\nvalue: []\nscale: []\nmechanism: laplace\n",
    "privacy.yaml": MEAN.replace("epsilon: 1", "scale: 0.1") + "privacy: {epsilon: -1, delta: 0}\n",
    "factors.yaml": "statistic: counts\nfactors: {smoker: [no, yes], sex: [F, M]}\nvalue: [60, 20, 99, 18]\nmechanism: laplace\nepsilon: 1\n",
    "people.yaml": "dataset: people\ncolumns:\n  hours: {type: numeric, lower: 0, upper: 80}\n  kids: {type: integer, lower: 0, upper: 9}\n"
                   "  sex: {type: categorical, levels: [F, M]}\n  smoker: {type: categorical, levels: [\"no\", \"yes\"]}\n"
                   "  x: {type: numeric, lower: -2, upper: 2}\n  y: {type: numeric, lower: -4, upper: 4}\n"
                   "  old: {type: binary}\n",
    "people.csv": "hours,kids,sex,smoker,x,y,old\n" + "".join(
        f"{20 + i * 37 % 41},{i * i % 4},{'FM'[i % 2]},{'yes' if i % 3 == 0 else 'no'},{i * 7 % 31 / 15 - 1:.3f},"
        f"{(i * 7 % 31 / 15 - 1) * 1.5 + i * 11 % 23 / 23 - 0.5:.3f},{i * 7 % 31 + i * 13 % 37 > 33:d}\n" for i in range(600)),
    "regression-model.yaml": "records: regression\ncoefficients: normal(0, 1)\nvariance: inverse_gamma(2, 0.1)\n",
    "logistic-model.yaml": "records: logistic\ncoefficients: normal(0, 2)\nfeatures: normal(0, 1)\nvariance: inverse_gamma(2, 0.1)\n",
    "nofeatures-model.yaml": "records: logistic\ncoefficients: normal(0, 2)\nvariance: inverse_gamma(2, 0.1)\n",
    "shifted-model.yaml": "records: logistic\ncoefficients: normal(0, 2)\nfeatures: normal(1, 1)\nvariance: inverse_gamma(2, 0.1)\n",
    "score.yaml": "statistic: logistic-score\ncolumns: [x, y]\nlower: [-2, 0]\nupper: [2, 1]\nvalue: [0, 0.1, 0.1, 0.1]\n"
                  "mechanism: gaussian\nepsilon: 5\ndelta: 1e-6\n",
    "short-score.yaml": "statistic: logistic-score\ncolumns: [x, y]\nlower: [-2, 0]\nupper: [2, 1]\nvalue: [0, 0.1, 0.1]\n"
                        "mechanism: gaussian\nscale: 0.1\n",
    "centred-model.yaml": "records: regression\ncoefficients: normal(1, 1)\nvariance: inverse_gamma(2, 0.1)\n",
    "products.yaml": "statistic: regression-moments\ncolumns: [x, y]\nlower: [-2, -4]\nupper: [2, 4]\nvalue: [0, 0, 0.1, 0.1, 0.1]\n"
                     "mechanism: gaussian\nscale: 0.001\n",
    "one-column.yaml": "statistic: regression-moments\ncolumns: [y]\nlower: [-4]\nupper: [4]\nvalue: [0, 0.1]\nmechanism: gaussian\nscale: 0.1\n",
    "one-bound.yaml": "statistic: regression-moments\ncolumns: [x, y]\nlower: [-4]\nupper: [4, 4]\nvalue: [0, 0, 0.1, 0.1, 0.1]\n"
                      "mechanism: gaussian\nscale: 0.1\n",
    "hours-model.yaml": "records: gaussian\nmean: normal(40, 20)\nsd: 12\n",
    "people-model.yaml": "records: categorical\nfactors: {sex: [F, M], smoker: [\"no\", \"yes\"]}\nprobabilities: dirichlet(1)\n",
}


def simple(data, schema, formula="y ~ x + s", *extra):
    return ["fit", formula, "--family", "bernoulli", "--data", data, "--schema", schema, *BUDGET, "--out", "out", *extra]


def replaced(option, value):
    words = BASE + BUDGET + ["--out", "out"]
    words[words.index(option) + 1] = value
    return words


def release(statistic, column, *extra, data="people.csv", schema="people.yaml", epsilon="1"):
    columns = ["--column", column] if column else []
    return ["release", "--statistic", statistic, *columns, "--data", data, "--schema", schema, "--epsilon", epsilon, "--out", "out", *extra]


DELTA = ["--delta", "1e-6"]
LEDGER = ["--data-id", "clinic", "--epsilon", "3", "--delta", "1e-6"]
QUICK = ["--method", "dp-penalty", "--chains", "1", "--quiet"]


def on_ledger(ledger, *extra):
    return BASE + ["--epsilon", "2", "--delta", "1e-6", "--out", "out", *QUICK, "--ledger", ledger, *extra]


AWARE = ["--method", "noise-aware"]


def infer(model="gauss", statistic="mean", *extra, n=("--n", "200")):
    return ["infer", f"{model}-model.yaml", "--statistic", f"{statistic}.yaml", "--out", "out", *n, *extra]


def edit_ledger(path, statements):
    with sqlite3.connect(path) as connection:
        connection.executescript(statements)
    connection.close()


def make_old_ledger(path):
    """A ledger without a spend as builds before units in ledgers made it."""
    created = "2024-05-06T07:08:09Z"
    values = ["tacit ledger 1", "clinic", "substitute", "3", "1e-06", created]
    head = hashlib.sha256("".join(f"{len(value)}:{value}\n" for value in values).encode()).hexdigest()
    edit_ledger(path, f"""PRAGMA journal_mode=WAL; PRAGMA application_id=1413696583; PRAGMA user_version=1;
        CREATE TABLE entries(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, spend INTEGER NOT NULL, time TEXT NOT NULL, who TEXT NOT NULL, host TEXT NOT NULL, purpose TEXT NOT NULL, artefact TEXT NOT NULL, hash TEXT NOT NULL);
        CREATE TABLE events(entry INTEGER NOT NULL, position INTEGER NOT NULL, count INTEGER NOT NULL, spec TEXT NOT NULL, label TEXT NOT NULL, PRIMARY KEY(entry, position)) WITHOUT ROWID;
        CREATE TABLE ledger(id INTEGER PRIMARY KEY, data_id TEXT NOT NULL, relation TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL, n_entries INTEGER NOT NULL, head TEXT NOT NULL);
        INSERT INTO ledger VALUES (1, 'clinic', 'substitute', '3', '1e-06', '{created}', 0, '{head}')""")


def make_ledgers():
    """Ledgers for the bad cases: good, of another relation, too small, edited, of a newer version, a plain database."""
    for name in ("good", "edited", "newer", "linked"):
        assert run(["ledger", "init", f"{name}.ledger", *LEDGER]).returncode == 0
    os.link("linked.ledger", "second-name.ledger")
    assert run(["ledger", "init", "small.ledger", "--data-id", "clinic", "--epsilon", "1", "--delta", "1e-6"]).returncode == 0
    assert run(["ledger", "init", "add.ledger", *LEDGER, "--relation", "add-remove"]).returncode == 0
    assert run(["ledger", "init", "persons.ledger", *LEDGER, "--unit", "person", "--max-rows", "5"]).returncode == 0
    make_old_ledger("old.ledger")
    edit_ledger("edited.ledger", "UPDATE ledger SET epsilon = '30'")
    edit_ledger("newer.ledger", "PRAGMA user_version = 4")
    edit_ledger("other.db", "CREATE TABLE t(x)")
    os.mkfifo("pipe")


def make_columns():
    """Imported columns for the bad cases: good, and damaged in various ways."""
    for name in ("good", "cut", "gone", "value", "newer", "manifest"):
        assert run(["import", "good.csv", "--schema", "good.yaml", "--out", f"{name}.columns"]).returncode == 0
    os.truncate("cut.columns/column-0002.f64", 31)
    os.unlink("gone.columns/column-0002.f64")
    with open("value.columns/column-0002.f64", "r+b") as file:
        file.seek(8)
        file.write(struct.pack("<d", 7))
    manifest = pathlib.Path("newer.columns/manifest.yaml")
    manifest.write_text(manifest.read_text().replace("format: 1", "format: 2"))
    pathlib.Path("manifest.columns/manifest.yaml").write_text("rows: [1, 2\n")


# what is wrong, command, exit status, what standard error must say
BAD = [
    ("data file does not exist", replaced("--data", "nowhere.csv"), 1, r"cannot open nowhere\.csv: No such file"),
    ("data file is a directory", replaced("--data", "."), 1, r"is a directory"),
    ("schema does not exist", replaced("--schema", "nowhere.yaml"), 1, r"cannot open nowhere\.yaml"),
    ("schema is not YAML", ["schema", "check", "broken.yaml"], 3, r"broken\.yaml:2:1: not valid YAML"),
    ("unknown key in the schema", ["schema", "check", "key.yaml"], 3, r"key\.yaml:3:1: .*did you mean 'relation'"),
    ("bounds reversed", ["schema", "check", "reversed.yaml"], 3, r"reversed\.yaml:3:22: .*the bounds are reversed"),
    ("categorical column without levels", ["schema", "check", "levels.yaml"], 3, r"levels\.yaml:2:13: .*needs levels"),
    ("unknown column type", ["schema", "check", "type.yaml"], 3, r"expected numeric, integer"),
    ("template not filled in", ["schema", "check", "todo.yaml"], 3, r"without looking at the data"),
    ("unknown column in the formula", simple("good.csv", "good.yaml", "y ~ x + sx"), 3, r"'sx'(.|\n)*\n *\^"),
    ("formula ends too early", simple("good.csv", "good.yaml", "y ~ x +"), 3, r"\n *\^"),
    ("parenthesis left open", simple("good.csv", "good.yaml", "y ~ log(x"), 3, r"\n *\^"),
    ("formula without ~", simple("good.csv", "good.yaml", "x + s"), 3, r"~"),
    ("logarithm of a range with zero", simple("good.csv", "zero.yaml", "y ~ log(x)"), 3, r"log"),
    ("response is no 0/1 column", simple("good.csv", "good.yaml", "x ~ y"), 3, r"bernoulli|binary"),
    ("level not in the schema", simple("level.csv", "good.yaml"), 3, r"level\.csv:3:7: column 's': not one of the levels"),
    ("text where a number belongs", simple("text.csv", "good.yaml"), 3, r"text\.csv:2:3: column 'x': expected a number"),
    ("row with too few fields", simple("ragged.csv", "good.yaml"), 3, r"ragged\.csv:3:1: a row of 2 fields; the header has 3"),
    ("quotation mark left open", simple("open.csv", "good.yaml"), 3, r"open\.csv:2:7: a quotation mark is never closed"),
    ("NUL byte", simple("nul.csv", "good.yaml"), 3, r"nul\.csv:3:1: a NUL byte"),
    ("header in Latin-1", ["schema", "draft", "latin.csv"], 3, r"latin\.csv:1:3: the header is not valid UTF-8: .*--encoding latin1 reads it"),
    ("text that is not in the encoding", ["schema", "draft", "latin.csv", "--encoding", "utf-8"], 3, r"latin\.csv:1:5: bytes that are no text in the encoding"),
    ("encoding that does not exist", simple("good.csv", "good.yaml", "y ~ x + s", "--encoding", "latin-one"), 2, r"--encoding 'latin-one' is not known here"),
    ("encoding of a database", simple("odbc:clinic", "good.yaml", "y ~ x + s", "--encoding", "latin1", "--query", "select 1", "--n-public", "9"), 2,
     r"--encoding only goes with CSV"),
    ("catalogue of what is not SAS", simple("good.csv", "good.yaml", "y ~ x + s", "--catalog", "f.sas7bcat"), 2, r"--catalog only goes with a SAS file"),
    ("database without a query", simple("odbc:clinic", "good.yaml"), 2, r"a database needs a query"),
    ("empty file", simple("empty.csv", "good.yaml"), 3, r"empty\.csv is empty"),
    ("no records (n = 0)", simple("header.csv", "good.yaml"), 3, r"has no records"),
    ("gzip file cut short", simple("cut.csv.gz", "good.yaml"), 1, r"truncated"),
    ("missing value", simple("missing.csv", "good.yaml"), 3, r"missing\.csv:2:3: column 'x': a missing value"),
    ("a level that is a rule for missing values", ["schema", "check", "drop-level.yaml"], 3, r"drop-level\.yaml:2:.*is a level of 's' too"),
    ("value out of range under error", simple("range.csv", "strict.yaml"), 3, r"range\.csv:2:3: .*outside its bounds"),
    ("prior that does not parse", BASE + BUDGET + ["--out", "out", "--prior", "normal(0"], 2, r"prior"),
    ("prior with a scale of 0", BASE + BUDGET + ["--out", "out", "--prior", "normal(0, 0)"], 2, r"prior"),
    ("prior for an unknown term", BASE + BUDGET + ["--out", "out", "--prior", "agee: flat"], 2, r"age"),
    ("epsilon 0", replaced("--epsilon", "0"), 2, r"--epsilon must be a number between 1e-12 and"),
    ("epsilon negative", replaced("--epsilon", "-1"), 2, r"--epsilon must be a number between"),
    ("epsilon not a number", replaced("--epsilon", "nan"), 2, r"--epsilon must be a number"),
    ("epsilon a word", replaced("--epsilon", "abc"), 2, r"not 'abc'"),
    ("delta 0", replaced("--delta", "0"), 2, r"--delta must be above 0"),
    ("delta 1", replaced("--delta", "1"), 2, r"--delta must be above 0 and below 1"),
    ("delta 2", replaced("--delta", "2"), 2, r"--delta must be a number between"),
    ("epsilon without delta", BASE + ["--epsilon", "1", "--out", "out"], 2, r"missing: --delta"),
    ("no budget", BASE + ["--out", "out"], 2, r"needs a budget"),
    ("unknown family", replaced("--family", "binomal"), 2, r"binomal. \(did you mean .binomial.\?\); tacit model families"),
    ("unknown method", BASE + BUDGET + ["--out", "out", "--method", "dp-hcm"], 2, r"did you mean 'dp-hmc'"),
    ("unknown acceptance rule", BASE + BUDGET + ["--out", "out", "--method", "dp-hmc", "--acceptance", "baker"], 2,
     r"--acceptance must be penalty, penalty-bit, probit-bit, barker or arcsine, not 'baker'"),
    ("no correction law for the variance", BASE + BUDGET + ["--out", "out", "--method", "dp-barker-vcorr", "--variance", "1.3"], 2,
     r"--variance must be 1, 1\.25, .* or 3, not 1\.3"),
    ("variance of another method", BASE + BUDGET + ["--out", "out", "--method", "dp-penalty", "--variance", "2"], 2,
     r"--variance only goes with --method dp-barker-vcorr"),
    ("acceptance of another method", BASE + BUDGET + ["--out", "out", "--method", "dp-barker-vcorr", "--acceptance", "barker"], 2,
     r"--acceptance of dp-barker-vcorr must be vcorr or barker-penalty, not 'barker'"),
    ("more noise than the variance", BASE + BUDGET + ["--out", "out", "--method", "dp-barker-vcorr", "--noise-ratio", "50",
                                                      "--step-size", "1"], 2, r"noise of sd .* is more than the variance 2 allows"),
    ("sampling rate above 1", BASE + BUDGET + ["--out", "out", "--method", "dp-sgld", "--sampling-rate", "2"], 2,
     r"--sampling-rate must be a number between"),
    ("dp-mala for another family", ["fit", "s ~ x", "--family", "gaussian", "--data", "good.csv", "--schema", "good.yaml",
                                    *BUDGET, "--method", "dp-mala", "--out", "out"], 3, r"."),
    ("unknown metric", BASE + BUDGET + ["--out", "out", "--method", "dp-hmc", "--metric", "privat"], 2,
     r"--metric must be schema or private, not 'privat'"),
    ("two metrics", BASE + BUDGET + ["--out", "out", "--metric", "private", "--metric-file", "numbers.txt"], 2,
     r"either --metric private or --metric-file"),
    ("private tuning of an exposed run", BASE + ["--method", "hmc", "--exposed", "--out", "out", "--metric", "private"], 2,
     r"an exposed run releases nothing to tune by"),
    ("private tuning of a method whose cost it would change", BASE + BUDGET + ["--out", "out", "--method", "dp-sgld", "--metric",
                                                                               "private"], 2, r"dp-sgld cannot be tuned by releases"),
    ("share to be clipped by no private bound", BASE + BUDGET + ["--out", "out", "--method", "dp-hmc", "--clip-share", "0.1"], 2,
     r"--clip-share only goes with"),
    ("clip bound that is a word", BASE + BUDGET + ["--out", "out", "--method", "dp-hmc", "--clip-grad", "privat"], 2,
     r"--clip-grad must be a number between"),
    ("minibatches and a ledger", BASE + BUDGET + ["--out", "out", "--method", "dp-sgld", "--chains", "1", "--quiet", "--ledger",
                                                  "good.ledger"], 2,
     r"a ledger takes no Gaussian releases of minibatches \(gradient, sampling rate 0\.1[0-9]*\): .*--sampling-rate 1"),
    ("decisions that the ledger has no room for", on_ledger("small.ledger", "--acceptance", "barker", "--draws", "100", "--yes"), 4,
     r"has room for one with epsilon 0\.9999.*, and here this one is as dear as a Gaussian run with epsilon 1\.[0-9]"),
    ("width wanted and epsilon given", ["plan", "y ~ x", "--family", "bernoulli", "--schema", "good.yaml", "--n", "100", *BUDGET, "--want-width", "1.3"], 2,
     r"asks which epsilon it takes: leave out --epsilon"),
    ("narrower than without privacy", ["plan", "y ~ x", "--family", "bernoulli", "--schema", "good.yaml", "--n", "100", "--delta", "1e-6", "--want-width", "1"], 2,
     r"--want-width must be above 1"),
    ("width of chains", ["plan", "s ~ x", "--family", "categorical", "--schema", "good.yaml", "--n", "100", "--delta", "1e-6", "--want-width", "2"], 2,
     r"where method noise-aware applies: .*bernoulli, gaussian or poisson"),
    ("plan without a schema", ["plan", "y ~ x", "--family", "bernoulli", "--n", "100", *BUDGET], 2, r"--schema is needed"),
    ("plan without n", ["plan", "y ~ x", "--family", "bernoulli", "--schema", "good.yaml", *BUDGET], 2, r"--n is needed"),
    ("refit of what is no fit", ["refit", ".", "--out", "out"], 1, r"\. has no releases\.json: only fits by method noise-aware"),
    ("refit of a file that holds no releases", ["refit", "numbers.json", "--out", "out"], 3, r"numbers\.json: \"format\" must be"),
    ("refit without a place to write to", ["refit", "."], 2, r"--out is needed"),
    ("refit with another budget", ["refit", ".", "--epsilon", "3", "--out", "out"], 2, r"unknown option"),
    ("sites without releases", ["combine", ".", ".", "--out", "out"], 1, r"\. has no releases\.json: .*chains pay for every step"),
    ("one site alone", ["combine", ".", "--out", "out"], 2, r"expected SITE SITE"),
    ("synthetic rows of no fit", ["synthesize", ".", "--out", "rows.csv"], 1, r"\. has no releases\.json"),
    ("no synthetic rows at all", ["synthesize", ".", "--rows", "0", "--out", "rows.csv"], 2, r"--rows must be a number between 1"),
    ("check of what is no fit", ["check", ".", "--data", "good.csv", *BUDGET], 1, r"\. has no releases\.json"),
    ("check without a budget", ["check", ".", "--data", "good.csv"], 2, r"--epsilon is needed"),
    ("check into a file that exists", ["check", ".", "--data", "good.csv", *BUDGET, "--out", "exists"], 1, r"exists exists: choose another --out"),
    ("diagnose what is no fit", ["diagnose", "."], 1, r"draws-1\.csv|privacy\.json|no draws"),
    ("unprotected method", BASE + ["--out", "out", "--method", "hmc"], 2, r"--exposed"),
    ("private method exposed", BASE + ["--out", "out", "--method", "dp-hmc", "--exposed"], 2, r"--method hmc"),
    ("exposed run with a budget", BASE + ["--out", "out", "--method", "hmc", "--exposed", "--epsilon", "1"], 2,
     r"leave out --epsilon"),
    ("no chains", BASE + BUDGET + ["--out", "out", "--chains", "0"], 2, r"--chains must be a number between 1"),
    ("no draws", BASE + BUDGET + ["--out", "out", "--draws", "0"], 2, r"--draws must be a number between 1"),
    ("half a draw", BASE + BUDGET + ["--out", "out", "--draws", "1.5"], 2, r"--draws must be a whole number"),
    ("unknown option", BASE + BUDGET + ["--out", "out", "--epsilom", "1"], 2, r"did you mean --epsilon"),
    ("option without its value", BASE + BUDGET + ["--out"], 2, r"--out needs a value"),
    ("flag with a value", BASE + BUDGET + ["--out", "out", "--quiet=1"], 2, r"--quiet takes no value"),
    ("no formula", ["fit"] + BASE[2:] + BUDGET + ["--out", "out"], 2, r"expected FORMULA"),
    ("two formulas", BASE + ["y ~ x"] + BUDGET + ["--out", "out"], 2, r"expected only FORMULA"),
    ("unknown command", ["fitt"], 2, r"did you mean 'fit'"),
    ("output directory exists", BASE + BUDGET + ["--out", "exists"], 1, r"exists exists: choose another --out"),
    ("output folder missing", BASE + BUDGET + ["--out", "no/where/fit"], 1, r"no/where is not a directory"),
    ("no output given", BASE + BUDGET, 2, r"--out DIR"),
    ("budget below one draw", BASE + ["--epsilon", "0.001", "--delta", "1e-9", "--noise-ratio", "0.1", "--out", "out",
                                      "--method", "dp-penalty"], 4, r"does not pay for one draw"),
    ("no bound known (poisson)", ["fit", "n ~ x", "--family", "poisson", "--data", "count.csv", "--schema", "count.yaml",
                                  *BUDGET, "--method", "dp-hmc", "--out", "out"], 2, r"--clip-(ratio|grad)"),
    ("no bound known (poisson), no intercept", ["fit", "n ~ 0 + x", "--family", "poisson", "--data", "count.csv", "--schema", "count.yaml",
                                  *BUDGET, "--out", "out"], 2, r"needs an intercept: leave out"),
    ("noise-aware with an option of chains", BASE + BUDGET + AWARE + ["--out", "out", "--clip-grad", "1"], 2,
     r"--clip-grad is for methods that release at every step"),
    ("noise-aware for another family", ["fit", "s ~ x", "--family", "categorical", "--data", "good.csv", "--schema", "good.yaml",
                                        *BUDGET, *AWARE, "--out", "out"], 2, r"bernoulli, gaussian or poisson"),
    ("noise-aware, gaussian, where the budget buys nothing", ["fit", "x ~ y", "--family", "gaussian", "--data", "good.csv", "--schema",
                                                              "private-n.yaml", "--n-public", "4", "--out", "out", *AWARE, "--epsilon", "1", "--delta", "1e-6"], 4,
     r"on 4 rows: at delta \S+ it takes epsilon [\d.e+]+, or with this epsilon about [\d.e+]+ rows; nothing was spent"),
    ("noise-aware where most such fits end with a problem", ["fit", "y ~ x", "--family", "bernoulli", "--data", "good.csv", "--schema", "private-n.yaml",
                                                             "--n-public", "500", "--out", "out", *AWARE, "--epsilon", "0.2", "--delta", "1e-6"], 4,
     r"not at this budget: (.|\n)*; epsilon [\d.]+ would do(.|\n)*not started: nothing was released or charged; --yes goes on"),
    ("a program whose parameters are likely to trade off along a curve", ["fit", "x ~ y", "--family", "student", "--data", "good.csv", "--schema", "private-n.yaml",
                                                                       "--n-public", "5000", "--out", "out", "--epsilon", "2", "--delta", "1e-6"], 4,
     r"not at this budget: at the prior's centre 5000 records (.|\n)*more records(.|\n)*not started: nothing was released or charged; --yes goes on"),
    ("noise-aware, gaussian, for units of several rows", ["fit", "x ~ y", "--family", "gaussian", "--data", "person.csv", "--schema", "person.yaml",
                                                         *BUDGET, *AWARE, "--out", "out"], 2, r"protects one row"),
    ("noise-aware without an intercept", simple("good.csv", "good.yaml", "y ~ x + 0", *AWARE), 2, r"needs an intercept"),
    ("noise-aware with a wide response", ["fit", "n ~ x", "--family", "poisson", "--data", "count.csv", "--schema", "many.yaml",
                                          *BUDGET, *AWARE, "--out", "out"], 2, r"between 1 and 500"),
    ("n is private", simple("good.csv", "private-n.yaml"), 2, r"--n-public"),
    ("start values of the wrong number", BASE + BUDGET + ["--out", "out", "--init", "numbers.txt"], 2, r"holds 3 numbers"),
    ("words in a file of numbers", BASE + BUDGET + ["--out", "out", "--metric-file", "words.txt"], 2,
     r"words\.txt:2: expected numbers"),
    ("summary of no report", ["summary", "."], 1, r"."),
    ("summary of nothing", ["summary", "nowhere"], 1, r"nowhere"),
    ("count before its event", ["account", "--count", "3", "--event", "gaussian:sigma=2", "--delta", "1e-6"], 2,
     r"--count must follow"),
    ("unknown mechanism", ["account", "--event", "laplase:scale=1", "--delta", "1e-6"], 2, r"unknown mechanism"),
    ("noise multiplier 0", ["account", "--event", "gaussian:sigma=0", "--delta", "1e-6"], 2, r"above 0"),
    ("neither delta nor epsilon", ["account", "--event", "gaussian:sigma=2"], 2, r"either --delta"),
    ("unknown accountant", ["account", "--event", "gaussian:sigma=2", "--delta", "1e-6", "--method", "pld2"], 2,
     r"unknown accountant"),
    ("unknown relation", ["account", "--event", "gaussian:sigma=2", "--delta", "1e-6", "--relation", "swap"], 2,
     r"substitute or add-remove"),
    ("no proven pair", ["account", "--event", "fixed-size-gaussian:q=0.1,sigma=1", "--delta", "1e-6", "--relation",
                        "add-remove"], 2, r"no proven dominating pair"),
    ("accountant without a bound", ["account", "--event", "laplace:scale=1", "--delta", "1e-6", "--method", "gaussian"], 2,
     r"takes Gaussian releases"),
    ("pair that does not sum to one", ["account", "--event", "pair:pair-sum.csv", "--delta", "1e-6"], 3, r"sum to 1"),
    ("pair with a word", ["account", "--event", "pair:pair-text.csv", "--delta", "1e-6"], 3, r"pair-text\.csv:2"),
    ("plan with a misspelt key", ["account", "--plan", "plan-key.yaml", "--delta", "1e-6"], 3, r"plan-key\.yaml:1:1"),
    ("plan with a bad event", ["account", "--plan", "plan-event.yaml", "--delta", "1e-6"], 3, r"plan-event\.yaml:2:12"),
    ("plan with half a count", ["account", "--plan", "plan-count.yaml", "--delta", "1e-6"], 3, r"plan-count\.yaml:3:12"),
    ("plan with an anchor", ["account", "--plan", "plan-anchor.yaml", "--delta", "1e-6"], 3, r"plan-anchor\.yaml:1:7: anchors"),
    ("plan of two documents", ["account", "--plan", "plan-second.yaml", "--delta", "1e-6"], 3, r"plan-second\.yaml:3:1: expected one YAML document"),
    ("plan with a key twice", ["account", "--plan", "plan-twice.yaml", "--delta", "1e-6"], 3, r"plan-twice\.yaml:3:1: 'once' is given twice"),
    ("plan without events", ["account", "--plan", "plan-empty.yaml", "--delta", "1e-6"], 3, r"no events"),
    ("plan without iterations", ["account", "--plan", "plan.yaml", "--delta", "1e-6"], 2, r"how many iterations"),
    ("plan and events", ["account", "--plan", "plan.yaml", "--event", "gaussian:sigma=2", "--delta", "1e-6"], 2,
     r"either --plan or --event"),
    ("unknown quantity to solve", ["account", "--event", "gaussian:sigma=2", "--solve", "sigma", "--epsilon", "1", "--delta",
                                   "1e-6"], 2, r"count, iterations or noise"),
    ("ledger without a data set", ["ledger", "init", "new.ledger", "--epsilon", "3", "--delta", "1e-6"], 2, r"--data-id is needed"),
    ("ledger with epsilon 0", ["ledger", "init", "new.ledger", *LEDGER, "--epsilon", "0"], 2, r"epsilon must be .*above 0"),
    ("ledger with delta 1", ["ledger", "init", "new.ledger", *LEDGER, "--delta", "1"], 2, r"delta must be above 0 and below 1"),
    ("ledger of an unknown relation", ["ledger", "init", "new.ledger", *LEDGER, "--relation", "swap"], 2, r"substitute or add-remove"),
    ("ledger exists", ["ledger", "init", "good.ledger", *LEDGER], 1, r"good\.ledger exists and is not overwritten"),
    ("ledger in a missing folder", ["ledger", "init", "no/new.ledger", *LEDGER], 1, r"No such file"),
    ("ledger does not exist", ["ledger", "show", "nowhere.ledger"], 1, r"nowhere\.ledger: No such file"),
    ("ledger is a directory", ["ledger", "show", "."], 1, r"is a directory"),
    ("ledger is a pipe", ["ledger", "show", "pipe"], 1, r"not a plain file"),
    ("ledger is a text", ["ledger", "verify", "good.csv"], 3, r"good\.csv is not a ledger"),
    ("ledger is empty", ["ledger", "verify", "empty.csv"], 3, r"is empty and not a ledger"),
    ("ledger is another database", ["ledger", "show", "other.db"], 3, r"a database but not a ledger"),
    ("ledger of a newer version", ["ledger", "show", "newer.ledger"], 3, r"version 4, this program knows versions 1 to 3"),
    ("ledger with two names", ["ledger", "show", "linked.ledger"], 3, r"2 names \(hard links\)"),
    ("ledger edited by hand", ["ledger", "verify", "edited.ledger"], 3, r"the ledger is broken"),
    ("run on an edited ledger", on_ledger("edited.ledger"), 3, r"the ledger is broken"),
    ("run on a ledger that does not exist", on_ledger("nowhere.ledger"), 1, r"nowhere\.ledger: No such file"),
    ("run that the ledger has no room for", on_ledger("small.ledger"), 4, r"has room for one with epsilon 0\.9999"),
    ("dry run that the ledger has no room for", on_ledger("small.ledger", "--dry-run"), 4, r"has room for one with"),
    ("ledger of another relation", on_ledger("add.ledger"), 4, r"counts under relation add-remove, this spend under substitute: say relation: add-remove"),
    ("ledger of another unit", on_ledger("persons.ledger"), 4, r"protects unit person, this spend unit row: say unit: person in the schema"),
    ("ledger of an earlier build", on_ledger("old.ledger"), 4,
     r"is an old ledger, .*tacit ledger migrate old\.ledger --relation substitute --unit row --max-rows 1;"),
    ("migration without a unit", ["ledger", "migrate", "old.ledger", "--relation", "substitute"], 2, r"--relation and --unit are needed"),
    ("migration to another relation", ["ledger", "migrate", "old.ledger", "--relation", "add-remove", "--unit", "row"], 4,
     r"counts under relation substitute, not add-remove"),
    ("migration of a new ledger", ["ledger", "migrate", "good.ledger", "--relation", "substitute", "--unit", "row"], 2, r"newest version already"),
    ("ledger of persons without their rows", ["ledger", "init", "new.ledger", *LEDGER, "--unit", "person"], 2, r"unit person needs --max-rows"),
    ("ledger of rows with several rows", ["ledger", "init", "new.ledger", *LEDGER, "--unit", "row", "--max-rows", "2"], 2, r"1 of --unit row"),
    ("ledger of another data set", on_ledger("good.ledger", "--data-id", "ward"), 3, r"another data set than 'ward'"),
    ("data id without a ledger", BASE + BUDGET + ["--out", "out", "--data-id", "ward"], 2, r"only goes with --ledger"),
    ("seeded run on a ledger", on_ledger("good.ledger", "--seed", "1"), 2, r"a seeded run is not private"),
    ("exposed run on a ledger", BASE + ["--method", "hmc", "--exposed", "--out", "out", "--ledger", "good.ledger"], 2,
     r"an exposed run is not private"),
    ("ledger without a command", ["ledger"], 2, r"init, show, export, verify or migrate"),
    ("model does not exist", ["infer", "nowhere.yaml", *infer()[2:]], 1, r"cannot open nowhere\.yaml"),
    ("model that is a list", infer("list"), 3, r"list-model\.yaml: a model is made of `key: value` pairs"),
    ("unknown law of records", infer("law"), 3, r"law-model\.yaml:1:10: records: expected gaussian, poisson, categorical, regression or logistic, not"),
    ("misspelt key of a model", infer("key"), 3, r"key-model\.yaml:2:1: a model has no key 'maen' \(did you mean 'mean'\?\)"),
    ("prior of a model that does not parse", infer("prior"), 3, r"prior-model\.yaml:2:7: mean: expected normal\(location, scale\)"),
    ("prior of a model with a negative scale", infer("scale"), 2, r"scale above 0"),
    ("model without sd", infer("nosd"), 3, r"either a known `sd: NUMBER`"),
    ("key of another law", infer("mixed"), 3, r"mixed-model\.yaml:3:5: 'sd' does not go with poisson records"),
    ("one level only", infer("level"), 3, r"level-model\.yaml:2:9: expected a list of at least two levels"),
    ("statistic is not YAML", infer(statistic="open-statistic"), 3, r"open-statistic\.yaml:2:1: not valid YAML"),
    ("unknown statistic", infer(statistic="kind"), 3, r"kind\.yaml:1:12: statistic: expected mean, sum, moments"),
    ("misspelt mechanism", infer(statistic="mechanism"), 3, r"mechanism\.yaml:5:12: .*did you mean 'laplace'"),
    ("noise not given", infer(statistic="noscale"), 3, r"noscale\.yaml: say how much noise there is"),
    ("noise given twice", infer(statistic="twoscales"), 3, r"either `scale: NUMBER` or `epsilon: NUMBER`"),
    ("gaussian noise by epsilon alone", infer(statistic="nodelta"), 3, r"gaussian noise by epsilon needs a `delta`"),
    ("negative noise scale", infer(statistic="negative"), 3, r"negative\.yaml:6:8: scale must be above 0"),
    ("no clamp bound", infer(statistic="nobounds"), 3, r"a statistic needs `lower`"),
    ("clamp bounds reversed", infer(statistic="bounds"), 3, r"bounds\.yaml:3:8: the clamp bounds are reversed"),
    ("no released value", infer(statistic="novalue"), 3, r"a statistic needs `value`"),
    ("released value is a word", infer(statistic="word"), 3, r"word\.yaml:2:8: value must be a finite number"),
    ("key of a statistic given twice", infer(statistic="twice"), 3, r"twice\.yaml:7:1: 'value' is given twice"),
    ("misspelt key of a statistic", infer(statistic="misspelt"), 3, r"misspelt\.yaml:3:1: .*did you mean 'lower'"),
    ("discrete noise without a lattice", infer(statistic="nostep"), 2, r"give the step"),
    ("value off the lattice", infer("poisson", "offgrid"), 2, r"a multiple of 1, which 61\.5 is not"),
    ("discrete gaussian by epsilon", infer("poisson", "discrete"), 3, r"give `scale`"),
    ("counts of too few cells", infer("table", "short"), 2, r"the release has 2 values where the model expects 3"),
    ("counts of records that are no cells", infer("gauss", "counts"), 2, r"counts go with categorical records"),
    ("mean of categorical records", infer("table", "mean"), 2, r"categorical records go with released counts"),
    ("number of records not given", infer(n=()), 2, r"the number of records is needed: --n N"),
    ("two numbers of records", infer(statistic="n-mean", n=("--n", "300")), 3, r"n-mean\.yaml:7:4: n is 200 here and 300"),
    ("released value that is an empty list", infer("table", "empty-value"), 3, r"empty-value\.yaml:2:8: .*not an empty list"),
    ("regression with a prior that is not centred", infer("centred", "products"), 3, r"is centred: normal\(0, scale\)"),
    ("logistic records without a prior of the features", infer("nofeatures", "score"), 3, r"a model needs `features`"),
    ("prior of features that is not centred", infer("shifted", "score"), 3, r"features' intercepts and slopes is centred"),
    ("logistic regression from moments", infer("logistic", "products"), 3, r"regression-moments go with a model of `records: regression`"),
    ("linear regression from a score", infer("regression", "score"), 3, r"a logistic-score goes with a model of `records: logistic`"),
    ("sum of reals of records that cannot be drawn", ["infer", "waits.stan", "--statistic", "waits.yaml", "--n", "20", "--out", "out"], 2,
     r"more than 65536 values, .*records cannot be drawn along: draws from the distribution 'gamma' are not known"),
    ("sum of reals by cells", ["infer", "income.stan", "--statistic", "capped.yaml", "--n", "48210", "--method", "marginal", "--out", "out"], 2,
     r"more than 65536 values, as a sum of a real number does"),
    ("records of a program by hmc", ["infer", "income.stan", "--statistic", "capped.yaml", "--n", "48210", "--method", "hmc", "--out", "out"], 2,
     r"there are --method marginal and --method gibbs"),
    ("one release twice", ["infer", "income.stan", "--statistic", "capped.yaml", "--statistic", "./capped.yaml", "--n", "48210", "--out", "out"], 2,
     r"\./capped\.yaml holds the same release as capped\.yaml: give each release once"),
    ("two files of margins", ["infer", "--statistic", "margins-a.yaml", "--statistic", "margins-b.yaml", "--out", "out"], 2,
     r"margins are inferred from one file of all of them, with a `scale:` for each: 2 files were given"),
    ("two numbers of a program's records", ["infer", "income.stan", "--statistic", "group.yaml", "--n", "300", "--out", "out"], 2,
     r"option --n says 300, and a file 200 of the same records"),
    ("sum of reals of an unknown number of records", ["infer", "income.stan", "--statistic", "capped-noisy-n.yaml", "--out", "out"], 2,
     r"records cannot be drawn along: their number is unknown"),
    ("score of too few values", infer("logistic", "short-score"), 2, r"the release has 3 values where the model expects 4"),
    ("score of a response that is not binary", ["release", "y ~ x", *release("score", None, *DELTA)[1:]], 3, r"whose response is of type binary"),
    ("release without threads", release("clamped-mean", "hours", *DELTA, "--threads", "0"), 2, r"--threads must be"),
    ("release into a scratch folder that does not exist", release("clamped-mean", "hours", *DELTA, "--scratch", "nowhere"), 1,
     r"cannot make a file in nowhere"),
    ("score of one column", ["release", "old ~ old", *release("score", None, *DELTA)[1:]], 2, r"named twice"),
    ("margins of a program", ["release", "income.stan", "--margin", "sex,old", "--data", "people.csv", "--schema", "people.yaml", "--epsilon", "1", "--out", "out"], 2,
     r"--margin goes with --statistic margins, not with a program"),
    ("score under laplace noise", ["release", "old ~ x", *release("score", None, "--mechanism", "laplace")[1:]], 2, r"gaussian noise only"),
    ("regression from a mean", infer("regression", "mean"), 3, r"goes with `statistic: regression-moments`"),
    ("moments of a regression for another law", infer("gauss", "products"), 3, r"go with a model of `records: regression`"),
    ("regression without a feature", infer("regression", "one-column"), 3, r"a list of 1 to 20 features and the response"),
    ("regression with too few bounds", infer("regression", "one-bound"), 3, r"one bound for each of 2 columns"),
    ("regression by hmc", infer("regression", "products", "--method", "hmc"), 2, r"hmc needs gaussian records"),
    ("privacy of a statistic that cannot be", infer(statistic="privacy"), 3, r"privacy\.yaml:7:20: epsilon must be above 0"),
    ("counts of other factors", infer("factors", "factors"), 3, r"factors\.yaml:2:20: level 'no' of 'smoker' was counted here, where the model has p\[sex=F\]"),
    ("release of an unknown statistic", release("median", "hours", *DELTA), 2, r"must be clamped-mean, counts, moments, score or margins, not 'median'"),
    ("release without a statistic", ["release", "--data", "people.csv", "--schema", "people.yaml", "--epsilon", "1", "--out", "out"], 2,
     r"option --statistic is needed"),
    ("release by an unknown mechanism", release("clamped-mean", "hours", "--mechanism", "laplase"), 2, r"did you mean 'laplace'"),
    ("gaussian release without delta", release("clamped-mean", "hours"), 2, r"gaussian noise needs a --delta"),
    ("laplace release with delta", release("clamped-mean", "hours", "--mechanism", "laplace", *DELTA), 2, r"leave out --delta"),
    ("release of an unknown column", release("clamped-mean", "hour", *DELTA), 3, r"no column 'hour' \(did you mean 'hours'"),
    ("release of a column of another type", release("clamped-mean", "sex", *DELTA), 3, r"type numeric, integer or binary"),
    ("counts of a numeric column", release("counts", "hours", *DELTA), 3, r"type categorical or binary"),
    ("mean of two columns", release("clamped-mean", "hours,kids", *DELTA), 2, r"a clamped mean is of one column"),
    ("counts of a column twice", release("counts", "sex,sex", *DELTA), 2, r"named twice"),
    ("release without a column", release("counts", None, *DELTA), 2, r"option --column is needed"),
    ("release with a formula that is none", release("moments", None, *DELTA), 2, r"--statistic moments is of a formula"),
    ("moments of transformed columns", ["release", "y ~ log(x)", *release("moments", None, *DELTA)[1:]], 2, r"moments and scores are of plain columns"),
    ("moments under laplace noise", ["release", "y ~ x", *release("moments", None, "--mechanism", "laplace")[1:]], 2, r"gaussian noise only"),
    ("formula for a mean", ["release", "y ~ x", *release("clamped-mean", "hours", *DELTA)[1:]], 2, r"only goes with --statistic moments or score"),
    ("discrete noise without a step", release("clamped-mean", "hours", "--mechanism", "discrete-laplace"), 2, r"needs a --step"),
    ("step that bounds are no multiples of", release("clamped-mean", "hours", "--mechanism", "discrete-laplace", "--step", "0.3"), 2,
     r"both clamp bounds are multiples"),
    ("step without discrete noise", release("clamped-mean", "hours", "--step", "1", *DELTA), 2, r"--step only goes with"),
    ("release of a column whose gaps drop records", release("clamped-mean", "x", *DELTA, data="good.csv", schema="drop.yaml"), 3,
     r"missing: drop hides how many records count"),
    ("release under add-remove", release("clamped-mean", "x", *DELTA, data="good.csv", schema="private-n.yaml"), 2, r"must be substitute"),
    ("release of persons with several rows", release("clamped-mean", "x", *DELTA, data="person.csv", schema="person.yaml"), 2,
     r"one row a person"),
    ("release of no records", release("clamped-mean", "x", *DELTA, data="header.csv", schema="good.yaml"), 3, r"no records"),
    ("release into a file that exists", [w if w != "out" else "exists" for w in release("clamped-mean", "hours", *DELTA)], 1, r"exists: choose another"),
    ("release that a ledger cannot cover", release("clamped-mean", "hours", "--mechanism", "laplace", "--ledger", "small.ledger", epsilon="50"), 4,
     r"has room for"),
    ("seeded release with a ledger", release("clamped-mean", "hours", *DELTA, "--seed", "1", "--ledger", "small.ledger"), 2, r"not private"),
    ("coarse discrete gaussian release with a ledger",
     release("counts", "sex", *DELTA, "--mechanism", "discrete-gaussian", "--ledger", "small.ledger", epsilon="60"), 2,
     r"if its sd is above 1 step"),
    ("no statistic", ["infer", "gauss-model.yaml", "--n", "5", "--out", "out"], 2, r"option --statistic is needed"),
    ("no output for an inference", ["infer", "gauss-model.yaml", "--n", "5", "--statistic", "mean.yaml"], 2, r"option --out is needed"),
    ("unknown inference method", infer("gauss", "mean", "--method", "gibs"), 2, r"must be auto, gibbs, hmc or marginal.*did you mean 'gibbs'"),
    ("hmc of discrete records", infer("poisson", "sum", "--method", "hmc"), 2, r"hmc needs gaussian records"),
    ("options of another method", infer("gauss", "mean", "--leapfrog", "20"), 2, r"only go with --method hmc"),
    ("results of an inference exist", ["infer", "gauss-model.yaml", "--n", "5", "--statistic", "mean.yaml", "--out", "exists"], 1,
     r"exists exists"),
    ("query that would write", simple("odbc:clinic", "good.yaml", "y ~ x", "--query", "delete from visits"), 2, r"must begin with select"),
    ("query of two statements", simple("odbc:clinic", "good.yaml", "y ~ x", "--query", "select 1; drop table visits"), 2, r"must be one statement"),
    ("query that is empty", simple("odbc:clinic", "good.yaml", "y ~ x", "--query", " -- nothing"), 2, r"the query is empty"),
    ("query in a file that does not exist", simple("odbc:clinic", "good.yaml", "y ~ x", "--query", "@nowhere.sql"), 1, r"cannot open nowhere\.sql"),
    ("query of an unknown number of rows", simple("odbc:clinic", "good.yaml", "y ~ x", "--query", "select * from visits"), 2, r"--n-public N"),
    ("release of a query of an unknown number of rows", release("clamped-mean", "hours", *DELTA, "--query", "select * from visits", data="odbc:clinic"),
     2, r"--n-public N"),
    ("query of a file", simple("good.csv", "good.yaml", "y ~ x", "--query", "select * from visits"), 2, r"only goes with a database"),
    ("ledger of a query that would write", ["ledger", "init", "new.ledger", *LEDGER, "--query", "drop table visits"], 2, r"must begin with select"),
    ("date where a number belongs", simple("date.csv", "good.yaml", "y ~ x"), 3, r"date\.csv:2:3: column 'x': .*say since: DATE"),
    ("date in words", simple("words.csv", "since.yaml", "y ~ x"), 3, r"words\.csv:2:3: column 'x': expected a date"),
    ("number where a date belongs", simple("good.csv", "since.yaml", "y ~ x"), 3, r"good\.csv:2:3: column 'x': expected a date"),
    ("day that there is none of", ["schema", "check", "day.yaml"], 3, r"day\.yaml:2:29: since: expected a date"),
    ("labels of a number", ["schema", "check", "labels.yaml"], 3, r"labels\.yaml:2:42: .*only a categorical column has labels"),
    ("date of a level", ["schema", "check", "dated.yaml"], 3, r"only numeric and integer columns have dates"),
    ("import without a schema", ["import", "good.csv", "--out", "out"], 2, r"--schema is needed"),
    ("import to nowhere", ["import", "good.csv", "--schema", "good.yaml"], 2, r"--out is needed"),
    ("import of a level not in the schema", ["import", "level.csv", "--schema", "good.yaml", "--out", "out"], 3, r"level\.csv:3:7: column 's'"),
    ("import of no records", ["import", "header.csv", "--schema", "good.yaml", "--out", "out"], 3, r"has no records"),
    ("import of a column that is not there", ["import", "count.csv", "--schema", "good.yaml", "--out", "out"], 3, r"no column 'y' in its header"),
    ("import over what exists", ["import", "good.csv", "--schema", "good.yaml", "--out", "exists"], 1, r"exists and is not overwritten"),
    ("import of imported columns", ["import", "good.columns", "--schema", "good.yaml", "--out", "out"], 1, r"is a directory"),
    ("columns imported under other bounds", simple("good.columns", "wide.yaml"), 3, r"column 'x' had upper 2, now 3; import again"),
    ("columns imported with another unit", simple("good.columns", "person.yaml"), 3, r"the unit was 'row', now 'who'; import again"),
    ("column that was not imported", simple("good.columns", "more.yaml", "y ~ x + z"), 3, r"has no column 'z': it was imported under"),
    ("imported column cut short", simple("cut.columns", "good.yaml"), 3, r"column-0002\.f64 is damaged: it is not of the size"),
    ("imported column that is gone", simple("gone.columns", "good.yaml"), 1, r"column-0002\.f64: No such file"),
    ("imported value that breaks a rule", ["schema", "check", "good.yaml", "--data", "value.columns"], 3, r"'x': the value of row 2 "),
    ("columns of a newer format", simple("newer.columns", "good.yaml"), 3, r"columns of format 2, this program knows format 1"),
    ("manifest that is no YAML", simple("manifest.columns", "good.yaml"), 3, r"manifest\.yaml:2:1: not valid YAML"),
    ("directory without a manifest", simple("exists", "good.yaml"), 1, r"is a directory, and none of tacit import"),
    ("scratch folder that does not exist", simple("good.csv", "good.yaml", "y ~ x", "--scratch", "nowhere"), 1, r"cannot make a file in nowhere"),
]
STAT_BAD = [
    ("SAS file that is broken", ["schema", "draft", "broken.sas7bdat"], 3, r"broken\.sas7bdat is (cut short or damaged|not the file)"),
    ("SPSS file that is a text", simple("text.sav", "good.yaml"), 3, r"text\.sav is (cut short or damaged|not the file)"),
    ("Stata file that does not exist", simple("nowhere.dta", "good.yaml"), 1, r"cannot open nowhere\.dta"),
]
BAD += STAT_BAD if "no ReadStat" not in subprocess.run([TACIT, "--version"], stdout=subprocess.PIPE, text=True).stdout else []

passed, failed = 0, 0


def verdict(name, problem):
    global passed, failed
    if problem:
        failed += 1
        print(f"FAILED {name}: {problem}")
    else:
        passed += 1


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
            problem = f"line {error.__traceback__.tb_next.tb_lineno}: {error!r}"
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


def write_table():
    rows = ["# What is said about bad input", "",
            "Printed by the program itself (`tests/cli/run_cases.py --table`); paths are shortened. Every message goes to",
            "standard error; the exit statuses are those of `tacit fit --help`.", "",
            "| what is wrong | what is printed | exit status |", "| --- | --- | --- |"]
    for name, words, status, _ in BAD:
        done = run(words)
        shutil.rmtree("out", ignore_errors=True)
        text = "\n".join(line for line in done.stderr.rstrip("\n").split("\n") if not line.startswith("plan:"))
        text = text.replace(str(ROOT) + "/", "").replace("|", "\\|")
        cell = "<br>".join("`" + line.replace("`", "'") + "`" for line in text.split("\n"))
        rows.append(f"| {name} | {cell} | {done.returncode} |")
    (ROOT / "docs/errors.md").write_text("\n".join(rows) + "\n")


def good_paths():
    quick = ["--chains", "2", "--draws", "30", "--warmup", "10", "--quiet"]

    def fit(out, *extra, expect=0):
        done = run(BASE + ["--out", out, *quick, *extra])
        problem = common_faults(done)
        assert not problem, problem
        assert done.returncode == expect, done.stderr
        return done

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

    def export(path):
        done = run(["ledger", "export", path, "--json"])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

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
        done = run(["fit", "y ~ x", "--family", "bernoulli", "--data", "clamped.csv", "--schema", "good.yaml", *BUDGET, *quick,
                    "--method", "dp-hmc", "--seed", "3", "--curator-notes", "--out", "n2"])
        assert done.returncode == 0 and re.search(r"values_clamped +1237 ", done.stderr), done.stderr
        for name in os.listdir("n2"):
            text = open(f"n2/{name}").read()
            assert not re.search(r"(?<![\d.])1237(?![\d.])", text) and "clamped" not in text, name
        published = json.load(open("n2/diagnostics.json"))
        assert set(published) == {"accept_rate", "ratio_noise_variance", "gradient_signal", "divergent_share", "clip_grad",
                                  "clip_ratio"}
        assert 0 <= published["accept_rate"] <= 1 and published["gradient_signal"] >= 0

    @case("noise-aware: six releases at epsilon 1, near the non-private posterior")
    def _():
        done = run(BASE + AWARE + ["--epsilon", "1", "--delta", "1e-6", "--out", "a1"])
        assert not common_faults(done) and done.returncode == 0 and "6 releases" in done.stderr, done.stderr
        statement = json.load(open("a1/privacy.json"))
        assert sum(e["count"] for e in statement["events"]) == 6 and 0.999 < statement["epsilon"] <= 1
        text = open("a1/privacy.txt").read()
        assert "intervals include" in text and "clipped" not in text and "step-size" not in open("a1/run.yaml").read()
        # non-private means and sds of the README; a mean beyond 8 of twice that sd happens less than once in a million runs
        rows = {row["name"]: row for row in json.loads(run(["summary", "a1", "--json"]).stdout)["parameters"]}
        for name, mean, sd in (("Intercept", -10.95, 0.254), ("age", 0.1313, 0.0035), ("sexM", 0.419, 0.063),
                               ("log(flc)", 0.937, 0.077)):
            assert abs(rows[name]["mean"] - mean) < 16 * sd and 0.8 * sd < rows[name]["sd"] < 8 * sd, rows[name]
            assert rows[name]["rhat"] < 1.05 and rows[name]["ess_bulk"] > 400, rows[name]

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
        assert "bernoulli, gaussian or poisson" in planned(["fit", "s ~ x", "--family", "categorical", *small[2:], "--draws", "1"])
        done = run(["fit", "n ~ x", "--family", "negbinomial", "--data", "rates.csv", "--schema", "count.yaml", "--epsilon", "20", *DELTA, "--dry-run"])
        assert "plan: noise-aware, " in done.stderr, done.stderr
        times = ["fit", "t | cens(over) ~ x", "--family", "weibull", "--schema", "times.yaml", "--data", "times.csv"]
        pathlib.Path("times.yaml").write_text("columns: {t: {type: numeric, lower: .1, upper: 2}, over: {type: binary}, x: {type: numeric, lower: -1, upper: 1}}\n")
        pathlib.Path("times.csv").write_text("t,over,x\n" + "".join(f"{min(2, .2 + i % 29 / 10)},{int(i % 29 >= 18)},{i % 21 / 10 - 1}\n" for i in range(900)))
        done = run([*times, "--epsilon", "20", *DELTA, "--dry-run"])
        assert done.returncode == 2 and "all were followed to the bound: --followed-to-bound" in done.stderr, done
        assert planned(times + ["--followed-to-bound"]) == "noise-aware"

    @case("a program that its outcomes contradict gives no intervals, nor one whose column is not seen")
    def _():
        pathlib.Path("contradict.yaml").write_text("columns: {y: {type: integer, lower: 0, upper: 30}, x: {type: numeric, lower: -1, upper: 1}}\n")
        for name, count in (("even", lambda i: (3, 2, 4, 1, 3, 5, 2, 4)[i % 8]), ("odd", lambda i: 12 if i % 4 == 0 else 0)):
            pathlib.Path("contradict.csv").write_text("y,x\n" + "".join(f"{count(i)},{i % 21 / 10 - 1}\n" for i in range(4000)))
            pathlib.Path("counts.stan").write_text("data { int<lower=0, upper=30> y; real<lower=-1, upper=1> x; }\nparameters { real a; real b; }\n"
                                                   "model { a ~ normal(0, 2); b ~ normal(0, 2); y ~ poisson_log(a + b * x); }\n")
            done = run(["fit", "counts.stan", "--data", "contradict.csv", "--schema", "contradict.yaml", "--epsilon", "4", *DELTA, "--seed", "1", "--out", f"counts-{name}"])
            assert done.returncode == 0 and ("outcomes vary more than this program says" in done.stdout + done.stderr) == (name == "odd"), done
            assert run(["diagnose", f"counts-{name}"]).returncode == (5 if name == "odd" else 0), name
            page = open(f"counts-{name}/report.html").read()
            assert ("<h2>Intervals</h2>" not in page and "Along each column" not in page) == ("none to give" in page) == (name == "odd"), name
        pathlib.Path("contradict.csv").write_text("y,x\n" + "".join(f"{(3, 2, 4, 1, 3, 5, 2, 4)[i % 8]},{.5 + i % 21 / 2000}\n" for i in range(4000)))
        done = run(["fit", "counts.stan", "--data", "contradict.csv", "--schema", "contradict.yaml", "--epsilon", "1", *DELTA, "--seed", "1", "--out", "counts-narrow"])
        assert done.returncode == 0 and "a column fills so little of its bounds" in done.stdout + done.stderr, done

    @case("noise-aware: a linear regression from a few releases, the default for gaussian, residual sd unknown or known")
    def _():
        words = ["fit", "y ~ x + sex", "--family", "gaussian", "--data", "people.csv", "--schema", "people.yaml", "--epsilon", "20", *DELTA]
        done = run([*words, "--out", "linear"])
        assert not common_faults(done) and done.returncode == 0 and "noise-aware, 7 releases" in done.stderr, done.stderr
        statement = json.load(open("linear/privacy.json"))
        assert statement["exact"] is False and len(statement["events"]) == 7, statement
        assert "whitened rows were weighted" in open("linear/privacy.txt").read()
        rows = list(csv.DictReader(open("linear/summary.csv")))
        assert len(rows) == 4 and abs(float(rows[1]["mean"]) - 1.5) < 0.2 and abs(float(rows[3]["mean"]) - 0.29) < 0.1, rows
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
        assert any("every row for itself" in text for text in statement["assumptions"]), statement
        labels = sorted(event["label"] for event in statement["events"])
        assert len(labels) == 8 and "rows of units" in labels and "squares of scores" in labels and statement["unit"] == "who", statement
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
            done = run(["fit", "n ~ x", "--family", "negbinomial", "--data", "calls.csv", "--schema", "calls.yaml", "--epsilon", "8", *DELTA, "--quiet", "--out", f"calls-{name}",
                        *(["--n-public", "2500"] if name == "persons-a" else [])])
            assert not common_faults(done) and done.returncode == 0, done.stderr
            rows = {row["name"]: row for row in csv.DictReader(open(f"calls-{name}/summary.csv"))}
            assert abs(float(rows["b_x"]["mean"]) - 0.5) < 6 * float(rows["b_x"]["sd"]), rows
            sds[name] = float(rows["b_x"]["sd"])
            labels = [event["label"] for event in json.load(open(f"calls-{name}/privacy.json"))["events"]]
            assert ("row squares of centred scores" in labels) == (name != "rows") and ("number of units" in labels) == (name == "persons-a"), labels
            done = run(["check", f"calls-{name}", "--data", "calls.csv", "--epsilon", "2", *DELTA, "--by", "x", "--out", f"calls-{name}.json",
                        *(["--n-public", "2500"] if name == "persons-a" else [])])
            check = json.load(open(f"calls-{name}.json"))  # a right margin, by rows or persons, is flagged once in 10^6
            total, is_by_rows = sum(line["count"] for line in check["calibration"]), name == "rows"
            assert done.returncode == 0 and (is_by_rows or max(check["shape_z"], check["misfit_z"], check["by_misfit_z"]) < 4.9), done.stdout
            assert abs(total - (6250 if is_by_rows else 2500)) < 200, check
        assert min(sds["persons-s"], sds["persons-a"]) > 1.2 * sds["rows"], sds
        statement = json.load(open("calls-persons-s/privacy.json"))
        assert any("every row for itself" in text for text in statement["assumptions"]) and statement["unit"] == "who", statement
        done = run(["refit", "calls-persons-a", "--out", "calls-again"])
        assert done.returncode == 0, done.stderr
        assert open("calls-persons-a/draws-1.csv").read() == open("calls-again/draws-1.csv").read()
        pathlib.Path("calls.yaml").write_text("unit: who\nmax_rows: 4\n" + columns.replace("lower: 0, upper: 2}", "lower: 0, upper: 2, missing: drop}"))
        done = run(["fit", "n ~ x", "--family", "negbinomial", "--method", "noise-aware", "--data", "calls.csv", "--schema", "calls.yaml", "--epsilon", "8", *DELTA, "--out", "no"])
        assert done.returncode == 2 and "cannot leave out some rows" in done.stderr, done.stderr

    @case("noise-aware: poisson, and a ledger that gets what was charged")
    def _():
        rows = "".join(f"{1 + i % 3},{0.5 + i % 15 / 10}\n" for i in range(600))
        pathlib.Path("counts.csv").write_text("n,x\n" + rows)
        assert run(["ledger", "init", "a.ledger", *LEDGER]).returncode == 0
        done = run(["fit", "n ~ x", "--family", "poisson", "--data", "counts.csv", "--schema", "count.yaml", *AWARE, "--epsilon",
                    "2", "--delta", "1e-6", "--out", "a4", "--quiet", "--ledger", "a.ledger"])
        assert not common_faults(done) and done.returncode == 0, done.stderr
        spend = export("a.ledger")["spends"][0]
        assert spend["status"] == "settled" and spend["events"] == spend["reserved"] and len(spend["events"]) == 7

    @case("ledger: runs are reserved, settled and added up; the last one that fits is the one that is offered")
    def _():
        assert run(["ledger", "init", "c.ledger", *LEDGER]).returncode == 0
        on = ["--ledger", "c.ledger", "--data-id", "clinic", "--delta", "1e-6", "--quiet", "--yes", "--chains", "1"]
        for number, (method, epsilon) in enumerate((("dp-penalty", "1.5"), ("dp-hmc", "2"))):
            done = run(BASE + on + ["--method", method, "--epsilon", epsilon, "--out", f"c{number}", "--purpose", "try \x1b[1m"])
            assert done.returncode == 0 and f"spend {number + 1} in the ledger" in done.stdout, done.stderr
            statement = json.load(open(f"c{number}/privacy.json"))
            assert statement["ledger"] == {"data_id": "clinic", "spend": number + 1}
            spend = export("c.ledger")["spends"][number]
            assert spend["status"] == "settled" and spend["artefact"] == os.path.abspath(f"c{number}")
            assert spend["events"] == spend["reserved"], "a whole run charges what it planned"
            charged = [(e["count"], e["noise_multiplier"]) for e in statement["events"]]
            assert sorted(charged) == sorted((e["count"], float(e["event"].split("=")[1])) for e in spend["events"])
        assert "clinic" in open("c0/privacy.txt").read()
        done = run(BASE + on + ["--method", "dp-penalty", "--epsilon", "3", "--out", "c2"])
        offered = re.search(r"has room for one with epsilon ([0-9.]+) at that delta", done.stderr)
        assert done.returncode == 4 and offered and not os.path.exists("c2"), done.stderr
        assert run(BASE + on + ["--method", "dp-penalty", "--epsilon", offered[1], "--dry-run"]).returncode == 0
        assert len(export("c.ledger")["spends"]) == 2, "a dry run records nothing"
        assert run(BASE + on + ["--method", "dp-penalty", "--epsilon", offered[1], "--out", "c2"]).returncode == 0
        ledger = export("c.ledger")
        assert 2.9 < ledger["epsilon_spent"] <= 3 and ledger["rho_spent"] <= ledger["rho"]
        events = [words for s in ledger["spends"] for e in s["events"]
                  for words in ("--event", e["event"], "--count", str(e["count"]))]
        total = json.loads(run(["account", *events, "--delta", "1e-6", "--json"]).stdout)["epsilon"]
        assert abs(total / ledger["epsilon_spent"] - 1) < 1e-9
        assert run(["ledger", "verify", "c.ledger"]).stdout.startswith("ok: 3 spends in 7 entries")
        shown = run(["ledger", "show", "c.ledger"]).stdout
        assert "settled" in shown and "gaussian:sigma=" in shown and "\x1b" not in shown
        assert "flchain.csv" not in open("c.ledger", "rb").read().decode("latin-1")

    @case("ledger: runs of decisions are planned, reserved, settled and added up", long=True)
    def _():
        assert run(["ledger", "init", "b.ledger", *LEDGER]).returncode == 0
        assert run(on_ledger("b.ledger")).returncode == 0
        shutil.rmtree("out")
        plain = export("b.ledger")["rho_spent"]
        words = BASE + ["--epsilon", "1.5", "--delta", "1e-6", "--chains", "2", "--draws", "400", "--yes", "--ledger", "b.ledger"]
        done = run(words + ["--method", "dp-barker", "--dry-run"])
        price = re.search(r"takes as much as one with epsilon ([0-9.]+) at delta 1e-06", done.stderr)
        assert done.returncode == 0 and price and 1.4 < float(price[1]) < 1.6, done.stderr
        done = run(words + ["--method", "dp-barker", "--out", "b0"])
        assert done.returncode == 0 and "spend 2 in the ledger" in done.stdout, done.stderr
        assert "Decisions count there for more" in open("b0/privacy.txt").read()
        state = export("b.ledger")
        spend = state["spends"][1]
        events = {e["label"]: e for e in spend["events"]}
        assert spend["status"] == "settled" and events["accept"]["event"].startswith("barker-bit:sensitivity=")
        charged = {(e["event"], e["count"]) for e in spend["events"]}
        reserved = {(e["event"], e["count"]) for e in spend["reserved"]}
        assert {e for e, _ in charged} == {e for e, _ in reserved} and len(charged) == 2, spend
        sensitivity, k = float(events["accept"]["event"].split("=")[1]), events["accept"]["count"]
        gradients = events["gradient"]["count"] / 2 / float(events["gradient"]["event"].split("=")[1]) ** 2
        digits, exponent = math.frexp(sensitivity)
        sensitivity = math.ldexp(math.ceil(1024 * digits), exponent - 10) # a ledger counts decisions to 10 binary digits, rounded up
        total = plain + gradients + sensitivity**2 / 8 * min((k**0.5 + 1) ** 2, 1.5707963 * k)
        assert abs(state["rho_spent"] / total - 1) < 1e-9, (state["rho_spent"], total)
        shown = run(["ledger", "show", "b.ledger"]).stdout
        assert re.search(r"\n     [0-9]+ x barker-bit:sensitivity=[0-9.e-]+ accept\n", shown), shown
        assert run(["ledger", "verify", "b.ledger"]).stdout.startswith("ok: 2 spends in 5 entries")

    def processor_seconds(pid):
        """That a running process has used."""
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return float("inf")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @case("ledger: an interrupted run is settled with what it charged, a killed one stays reserved in full")
    def _():
        assert run(["ledger", "init", "k.ledger", "--data-id", "clinic", "--epsilon", "3e6", "--delta", "1e-6"]).returncode == 0
        words = [TACIT, *BASE, "--epsilon", "1e6", "--delta", "1e-6", "--method", "dp-penalty", "--noise-ratio", "30",
                 "--quiet", "--chains", "2", "--draws", "1000000", "--warmup", "10", "--ledger", "k.ledger"]
        for number, signal_number in enumerate((signal.SIGINT, signal.SIGKILL)):
            process = subprocess.Popen([*words, "--out", f"k{number}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while len(export("k.ledger")["spends"]) <= number and process.poll() is None:
                time.sleep(0.05)
            begun = processor_seconds(process.pid)
            while process.poll() is None and processor_seconds(process.pid) < begun + 1:  # whatever else the machine does
                time.sleep(0.05)
            process.send_signal(signal_number)
            process.communicate(timeout=60)
        settled, killed = export("k.ledger")["spends"]
        assert settled["status"] == "settled" and killed["status"] == "reserved"
        assert settled["events"][0] == settled["reserved"][0], "the gradients of the start"
        assert 0 < settled["events"][-1]["count"] < settled["reserved"][-1]["count"]
        assert killed["events"] == killed["reserved"] == settled["reserved"]
        assert json.load(open("k0/privacy.json"))["events"][-1]["count"] == settled["events"][-1]["count"]
        assert run(["ledger", "verify", "k.ledger"]).returncode == 0
        done = run(BASE + ["--epsilon", "100", "--delta", "1e-9", "--method", "dp-hmc", "--no-reuse", *quick, "--thin", "2",
                           "--ledger", "k.ledger", "--out", "k2"])
        last = export("k.ledger")["spends"][2]
        assert done.returncode == 0 and last["events"] == last["reserved"] and len(last["events"]) == 3, (done.stderr, last)

    @case("ledger: what cannot be recorded is not released")
    def _():
        if os.geteuid() != 0 or not shutil.which("mount"):
            return
        os.makedirs("small", exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", "small"], stderr=subprocess.DEVNULL).returncode:
            return
        try:
            assert run(["ledger", "init", "small/f.ledger", *LEDGER]).returncode == 0
            with open("small/filler", "wb", buffering=0) as filler:
                try:
                    while filler.write(bytes(4096)):
                        pass
                except OSError:
                    pass
            full = run(on_ledger("small/f.ledger"))
            assert full.returncode == 1 and len(full.stderr.strip().split("\n")) == 1, (full.returncode, full.stderr)
            assert not os.path.exists("out")
            os.remove("small/filler")
            assert run(["ledger", "verify", "small/f.ledger"]).stdout.startswith("ok: 0 spends")
            subprocess.run(["mount", "-o", "remount,ro", "small"], check=True)
            fixed = run(on_ledger("small/f.ledger"))
            assert run(["ledger", "show", "small/f.ledger"]).returncode == 0
            assert fixed.returncode == 1 and "cannot be written" in fixed.stderr and not os.path.exists("out"), fixed.stderr
        finally:
            subprocess.run(["umount", "small"])

    @case("other families and persons")
    def _():
        rows = "".join(f"{i % 37},{i % 7},{0.5 + i % 3 / 2},{i % 4}\n" for i in range(400))
        pathlib.Path("f.csv").write_text("id,n,x,g\n" + rows)
        pathlib.Path("f.yaml").write_text(
            "unit: id\nmax_rows: 12\ncolumns:\n  id: {type: id}\n  n: {type: integer, lower: 0, upper: 9}\n"
            "  x: {type: numeric, lower: 0, upper: 2}\n  g: {type: integer, lower: 0, upper: 3}\n")
        for number, (family, formula) in enumerate((("poisson", "n ~ x"), ("gaussian", "x ~ n"),
                                                    ("categorical", "factor(g) ~ x"))):
            done = run(["fit", formula, "--family", family, "--data", "f.csv", "--schema", "f.yaml", *BUDGET, "--out",
                        f"fam{number}", "--clip-grad", "5", "--clip-ratio", "5", "--yes", *quick])
            assert done.returncode == 0, done.stderr
            assert json.load(open(f"fam{number}/privacy.json"))["unit"] == "id"

    def counted(events):
        """Events of a spend with equal ones added up, as a budget lists what it was charged."""
        counts = {}
        for event in events:
            counts[event["label"], event["event"]] = counts.get((event["label"], event["event"]), 0) + event["count"]
        return counts

    @case("private metric and clip bounds: charged, listed, in the ledger, the same events that account recomputes", long=True)
    def _():
        assert run(["ledger", "init", "t.ledger", "--data-id", "clinic", "--epsilon", "60", "--delta", "1e-6"]).returncode == 0
        words = ["fit", "x ~ y", "--family", "gaussian", "--data", "people.csv", "--schema", "people.yaml", "--epsilon", "15", "--delta",
                 "1e-6", "--chains", "1", "--metric", "private", "--clip-ratio", "private", "--ledger", "t.ledger", "--yes"]
        for number, method in enumerate(("dp-penalty", "dp-hmc")):
            done = run([*words, "--method", method, "--out", f"t{number}"])
            assert not common_faults(done) and done.returncode == 0, done.stderr
            assert re.search(r"tuned by releases: step size [\d.e+-]+, clip bound of gradients [\d.e+-]+, of ratios", done.stderr)
            statement = json.load(open(f"t{number}/privacy.json"))
            counts = {}
            for event in statement["events"]:
                counts[event["label"]] = counts.get(event["label"], 0) + event["count"]
            assert counts["gradient norms"] == 2 and counts["curvature"] == 2 and counts["gradient"] >= 16, counts
            assert "gradient norms" in open(f"t{number}/privacy.txt").read()
            spend = export("t.ledger")["spends"][number]
            charged, reserved = counted(spend["events"]), counted(spend["reserved"])
            assert spend["status"] == "settled" and all(charged[key] <= reserved[key] for key in charged), spend
            is_whole = charged == reserved  # one dp-hmc in eight ends a trajectory that left the numbers without its last gradients
            assert is_whole or method == "dp-hmc", spend
            again = [w for e in statement["events"] for w in ("--event", e["event"], "--count", str(e["count"]))]
            total = json.loads(run(["account", *again, "--delta", "1e-6", "--json"]).stdout)["epsilon"]
            assert abs(total / statement["epsilon_charged"] - 1) < 1e-6 and (12 < total or not is_whole), total
            assert total <= statement["epsilon"] <= 15, (total, statement["epsilon"])
            settings = open(f"t{number}/run.yaml").read()
            assert "metric: private" in settings and "clip-grad: private" in settings and "clip-share: 0.01" in settings
            published = json.load(open(f"t{number}/diagnostics.json"))
            assert published["clip_grad"] > 0 and published["clip_ratio"] == published["clip_grad"]
        done = run(["plan", "x ~ y", "--family", "gaussian", "--schema", "people.yaml", "--n", "600", "--epsilon", "15", "--delta",
                    "1e-6", "--chains", "1", "--metric", "private", "--clip-ratio", "private", "--json"])
        planned = {(row["method"], row["acceptance"]): row["iterations"] for row in json.loads(done.stdout)}
        plain = json.loads(run(["plan", "x ~ y", "--family", "gaussian", "--schema", "people.yaml", "--n", "600", "--epsilon", "15",
                                "--delta", "1e-6", "--chains", "1", "--clip-ratio", "private", "--json"]).stdout)
        penalty = next(row["iterations"] for row in plain if (row["method"], row["acceptance"]) == ("dp-penalty", "penalty"))
        ran = len([l for l in open("t0/draws-1.csv") if l[0].isdigit()])
        assert 0 < ran < planned["dp-penalty", "penalty"] < penalty and planned["dp-sgld", "-"] == 0, (ran, planned, penalty)

    @case("private tuning under add-remove, of persons, and of bits", long=True)
    def _():
        done = run(["fit", "n ~ x", "--family", "poisson", "--data", "f.csv", "--schema", "f.yaml", *BUDGET, "--method", "dp-penalty",
                    "--clip-ratio", "private", "--metric", "private", "--out", "t2", *quick, "--yes"])
        assert done.returncode == 0, done.stderr
        assert json.load(open("t2/privacy.json"))["unit"] == "id"
        done = run(["fit", "y ~ x", "--family", "bernoulli", "--data", "clamped.csv", "--schema", "private-n.yaml", *BUDGET, "--method",
                    "dp-penalty", "--acceptance", "arcsine", "--n-public", "3000", "--metric", "private", "--out", "t3", "--yes",
                    "--chains", "2"])
        assert not common_faults(done) and done.returncode == 0, done.stderr
        statement = json.load(open("t3/privacy.json"))
        assert statement["epsilon"] <= 20 and [e["label"] for e in statement["schedule"]].count("curvature") == 2, statement

    @case("account: an unfinished group of decisions costs what a whole one does")
    def _():
        words = ["--delta", "1e-6", "--method", "zcdp", "--json"]
        costs = [json.loads(run(["account", "--event", "barker-bit:sensitivity=1e-6,rho=0.5,together=8", "--count", count, *words]).stdout)["epsilon"]
                 for count in ("1", "8")]
        plan = "each_iteration:\n  - event: barker-bit:sensitivity=1e-6,rho=0.5,together=8\n    count: 3\niterations: 2\n"
        pathlib.Path("groups.yaml").write_text(plan)
        costs.append(json.loads(run(["account", "--plan", "groups.yaml", *words]).stdout)["epsilon"])
        assert min(costs) == max(costs) > 16, costs

    @case("account")
    def _():
        words = ["account", "--event", "gaussian:sigma=20", "--count", "100", "--delta", "1e-5"]
        answer = json.loads(run(words + ["--json"]).stdout)
        assert set(answer) == {"epsilon", "epsilon_lower", "delta", "method", "relation"}
        assert abs(answer["epsilon"] - 1.99309140441512) < 1e-9 and answer["epsilon_lower"] <= 1.99309140441512
        assert "1.99309140" in run(words).stdout
        back = json.loads(run(["account", "--event", "gaussian:sigma=20", "--count", "100", "--epsilon",
                               "1.99309140441512", "--json"]).stdout)
        assert abs(back["delta"] / 1e-5 - 1) < 1e-8
        count = json.loads(run(["account", "--event", "gaussian:sigma=20", "--epsilon", "2", "--delta", "1e-6", "--solve",
                                "count", "--json"]).stdout)["count"]
        assert count == 80, count

    @case("account of sampled releases, plans and files")
    def _():
        poisson = ["account", "--event", "poisson-gaussian:q=0.01,sigma=1", "--count", "10000", "--relation", "add-remove"]
        answer = json.loads(run(poisson + ["--delta", "1e-6", "--fpr", "0.01", "--json"]).stdout)
        assert answer["epsilon_lower"] <= 6.9073844951 and 6.907384495 <= answer["epsilon"] <= 6.9143
        assert 0.01 < answer["attack"]["true_positive_rate"] < 0.2
        assert json.loads(run(["account", "--plan", "plan.yaml", "--epsilon", "2", "--delta", "1e-6", "--solve", "iterations",
                               "--json"]).stdout)["iterations"] in (78, 79)
        noise = json.loads(run(["account", "--event", "gaussian:sigma=1", "--count", "100", "--epsilon", "2", "--delta",
                                "1e-6", "--solve", "noise", "--json"]).stdout)["noise_multiplier"]
        assert 0 <= json.loads(run(["account", "--event", f"gaussian:sigma={noise}", "--count", "100", "--delta", "1e-6",
                                    "--json"]).stdout)["epsilon"] <= 2
        run(["account", "--event", "pair:pair.csv", "--count", "10", "--profile", "p.csv", "--plot", "p.svg"])
        rows = list(csv.DictReader(open("p.csv")))
        assert all(float(row["delta_lower"]) <= float(row["delta"]) for row in rows) and len(rows) == 49
        assert open("p.svg").read().startswith("<svg")

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
            assert fitted(BASE, epsilon) == (6, float(f"{row['width']:.3g}")) and row["iterations"] == 6, row
            assert taken in text and "the best of the exact ones is" in text, text
        row, text = planned(FORMULA, "bernoulli", YAML, "7874", "8", "--metric", "private")
        assert taken in text and "It goes without --metric." in text, text
        linear = ["fit", "y ~ x + sex", "--family", "gaussian", "--data", "people.csv", "--schema", "people.yaml"]
        n = str(len(open("people.csv").readlines()) - 1)
        row, text = planned("y ~ x + sex", "gaussian", "people.yaml", n, "20")
        assert fitted(linear, "20") == (7, float(f"{row['width']:.3g}")) and row["iterations"] == 7 and taken in text, (row, text)
        row, text = planned(FORMULA, "bernoulli", YAML, "7874", "0.1")
        assert row["width"] > 3 and "None of these will do" in text, (row, text)
        row, text = planned("y ~ x + 0", "bernoulli", "good.yaml", "100000", "8")
        assert row["iterations"] == 0 and "needs an intercept" in text and not re.search(r"Recommended: .*noise-aware", text), text
        row, text = planned("y ~ x", "bernoulli", "private-n.yaml", "100000", "8")
        assert row["iterations"] == 7 and taken in text, text  # the count of units is released too
        row, text = planned("s ~ x", "categorical", "good.yaml", "100000", "8")
        assert row["iterations"] == 0 and "for categorical" in text, text
        pathlib.Path("visits.yaml").write_text("relation: substitute\ncolumns:\n  n: {type: integer, lower: 0, upper: 400}\n"
                                               "  x: {type: numeric, lower: 0, upper: 1}\n")
        row, text = planned("n ~ x", "poisson", "visits.yaml", "100000", "8", "--clip-grad", "1", "--clip-ratio", "1")
        assert row["iterations"] == 7 and row["width"] > 1.2 and "takes by itself" not in text, (row, text)
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

    @case("infer: all models and methods; a report that says it is post-processing")
    def _():
        few = ["--chains", "2", "--draws", "200", "--warmup", "100", "--seed", "1", "--quiet"]
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
        few = ["--chains", "1", "--draws", "20", "--warmup", "20", "--quiet"]
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
        done = run(["infer", "income.stan", "--statistic", "capped.yaml", "--n", "48210", "--chains", "1", "--warmup", "40", "--draws", "30", "--seed", "1",
                    "--out", "capped", "--quiet"])
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
        done = run(["infer", "income.stan", "--statistic", "fitting.yaml", "--n", "48210", "--chains", "2", "--warmup", "200", "--draws", "200", "--seed", "1",
                    "--out", "fitting", "--quiet"])
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
        done = run(["infer", "ridge.stan", "--statistic", "ridge.yaml", "--chains", "2", "--warmup", "200", "--draws", "400", "--seed", "1", "--out", "ridge", "--quiet"])
        assert done.returncode == 0 and "of trajectories was lost where the posterior narrows" in done.stderr, done
        checks = json.load(open("ridge/diagnostics.json"))["checks"]
        assert [c["verdict"] for c in checks if c["id"] == "trajectories-lost"] == ["warning"], checks

    @case("release and infer: a private analysis without editing a file")
    def _():
        few = ["--chains", "2", "--draws", "300", "--warmup", "200", "--seed", "1", "--quiet"]
        steps = {"gaussian": DELTA, "laplace": [], "discrete-gaussian": [*DELTA, "--step", "0.5"], "discrete-laplace": ["--step", "0.5"]}
        for mechanism, extra in steps.items():
            for statistic, column, model, expected in (("clamped-mean", "hours", "hours", (40, 1.5)), ("clamped-mean", "kids", "poisson", (0.5, 0.2)),
                                                       ("counts", "sex,smoker", "people", (0.5, 0.05))):
                options = extra[:2] if column == "kids" and extra[:1] == ["--delta"] else extra if column == "hours" else [w for w in extra if w in DELTA]
                name = f"{mechanism}-{column}"
                words = [w if w != "out" else name + ".yaml" for w in release(statistic, column, "--mechanism", mechanism, *options, epsilon="5")]
                done = run(words)
                assert done.returncode == 0 and f"cost: epsilon 5 at delta {'1e-06' if 'gaussian' in mechanism else '0'}" in done.stdout, (words, done)
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
        done = run(["infer", "regression-model.yaml", "--statistic", "xy.yaml", "--out", "post-xy", "--chains", "2", "--draws", "200", "--warmup", "20",
                    "--quiet"])
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
                    "--warmup", "20", "--quiet"])
        assert done.returncode == 0 and "method marginal (chosen)" in done.stdout and "(epsilon 100, delta 1e-06" in done.stdout, done
        exposed = run(["fit", "old ~ x", "--family", "bernoulli", "--data", "people.csv", "--schema", "people.yaml", "--method", "hmc",
                       "--exposed", "--out", "exposed-oldx", "--quiet"])
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
        done = run(["infer", "hours-model.yaml", "--statistic", "seed1.yaml", "--out", "post-seed", "--chains", "1", "--draws", "20", "--quiet"])
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
        said = run(["plan", "y ~ x", "--family", "bernoulli", "--schema", "persons.yaml", "--n", "100000", "--epsilon", "8", "--delta", "1e-7"]).stdout
        by_record = [line.split()[0] for line in said.split("\n") if "goes by records" in line]
        assert {"dp-mala", "dp-sgld", "dp-fast-mh"} <= set(by_record) and "Recommended: --method noise-aware" in said, said

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
        script = run(["help", "--completion", "bash"]).stdout
        assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0

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
        for name, extra, price in (("hmc", ["--method", "dp-hmc", "--epsilon", "30"], 30), ("bits", ["--method", "dp-barker", "--epsilon", "3"], None)):
            told = []
            for number in range(2):
                out = f"promise-{name}-{number}"
                done = run(BASE + ["--delta", "1e-6", "--chains", "1", "--draws", "30", "--yes", "--quiet", *extra, "--out", out])
                assert done.returncode == 0, done.stderr
                statement = json.load(open(f"{out}/privacy.json"))
                told.append(statement["epsilon"])
                assert 0 < statement["epsilon_charged"] <= statement["epsilon"] <= statement["epsilon_budget"]
                assert statement["epsilon_charged_is_a_guarantee"] is False
                header = open(f"{out}/draws-1.csv").read()
                assert f"# dp_epsilon = {statement['epsilon']:g}"[:20] in header and "# dp_epsilon_charged_no_guarantee = " in header
                words = " ".join(open(f"{out}/privacy.txt").read().split())
                assert "fixed before its first release" in words and "is no guarantee" in words
                assert "the guarantee is the budget" in done.stdout and "which is no guarantee" in open(f"{out}/report.html").read()
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

    @case("disk full: nothing is left, the charge is stated")
    def _():
        if os.geteuid() != 0 or not shutil.which("mount"):
            return
        os.makedirs("tiny", exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "tiny"], stderr=subprocess.DEVNULL).returncode:
            return
        try:
            done = run(BASE + BUDGET + ["--out", "tiny/fit", "--method", "dp-penalty", "--draws", "3000", "--quiet"])
            assert done.returncode == 1 and "No space left" in done.stderr and "; charged " in done.stderr, done.stderr
            assert os.listdir("tiny") == [], os.listdir("tiny")
        finally:
            subprocess.run(["umount", "tiny"])


def import_paths():
    seeded = ["--seed", "5", "--quiet", "--chains", "2", "--delta", "1e-6"]

    def same(a, b):
        names = sorted(os.listdir(a))
        assert names == sorted(os.listdir(b)) and names, (a, b)
        for name in names:
            assert pathlib.Path(a, name).read_bytes() == pathlib.Path(b, name).read_bytes(), f"{a}/{name} differs from {b}/{name}"

    def succeed(words):
        done = run(words)
        assert not common_faults(done) and done.returncode == 0, done.stderr
        return done

    @case("a fit from imported columns, and with records in a file, is the fit from CSV")
    def _():
        succeed(["import", CSV, "--schema", YAML, "--out", "flchain.columns/"])
        os.mkdir("scratch")
        for number, words in enumerate((["--epsilon", "1"], ["--epsilon", "50", "--method", "dp-hmc", "--draws", "20", "--threads", "2"],
                                        ["--epsilon", "20", "--method", "dp-fast-mh", "--draws", "20"],
                                        ["--epsilon", "8", "--method", "dp-sgld", "--draws", "20"],
                                        ["--epsilon", "8", "--method", "dp-mala", "--draws", "5"])[: 5 if ALL else 2]):
            texts = []
            for data, out, more in ((CSV, f"from-csv-{number}", []), ("flchain.columns", f"from-columns-{number}", []),
                                    ("flchain.columns/", f"from-file-{number}", ["--scratch", "scratch"])):
                done = succeed([data if word == CSV else word for word in BASE] + seeded + words + ["--out", out, "--curator-notes"] + more)
                texts.append((done.stdout.replace(out, "OUT"), done.stderr))
            assert texts[0] == texts[1] == texts[2], texts
            same(f"from-csv-{number}", f"from-columns-{number}")
            same(f"from-csv-{number}", f"from-file-{number}")
        assert os.listdir("scratch") == []

    @case("a statement claims no exactness where decisions clip", long=True)
    def _():
        for method, is_exact in (("dp-mala", False), ("dp-barker", True)):
            succeed(BASE + seeded[2:] + ["--epsilon", "8", "--method", method, "--draws", "5", "--yes", "--out", f"claims-{method}"])
            words = " ".join(pathlib.Path(f"claims-{method}", "privacy.txt").read_text().split())
            assert ("wider than the posterior" in words) != is_exact and ("slower, not biased" in words) == is_exact, words

    @case("persons with several rows from imported columns")
    def _():
        done = succeed(["import", "person.csv", "--schema", "person.yaml", "--out", "person.columns", "--curator-notes"])
        assert "person.columns" in done.stdout and "PRIVATE" in done.stdout and "rows" not in done.stdout, done.stdout
        assert "FOR THE CURATOR ONLY" in done.stderr and "rows beyond max_rows 0" in done.stderr, done.stderr
        for data, more in (("person.csv", []), ("person.columns", []), ("person.columns", ["--scratch", "."])):
            shutil.rmtree("person-fit", ignore_errors=True)
            succeed(["fit", "y ~ x", "--family", "bernoulli", "--data", data, "--schema", "person.yaml", "--epsilon", "50", *seeded,
                     "--method", "dp-penalty", "--draws", "5", "--out", "person-fit", *more])
            if os.path.exists("person-fit-0"):
                same("person-fit-0", "person-fit")
            else:
                os.rename("person-fit", "person-fit-0")

    @case("a release from imported columns, on threads and from a file, is the release from CSV")
    def _():
        succeed(["import", "people.csv", "--schema", "people.yaml", "--out", "people.columns"])
        for number, words in enumerate((release("clamped-mean", "hours", *DELTA), release("counts", "sex,smoker", *DELTA),
                                        ["release", "y ~ x + hours", *release("moments", None, *DELTA)[1:]],
                                        ["release", "old ~ x + hours", *release("score", None, *DELTA)[1:]])):
            texts = []
            for data, more in (("people.csv", []), ("people.csv", ["--threads", "2"]), ("people.columns", []),
                               ("people.columns", ["--scratch", "scratch"]), ("people.columns", ["--scratch", "scratch", "--threads", "3"])):
                words[words.index("--data") + 1] = data
                words[words.index("--out") + 1] = f"released-{number}.yaml"
                succeed(words + ["--seed", "3"] + more)
                texts.append(pathlib.Path(f"released-{number}.yaml").read_text())
                os.unlink(f"released-{number}.yaml")
            assert texts == texts[:1] * len(texts)
        assert os.listdir("scratch") == []

    @case("imported columns are their owner's alone, and are checked on request")
    def _():
        assert os.stat("people.columns").st_mode & 0o777 == 0o700
        assert all(os.stat(f"people.columns/{name}").st_mode & 0o777 == 0o600 for name in os.listdir("people.columns"))
        assert "ok: every row" in succeed(["schema", "check", "people.yaml", "--data", "people.columns"]).stdout

    @case("disk full: nothing is left of an import, and no room for records is an error")
    def _():
        if os.geteuid() != 0 or not shutil.which("mount"):
            return
        os.makedirs("tiny", exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "tiny"], stderr=subprocess.DEVNULL).returncode:
            return
        try:
            done = run(["import", CSV, "--schema", YAML, "--out", "tiny/columns"])
            assert done.returncode == 1 and "No space left" in done.stderr and not common_faults(done), done.stderr
            done = run(BASE + ["--epsilon", "1", "--delta", "1e-6", "--out", "full", "--scratch", "tiny"])
            assert done.returncode == 1 and "room that the records need in tiny: No space left" in done.stderr, done.stderr
            done = run(["release", "death ~ age", "--statistic", "score", "--data", CSV, "--schema", YAML, "--epsilon", "1", "--delta", "1e-6",
                        "--out", "full", "--scratch", "tiny"])
            assert done.returncode == 1 and "records need in tiny: No space left" in done.stderr, done.stderr
            assert os.listdir("tiny") == [] and not os.path.exists("full")
        finally:
            subprocess.run(["umount", "tiny"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in FILES.items():
            pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        packed = gzip.compress(("y,x,s\n" + "1,1.5,F\n0,0.7,M\n" * 5000).encode())
        pathlib.Path("cut.csv.gz").write_bytes(packed[: len(packed) // 2])
        os.mkdir("exists")
        make_ledgers()
        make_columns()
        if "--table" in sys.argv:
            write_table()
            return
        for name, words, status, pattern in [bad for bad in BAD if ONLY in bad[0]]:
            verdict(name, check_bad(name, words, status, pattern)[0])
        good_paths()
        import_paths()
        os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
