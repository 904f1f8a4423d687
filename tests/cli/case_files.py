"""The files that cases find: schemas, tables, statistics, models, ledgers, imported columns."""
import hashlib
import os
import pathlib
import sqlite3
import struct

from case_engine import LEDGER, run

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
    "many-classes.yaml": "columns:\n  x: {type: numeric, lower: 0.5, upper: 2}\n  k: {type: categorical, levels: [%s]}\n" % ", ".join(f"k{i}" for i in range(12)),
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
    "visits.parquet": "PAR1\x15\x04\x15", "visits.xlsx": "PK\x03\x04\x14\0",
    "colon.csv": "y:x:s\n1:1.5:F\n",
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
    "margins-levels.yaml": (MARGINS % "51, 49").replace("[x, y]", "[x, z]"),
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
