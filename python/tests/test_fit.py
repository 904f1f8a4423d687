"""Fits from every source, plans, results, interruption. Each test needs the installed package; other libraries where they are there."""
import contextlib
import json
import math
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from decimal import Decimal

import tacit

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

FORMULA = "y ~ x + s"
SCHEMA = {"columns": {"x": {"type": "numeric", "lower": -3, "upper": 3}, "s": {"type": "categorical", "levels": ["a", "b"]},
                      "y": {"type": "binary"}, "k": {"type": "integer", "lower": 0, "upper": 9, "missing": 4}}}
N = 3000


def records(n=N):
    """A data set that anybody can make again: no random numbers of a library."""
    state, columns = 12345, {"x": [], "s": [], "y": [], "k": []}
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        x = round(((state >> 20) % 6001) / 1000 - 3, 3)
        s = "b" if state >> 60 & 1 else "a"
        p = 1 / (1 + math.exp(-(0.3 + 0.8 * x - 0.6 * (s == "b"))))
        columns["x"].append(x)
        columns["s"].append(s)
        columns["y"].append(int((state >> 33) % 10000 < 10000 * p))
        columns["k"].append(None if state >> 50 & 15 == 0 else state >> 40 & 7)
    return columns


def fit(data, formula=FORMULA, **more):
    given = {"schema": SCHEMA, "family": "bernoulli", "epsilon": 2, "delta": 1e-6, "progress": False, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tacit.PrivacyWarning)
        return tacit.fit(formula, data, **given)


class Folder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()


class Account(unittest.TestCase):
    def test_number_and_its_bracket(self):
        epsilon = tacit.account(("gaussian:sigma=20", 1000), delta=1e-6)
        self.assertEqual(float(epsilon), 8.306225049954753)
        self.assertEqual(epsilon.method, "gaussian")
        self.assertLessEqual(epsilon.lower, epsilon)
        self.assertEqual(tacit.account([("gaussian:sigma=20", 999), "gaussian:sigma=20"], delta=1e-6), epsilon)
        self.assertAlmostEqual(tacit.account(("gaussian:sigma=20", 1000), epsilon=epsilon), 1e-6, delta=1e-12)
        sampled = ("poisson-gaussian:q=0.01,sigma=1", 100)
        self.assertNotEqual(tacit.account(sampled, delta=1e-6), tacit.account(sampled, delta=1e-6, relation="add-remove"))
        self.assertEqual(pickle.loads(pickle.dumps(epsilon)).lower, epsilon.lower)

    def test_refusals(self):
        for events, more, field in ((["gausian:sigma=2"], {"delta": 1e-6}, "event"), ([], {"delta": 1e-6}, "events"),
                                    ([("gaussian:sigma=2", 0)], {"delta": 1e-6}, "events"), (["gaussian:sigma=2"], {}, "delta"),
                                    (["gaussian:sigma=2"], {"delta": 1e-6, "relation": "other"}, "relation"),
                                    (["gaussian:sigma=2"], {"delta": 1e-6, "method": "other"}, "method")):
            with self.assertRaises(ValueError) as caught:
                tacit.account(*events, **more)
            self.assertEqual(caught.exception.field, field)


class Before(Folder):
    """What somebody needs who has a frame and nothing else."""

    def test_draft_looks_at_no_value(self):
        class Guarded(list):
            def __iter__(self):
                raise AssertionError("a value was looked at")

        text = tacit.schema_draft({"age": Guarded([99]), "ill: y": Guarded([1])})
        self.assertIn('\n  age: {type: "?"}\n', text)
        self.assertIn('\n  "ill: y": {type: "?"}\n', text)
        self.assertNotIn("99", text)
        if pandas is not None:
            frame = pandas.DataFrame({"age": [1.5, 2], "ill": [True, False], "ward": pandas.Categorical(["secret", "b"]), "when": pandas.Timestamp("2020-01-01")})
            text = tacit.schema_draft(frame)
            for line in ("  age: {type: \"?\"}   # numbers", "  ill: {type: \"?\"}   # true or false", "  when: {type: \"?\"}   # dates"):
                self.assertIn(line, text)
            self.assertNotIn("secret", text)
        out = self.folder / "s.yaml"
        tacit.schema_draft({"a": [1]}, out=out)
        with self.assertRaisesRegex(tacit.SchemaError, "still to be filled in"):
            tacit.schema_check(out)
        with self.assertRaises(tacit.FileError):
            tacit.schema_draft({"a": [1]}, out=out)

    def test_check_tells_only_the_holder(self):
        self.assertIn("ok: 4 columns", repr(tacit.schema_check(SCHEMA)))
        columns = records(50)
        columns["x"][0] = 1e6
        found = tacit.schema_check(SCHEMA, columns)
        self.assertEqual((found.counts["rows"], found.counts["clamped"]), (50, 1))
        self.assertIn("for the holder of the data only: ", found.for_holder)
        again = tacit.schema_check(SCHEMA, records(50))
        self.assertEqual(repr(found), repr(again))  # what is printed is of no record
        kept = pickle.loads(pickle.dumps(found))
        self.assertEqual((kept.for_holder, kept.counts, repr(kept)), (None, None, repr(found)))
        columns["s"][3] = "c"
        with self.assertRaises(tacit.DataError) as caught:
            tacit.schema_check(SCHEMA, columns)
        self.assertTrue(caught.exception.private)

    def test_messages_are_pythons(self):
        given = {"schema": SCHEMA, "n": 100, "family": "bernoulli"}
        for more, kind, words in (({"epsilom": 1}, tacit.ArgumentError, "no setting 'epsilom' .did you mean 'epsilon'"),
                                  ({"clip_gradd": 1}, tacit.ArgumentError, "did you mean 'clip_grad'"),
                                  ({"delta": 1e-6}, tacit.ArgumentError, "epsilon=E delta=D .missing: epsilon="),
                                  ({"epsilon": 1, "delta": 1e-6, "family": None}, tacit.ArgumentError, r"family= is needed; tacit.families\(\)"),
                                  ({"epsilon": 1, "delta": 1e-6, "family": "nbinom"}, tacit.ArgumentError, "did you mean 'negbinomial'"),
                                  ({"epsilon": 1, "delta": 1e-6, "family": "binomial"}, tacit.SchemaError, "take family bernoulli"),
                                  ({"schema": {"columns": {"smoker": {"type": "bool"}}}}, tacit.SchemaError, r"^columns\.smoker\.type: ")):
            with self.assertRaisesRegex(kind, words) as caught:
                tacit.plan(FORMULA, **{**given, **more})
            self.assertNotIn("--", str(caught.exception))
        with self.assertRaisesRegex(tacit.DataError, "no column 's' .did you mean 'S'"):
            fit({"x": [1.0], "S": ["a"], "y": [1]})
        with self.assertRaisesRegex(tacit.ArgumentError, "seed_not_private"):
            fit(records(9), random_seed=1)
        plan = tacit.plan(FORMULA, **given, epsilon=2, delta=1e-6)
        lines = repr(plan).splitlines()
        self.assertEqual(len(lines), len(set(lines)))
        self.assertNotIn("--", repr(plan))

    def test_lists_need_no_program(self):
        self.assertEqual([of["name"] for of in tacit.families()][:3], ["bernoulli", "gaussian", "student"])
        self.assertIn("negbinomial", repr(tacit.families()))
        self.assertIn("clip_grad=B", repr(tacit.settings()))
        self.assertIn("seed_not_private=N", repr(tacit.settings()))
        for of, words in ((), "tacit.schema_draft"), (("fit",), "clip_grad=B"), (("families",), "hurdle_gamma"):
            done = subprocess.run([sys.executable, "-m", "tacit", *of], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(words, done.stdout)

    def test_a_release_shows_its_value(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = tacit.release(data=records(), statistic="mean", column="x", mechanism="laplace", schema=SCHEMA, epsilon=1)
            many = tacit.release(data=records(), statistic="counts", column="s", mechanism="laplace", schema=SCHEMA, epsilon=1)
        self.assertAlmostEqual(one.value, one.values[0] / N, places=5)
        self.assertRegex(repr(one), f"^mean: {one.value:.6g}\n")
        self.assertEqual(len(many.value), 2)
        self.assertNotIn("--ledger", repr(one))
        (self.folder / "p.stan").write_text("data { int<lower=0, upper=1> y; }\nparameters { real a; }\nmodel { y ~ bernoulli_logit(a); }\nstatistic { total = sum(y); }\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tables = tacit.release(data=records(), statistic="margins", margin=["s,y", "y"], schema=SCHEMA, epsilon=1, delta=1e-6)
            line = tacit.release(str(self.folder / "p.stan"), records(), statistic="total", mechanism="discrete-laplace", schema=SCHEMA, epsilon=1)
        self.assertEqual((tables.value, line.value), (tables.values, line.values[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            levels = {"columns": {"s": {"type": "categorical", "levels": ["a", "b", *(f"c{i}" for i in range(58))]}}}
            large = tacit.release(data=records(), statistic="counts", column="s", mechanism="laplace", schema=levels, epsilon=1)
        self.assertEqual((len(large.value), large.value), (60, large.values))
        self.assertRegex(repr(tables), f"^margins: {tables.value[0]:.6g}, ")
        self.assertRegex(repr(line), f"^total: {line.value:.6g}\n")


class Sources(Folder):
    """The same records to the last bit: the draws of a seeded run are a digest of them."""

    def draws(self, data, formula=FORMULA, **more):
        return fit(data, formula, seed_not_private=3, draws=50, warmup=100, **more)._draws

    def test_every_source(self):
        columns, formula = records(), FORMULA + " + k"
        path = self.folder / "data.csv"
        with open(path, "w", encoding="utf-8") as file:
            file.write("x,s,y,k\n")
            for row in zip(*columns.values(), strict=True):
                file.write(",".join("" if value is None else str(value) for value in row) + "\n")
        expected = self.draws(path, formula)
        sources = {"columns": columns}
        if pandas is not None:
            frame = pandas.DataFrame(columns)
            sources |= {"pandas": frame, "pandas, object": frame.astype({"s": object}), "pandas, category": frame.astype({"s": "category"}),
                        "pandas, nullable": frame.convert_dtypes(), "pandas, bool": frame.assign(y=frame["y"] == 1),
                        "pandas, more columns": frame.assign(when=pandas.Timestamp("2020-01-01"), mess=[[1]] * N),
                        "numpy arrays": {name: frame[name].to_numpy() for name in frame}}
        if pyarrow is not None:
            table = pyarrow.table(columns)
            sources |= {"pyarrow": table, "pyarrow, dictionary": table.set_column(1, "s", table["s"].dictionary_encode()),
                        "pyarrow, large": table.set_column(1, "s", table["s"].cast("large_string")),
                        "pyarrow, view": table.set_column(1, "s", table["s"].cast("string_view")),
                        "pyarrow, decimal": table.set_column(0, "x", table["x"].cast(pyarrow.decimal128(9, 3))),
                        "pyarrow, chunks": pyarrow.concat_tables([table.slice(0, 1), table.slice(1, 700), table.slice(701)]),
                        "pyarrow, reader": table.to_reader(97)}
        try:
            import polars
        except ImportError:
            pass
        else:
            frame = polars.DataFrame(columns)
            sources |= {"polars": frame, "polars, lazy": frame.lazy(), "polars, sliced": polars.concat([frame[:500], frame[500:]], rechunk=False),
                        "polars, categorical": frame.with_columns(polars.col("s").cast(polars.Categorical)),
                        "polars, enum": frame.with_columns(polars.col("s").cast(polars.Enum(["b", "unused", "a"])))}
        try:
            import duckdb
        except ImportError:
            pass
        else:
            sources["duckdb"] = duckdb.sql(f"select * from read_csv('{path}')")
        for name, data in sources.items():
            with self.subTest(name):
                self.assertEqual(self.draws(data, formula), expected)

    def test_without_pyarrow(self):
        """pandas alone: its columns are read one by one."""
        if pandas is None:
            self.skipTest("no pandas")
        expected = self.draws(records(), FORMULA + " + k")
        code = ("import sys; sys.modules['pyarrow'] = None; sys.path.insert(0, sys.argv[1]); import test_fit as t, pandas, hashlib\n"
                "frame = pandas.DataFrame(t.records())\n"
                "for data in frame.astype({'s': object}), frame.astype({'s': 'category'}), frame.convert_dtypes():\n"
                "    print(hashlib.sha256(t.fit(data, t.FORMULA + ' + k', seed_not_private=3, draws=50, warmup=100)._draws).hexdigest())")
        import hashlib
        told = subprocess.run([sys.executable, "-c", code, str(pathlib.Path(__file__).parent)], capture_output=True, text=True, check=True)
        self.assertEqual(told.stdout.split(), 3 * [hashlib.sha256(expected).hexdigest()])

    def test_persons(self):
        schema = {"unit": "id", "max_rows": 2, "columns": {"id": {"type": "id"}, **SCHEMA["columns"]}}
        columns = records()
        numbers = {**columns, "id": [i // 3 for i in range(N)]}
        texts = {**columns, "id": [str(i // 3) for i in range(N)]}
        more = {"schema": schema, "method": "dp-hmc", "epsilon": 50, "chains": 1, "accept_poor": True}
        self.assertEqual(fit(numbers, seed_not_private=1, draws=5, warmup=5, **more)._draws,
                         fit(texts, seed_not_private=1, draws=5, warmup=5, **more)._draws)


class Results(Folder):
    @classmethod
    def setUpClass(cls):
        cls.post = fit(records())

    def test_plain_data(self):
        post = self.post
        self.assertEqual(post.labels, ["Intercept", "x", "sb"])
        self.assertTrue(post.privacy["private"])
        self.assertEqual(post.end, "complete")
        self.assertLessEqual(post.privacy["epsilon"], 2)
        again = pickle.loads(pickle.dumps(post))
        self.assertEqual(again._draws, post._draws)
        self.assertIn("private: epsilon 2 at delta 1e-06", repr(post))
        self.assertIn("<table>", post._repr_html_())
        self.assertNotIn("NOT PRIVATE", post._repr_html_())
        seeded = fit(records(), seed_not_private=1)
        self.assertIn("color:#b00020;font-weight:bold'>4 chains of 1000 draws; NOT PRIVATE", seeded._repr_html_())

    def assert_printed(self, table, names):
        """A table's numbers are those of tacit summary to the digits that it prints. names: of the table's columns by those of the summary."""
        columns = ("mean", "sd", "q5", "q50", "q95", "mcse", "ess_bulk", "ess_tail", "rhat")
        for line in self.post._table.splitlines()[1:]:
            label, *texts = line.split()
            for name, text in zip(columns, texts, strict=False):
                if name in names:
                    half = 0.5 * 10.0 ** Decimal(text).as_tuple().exponent
                    self.assertLessEqual(abs(float(table.loc[label, names[name]]) - float(text)), half * (1 + 1e-9), (label, name))

    @unittest.skipIf(pandas is None, "no pandas")
    def test_tables(self):
        summary = self.post.summary()
        self.assertEqual(list(summary.columns), ["mean", "sd", "q5", "q50", "q95", "ess_bulk", "ess_tail", "rhat"])
        self.assertEqual(list(summary.index), self.post.labels)
        frame, draws = self.post.to_pandas(), self.post.draws()
        self.assertEqual(frame.shape, (4000, 3))
        self.assertEqual(draws.shape, (4, 1000, 3))
        self.assertEqual(frame.loc[(2, 7), "x"], draws[2, 7, 1])
        self.assertTrue(numpy.allclose(summary["mean"], draws.mean(axis=(0, 1)), rtol=1e-12))
        self.assertTrue(numpy.allclose(summary["sd"], draws.std(axis=(0, 1), ddof=1), rtol=1e-3))
        self.assert_printed(summary, {name: name for name in summary})

    @unittest.skipIf(pandas is None, "no pandas")
    def test_predictions(self):
        rows = {"x": [-1.5, 2.0], "s": ["b", "a"]}
        draws = self.post.draws().reshape(-1, 3)
        expected = 1 / (1 + numpy.exp(-(draws @ numpy.array([[1, -1.5, 1], [1, 2, 0]]).T)))
        self.assertTrue(numpy.allclose(self.post.epred(rows), expected, rtol=1e-14))
        table = self.post.predict(pandas.DataFrame(rows))
        self.assertTrue(numpy.allclose(table["mean"], expected.mean(axis=0)))
        self.assertTrue((table["q5"] < table["q50"]).all() and (table["q50"] < table["q95"]).all())
        with self.assertWarnsRegex(UserWarning, "1 values of the new rows are outside"):
            self.post.predict({"x": [9.0], "s": ["a"]})
        with self.assertRaises(tacit.DataError):
            self.post.predict({"x": [1.0], "s": ["no level"]})

    @unittest.skipIf(pandas is None, "no pandas")
    def test_predictions_of_all_kinds(self):
        draws = self.post.draws().reshape(-1, 3)
        eta = draws @ numpy.array([1, -1.5, 1])
        row = {"x": [-1.5], "s": ["b"]}
        self.assertAlmostEqual(self.post.predict(row, kind="linear")["mean"][0], eta.mean(), places=12)
        response = self.post.predict(row, kind="response")
        self.assertEqual(response["q5"][0], 0)
        p = (1 / (1 + numpy.exp(-eta))).mean()
        self.assertLess(abs(response["mean"][0] - p), 6 * math.sqrt(p * (1 - p) / len(draws)))  # false alarm: 2e-9
        self.assertTrue(response.equals(self.post.predict(row, kind="response", seed=1)))
        self.assertFalse(response.equals(self.post.predict(row, kind="response", seed=2)))
        grid = self.post.predict("grid")
        self.assertEqual(list(grid.columns), ["varies", "x", "s", "mean", "sd", "q5", "q50", "q95"])
        self.assertEqual((list(grid["varies"]), grid["x"][0], grid["x"][20]), (["x"] * 21 + ["s"] * 2, -3, 3))
        self.assertAlmostEqual(grid["mean"][22], (1 / (1 + numpy.exp(-draws @ numpy.array([1, 0, 1])))).mean(), places=12)
        for newdata, more in (("rows.csv", {}), (row, {"kind": "median"}), (row, {"seed": -1})):
            with self.assertRaises(tacit.ArgumentError):
                self.post.predict(newdata, **more)

    @unittest.skipIf(pandas is None, "no pandas")
    def test_predictions_of_classes_persons_and_a_known_sd(self):
        exposed = {"method": "hmc", "exposed": True, "epsilon": None, "delta": None, "draws": 100, "warmup": 100}
        classes = fit(records(), "s ~ x", family="categorical", **exposed)
        table, draws = classes.predict({"x": [0.0, 1.0]}), classes.draws().reshape(-1, 2)
        self.assertEqual((list(table["row"]), list(table["class"])), ([0, 0, 1, 1], ["a", "b"] * 2))
        self.assertAlmostEqual(table["mean"][3], (1 / (1 + numpy.exp(-draws.sum(axis=1)))).mean(), places=12)
        self.assertEqual(classes.epred({"x": [0.0, 1.0]}).shape, (400, 2, 2))
        with_sd = fit(records(), "x ~ s", family="gaussian", sd=0.5, out=self.folder / "sd", **exposed)
        spread = with_sd.predict({"s": ["a"]}, kind="response")
        self.assertTrue(0.35 < spread["sd"][0] < 0.65)
        self.assertTrue(spread.equals(tacit.read(self.folder / "sd").predict({"s": ["a"]}, kind="response")))
        with_sd._known_sd = 0.0  # as if it were lost
        with self.assertRaisesRegex(tacit.DataError, "residual sd"):
            with_sd.predict({"s": ["a"]}, kind="response")
        schema = {"unit": "id", "max_rows": 2, "columns": {"id": {"type": "id"}, **SCHEMA["columns"]}}
        persons = fit({**records(), "id": [i // 2 for i in range(N)]}, schema=schema, **exposed)
        self.assertEqual(len(persons.predict({"x": [1.0], "s": ["a"]})), 1)
        with self.assertRaises(tacit.DataError):
            persons.predict({"x": [9.0], "s": ["a"]})

    @unittest.skipIf(pandas is None, "no pandas")
    def test_contrasts(self):
        draws = self.post.draws()
        table = self.post.contrast("x - 2 * sb", "inv_logit(Intercept)")
        self.assertEqual(list(table.index), ["x - 2 * sb", "inv_logit(Intercept)"])
        self.assertAlmostEqual(table["mean"].iloc[0], (draws[:, :, 1] - 2 * draws[:, :, 2]).mean(), places=12)
        ratio = self.post.contrast("sb", exponentiate=True)
        self.assertEqual(ratio.index[0], "exp(sb)")
        self.assertAlmostEqual(ratio["mean"].iloc[0], numpy.exp(draws[:, :, 2]).mean(), places=12)
        self.assertEqual(ratio["p_above"].iloc[0], (draws[:, :, 2] > 0).mean())
        out = self.folder / "fit"
        written = fit(records(), out=out)
        self.assertTrue(written.contrast("x / sb").equals(tacit.read(out).contrast("x / sb")))
        with self.assertRaisesRegex(tacit.SchemaError, r"\n  x - q\n      \^"):
            self.post.contrast("x - q")
        with self.assertRaises(tacit.ArgumentError):
            self.post.contrast()

    @unittest.skipIf(pandas is None, "no pandas")
    def test_average_effects(self):
        draws, population = self.post.draws().reshape(-1, 3), {"x": [-1.0, 0.5, 2.0], "s": ["a", "b", "a"]}
        expected = {}
        for level in (0, 1):
            eta = draws @ numpy.array([[1, x, level] for x in population["x"]]).T
            expected[level] = (1 / (1 + numpy.exp(-eta))).mean(axis=1)
        p = self.post.epred(population)
        slope = (p * (1 - p)).mean(axis=1) * draws[:, 1]
        table = self.post.effects("s", "x", population=pandas.DataFrame(population))
        self.assertEqual(list(table.index), ["s: b - a", "x: slope"])
        self.assertAlmostEqual(table["mean"].iloc[0], (expected[1] - expected[0]).mean(), places=12)
        self.assertAlmostEqual(table["mean"].iloc[1], slope.mean(), places=6)
        self.assertEqual(table["p_above"].iloc[0], (draws[:, 2] > 0).mean())
        for columns, rows in ((("z",), population), ((), population), (("x",), "grid"), (("x",), {"x": [1.0]})):
            with self.assertRaises(tacit.TacitError):
                self.post.effects(*columns, population=rows)

    @unittest.skipIf(pandas is None, "no pandas")
    def test_nothing_is_computed_where_a_check_forbids_intervals(self):
        out, rows = self.folder / "fit", {"s": ["a", "b"]}
        good = fit(records(), "x ~ s", family="gaussian", out=out)
        told = json.loads((out / "diagnostics.json").read_text())
        for check in told["checks"]:
            check["statistic"] = 2 if check["id"] == "scale-failed" else check["statistic"]
        (out / "diagnostics.json").write_text(json.dumps(told))
        forbidden = tacit.read(out)
        self.assertTrue(forbidden.summary()["q5"].isna().all())
        for post in (good, forbidden, pickle.loads(pickle.dumps(forbidden))):
            for use in (lambda: post.contrast("sb"), lambda: post.predict(rows), lambda: post.epred(rows), lambda: post.effects("s", population=rows, population_is_public=True)):
                with contextlib.nullcontext() if post is good else self.assertRaisesRegex(tacit.DataError, "forbids intervals"):
                    use()

    @unittest.skipIf(pandas is None, "no pandas")
    def test_effects_ask_whose_rows_they_average(self):
        rows = {"x": [-1.0, 0.5], "s": ["a", "b"]}
        with self.assertWarnsRegex(tacit.PrivacyWarning, "NOT PRIVATE"):
            self.post.effects("x", population=rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.post.effects("x", population=rows, population_is_public=True)

    @unittest.skipIf(pandas is None, "no pandas")
    def test_intervals_of_another_probability(self):
        flat = self.post.draws().reshape(-1, 3)
        table = self.post.summary(prob=0.5)
        self.assertEqual(list(table.columns[2:5]), ["q25", "q50", "q75"])
        for j, label in enumerate(self.post.labels):
            self.assertAlmostEqual(table.loc[label, "q25"], numpy.quantile(flat[:, j], 0.25), places=12)
        self.assertEqual(list(self.post.summary().columns[2:5]), ["q5", "q50", "q95"])
        contrast = self.post.contrast("x", prob=0.8)
        self.assertAlmostEqual(contrast.loc["x", "q10"], numpy.quantile(flat[:, 1], 0.1), places=12)
        usual, other = self.post.predict("grid"), self.post.predict("grid", prob=0.8)
        self.assertAlmostEqual(usual["mean"].iloc[3], other["mean"].iloc[3], places=12)
        self.assertAlmostEqual(usual["sd"].iloc[3], other["sd"].iloc[3], places=12)
        self.assertTrue((other["q10"] > usual["q5"]).all() and (other["q90"] < usual["q95"]).all())
        self.assertIn("rhat", repr(self.post.summary()).splitlines()[0])
        self.assertEqual(list(pickle.loads(pickle.dumps(table)).columns), list(table.columns))
        for wrong in (0, 1, "a", float("nan")):
            with self.assertRaises(tacit.ArgumentError):
                self.post.summary(prob=wrong)

    def test_arviz(self):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import arviz
        except ImportError:
            self.skipTest("no arviz")
        data = self.post.to_arviz()
        posterior = data.posterior if hasattr(arviz, "InferenceData") else data["posterior"]
        self.assertEqual(set(posterior.data_vars), set(self.post.labels))
        self.assertEqual(posterior["x"].shape, (4, 1000))
        self.assertIn("private: epsilon 2", posterior.attrs["privacy"])
        table = arviz.summary(data, round_to="none")
        self.assert_printed(table, {"mean": "mean", "sd": "sd", "ess_bulk": "ess_bulk", "ess_tail": "ess_tail", "rhat": "r_hat"})

    def test_out_is_read_not_bought_again(self):
        out = self.folder / "fit"
        first = fit(records(), out=out)
        self.assertEqual(first.path, os.fspath(out))
        with self.assertWarnsRegex(tacit.PrivacyWarning, "nothing is spent"):
            second = tacit.fit(FORMULA, records(), schema=SCHEMA, family="bernoulli", epsilon=2.0, delta=1e-6, out=out)
        self.assertEqual(first._draws, second._draws)
        self.assertEqual(first.privacy, second.privacy)
        self.assertEqual(tacit.read(out)._summaries, first._summaries)
        self.assertEqual(json.loads((out / "privacy.json").read_text()), first.privacy)
        self.assertEqual((out / "privacy.txt").read_text(), first.statement)
        for more in ({"epsilon": 1}, {"formula": "y ~ x"}, {"prior": "normal(0, 1)"}):
            with self.assertRaises(tacit.FileError) as caught:
                fit(records(), out=out, **more)
            self.assertEqual(caught.exception.status, "exists")

    def test_second_fit_without_ledger_warns_with_the_sum(self):
        schema = {"dataset": "twice", **SCHEMA}
        fit(records(), schema=schema)
        with self.assertWarnsRegex(tacit.PrivacyWarning, "2 fits.* no ledger of them all: together epsilon 4 at delta 2e-06"):
            tacit.fit(FORMULA, records(), schema=schema, family="bernoulli", epsilon=2, delta=1e-6, progress=False)


PROGRAM = """data { real<lower=-3, upper=3> x; int<lower=0, upper=1> y; }
parameters { real alpha; vector[1] beta; }
model { alpha ~ normal(0, 2); beta ~ normal(0, 2); y ~ bernoulli_logit(alpha + beta[1] * x); }
"""


class Programs(Folder):
    given = {"schema": SCHEMA, "method": "hmc", "exposed": True, "draws": 300, "warmup": 300, "progress": False}

    def setUp(self):
        super().setUp()
        self.path = self.folder / "own.stan"
        self.path.write_text(PROGRAM)

    def test_its_parameters_have_its_names(self):
        out = self.folder / "fit"
        post = tacit.fit(program=self.path, data=records(), out=out, **self.given)
        self.assertEqual((post.labels, post.names, post.family), (["alpha", "beta[1]"], ["alpha", "beta.1"], "program"))
        by_formula = fit(records(), "y ~ x", prior="normal(0, 2)", epsilon=None, delta=None,
                         **{key: value for key, value in self.given.items() if key != "progress"})
        for mine, others in zip(post._summaries, by_formula._summaries, strict=True):
            self.assertAlmostEqual(mine[0], others[0], delta=6 * math.hypot(mine[2], others[2]))  # false alarm: 4e-9
        again = tacit.read(out)
        self.assertEqual((again._draws, again.labels, again.family, again.formula), (post._draws, post.labels, "program", post.formula))
        with self.assertRaises(tacit.FileError) as caught:  # the file may be another by now
            tacit.fit(program=self.path, data=records(), out=out, **self.given)
        self.assertEqual(caught.exception.status, "exists")
        if pandas is not None:
            draws = post.draws().reshape(-1, 2)
            expected = 1 / (1 + numpy.exp(-(draws @ numpy.array([[1, 0.5], [1, -2]]).T)))
            for of in (post, again):
                self.assertTrue(numpy.allclose(of.epred({"x": [0.5, -2.0]}), expected, rtol=1e-13))
            self.assertTrue(set(post.predict({"x": [0.5]}, kind="response")["q50"]) <= {0, 1})
            self.assertEqual(len(post.predict("grid")), 21)
            again._program = again._program.replace("normal(0, 2)", "normal(0, 3)", 1)
            with self.assertRaisesRegex(tacit.DataError, "changed after the fit"):
                again.epred({"x": [0.0]})
            self.assertAlmostEqual(post.contrast("beta[1] - alpha")["mean"].iloc[0], (post.draws()[:, :, 1] - post.draws()[:, :, 0]).mean(), places=12)

    def test_a_formula_is_a_program(self):
        """What is written of a formula is fitted as it is, and gives the formula's posterior."""
        self.path.write_text(tacit.model("y ~ x", family="bernoulli", schema=SCHEMA))
        by_program = tacit.fit(program=self.path, data=records(), **self.given)
        by_formula = fit(records(), "y ~ x", prior="normal(0, 2.5)", epsilon=None, delta=None,
                         **{key: value for key, value in self.given.items() if key != "progress"})
        mine = dict(zip(by_program.labels, by_program._summaries, strict=True))["b_x"]
        self.assertAlmostEqual(mine[0], by_formula._summaries[1][0], delta=6 * math.hypot(mine[2], by_formula._summaries[1][2]))  # false alarm: 4e-9
        for given in ({"family": "q"}, {"formula": "y ~"}, {"schema": {"columns": {}}}):
            with self.subTest(given), self.assertRaises(tacit.TacitError):
                tacit.model(**{"formula": "y ~ x", "family": "bernoulli", "schema": SCHEMA, **given})

    @unittest.skipIf(pandas is None, "no pandas")
    def test_predictions_of_a_family_that_is_a_program(self):
        post = fit(records(), "y ~ x + (1 | s)", method="hmc", exposed=True, epsilon=None, delta=None, draws=100, warmup=100)
        draws = post.to_pandas()
        eta = draws["b_Intercept"] + draws["b_x"] + draws["r_s_1[2]"]
        self.assertAlmostEqual(post.predict({"x": [1.0], "s": ["b"]})["mean"][0], (1 / (1 + numpy.exp(-eta))).mean(), places=12)
        with self.assertRaises(tacit.DataError):
            post.predict({"x": [1.0], "s": ["no level"]})

    def test_private_and_planned(self):
        plan = tacit.plan(program=self.path, schema=SCHEMA, n=N, epsilon=50, delta=1e-6, method="dp-hmc")
        self.assertEqual(plan["method"], "dp-hmc")
        every = tacit.plan(program=self.path, schema=SCHEMA, n=N, epsilon=50, delta=1e-6)
        self.assertIn("Recommended", every["advice"])
        post = tacit.fit(program=self.path, data=records(), schema=SCHEMA, epsilon=50, delta=1e-6, method="dp-hmc", chains=1, draws=20, warmup=20,
                         accept_poor=True, progress=False)
        self.assertTrue(post.is_private)
        self.assertLessEqual(post.privacy["epsilon"], 50)

    def test_refusals(self):
        self.path.write_text(PROGRAM.replace("alpha +", "alhpa +"))
        with self.assertRaisesRegex(tacit.SchemaError, r"own.stan: line 3: .*\n.*\n +\^"):
            tacit.fit(program=self.path, data=records(), **self.given)
        for given in ({}, {"program": "model.txt"}):
            with self.assertRaises(tacit.ArgumentError):
                tacit.fit(data=records(), **given, **self.given)
            with self.assertRaises(tacit.ArgumentError):
                tacit.plan(schema=SCHEMA, n=N, epsilon=1, delta=1e-6, **given)


class Plans(Folder):
    def test_plan_reads_nothing(self):
        plan = tacit.plan(FORMULA, schema=SCHEMA, n=N, family="bernoulli", epsilon=2, delta=1e-6)
        self.assertEqual((plan["method"], plan["verdict"]), ("noise-aware", "good"))
        self.assertIn("noise-aware", repr(plan))
        self.assertTrue(any(choice["method"] == "dp-hmc" for choice in plan["methods"]))
        with self.assertRaises(tacit.ArgumentError):
            tacit.plan(FORMULA, schema=SCHEMA, n="data.csv", family="bernoulli", epsilon=2, delta=1e-6)

    def test_which_epsilon(self):
        """What it says of an epsilon is what the plan says of that epsilon."""
        given = {"schema": SCHEMA, "n": N, "family": "bernoulli", "delta": 1e-6}
        wanted = tacit.epsilon_for(1.2, FORMULA, out=self.folder / "plan.html", **given)
        self.assertEqual(list(wanted), ["substitute", "add-remove"])
        plan = tacit.plan(FORMULA, epsilon=wanted["substitute"]["epsilon"], method="noise-aware", **given)
        self.assertAlmostEqual(plan["width"], 1.2, delta=0.01)
        self.assertGreater(wanted["substitute"]["epsilon_unkind"], wanted["substitute"]["epsilon"])
        self.assertIn("</html>", (self.folder / "plan.html").read_text())
        self.assertIn("1.2 times as wide", repr(wanted))
        self.assertEqual(repr(pickle.loads(pickle.dumps(wanted))), repr(wanted))
        for width, more in ((1, {}), ("a", {}), (1.2, {"n": "data.csv"}), (1.2, {"epsilon": 1}), (1.2, {"out": self.folder / "plan.html"}), (1.2, {"family": "categorical"})):
            with self.subTest(more), self.assertRaises(tacit.TacitError):
                tacit.epsilon_for(width, FORMULA, **{**given, **more})

    def test_poor_plans_are_refused(self):
        ledger = tacit.Ledger.create(self.folder / "l.ledger", "test", 10, 1e-5)
        more = {"method": "dp-penalty", "epsilon": 4, "ledger": ledger.path}
        with self.assertRaises(tacit.PoorPlan) as caught:
            fit(records(), **more)
        self.assertTrue(caught.exception.plan.is_poor)
        self.assertEqual(ledger.spent, 0)
        self.assertIn(fit(records(), accept_poor=True, **more).end, ("complete", "budget"))
        self.assertGreater(ledger.spent, 0)
        pickle.loads(pickle.dumps(caught.exception))

    def test_exposed(self):
        post = fit(records(), method="hmc", exposed=True, epsilon=None, delta=None, draws=100, warmup=100)
        self.assertFalse(post.is_private)
        self.assertIn("NOT PRIVATE", repr(post))

    def test_settings_are_those_of_the_program(self):
        names = {setting["name"] for setting in tacit.settings()}
        self.assertTrue({"clip-grad", "prior", "ledger", "epsilon", "seed"} <= names)
        self.assertFalse({"yes", "quiet", "dry-run"} & names)
        for name, here in (("yes", "accept_poor=True"), ("dry_run", r"tacit.plan\(\)"), ("print_model", r"tacit.model\(\)"), ("curator_notes", "private")):
            with self.assertRaisesRegex(tacit.ArgumentError, here):
                fit(records(), **{name: True})


class Ledgers(Folder):
    def test_spends(self):
        ledger = tacit.Ledger.create(self.folder / "l.ledger", "clinic-2026", epsilon=3, delta=1e-5)
        fit(records(), ledger=ledger.path, epsilon=1)
        self.assertAlmostEqual(ledger.spent, 1, delta=0.5)
        self.assertTrue(ledger.spends[0]["settled"])
        self.assertIn("clinic-2026", repr(ledger))
        self.assertEqual(ledger.verify(), ledger.state()["head"])
        with self.assertRaises(tacit.BudgetError):
            fit(records(), ledger=ledger.path, epsilon=6)
        with self.assertRaises(tacit.FileError):
            tacit.Ledger(self.folder / "none.ledger")


class Releases(Folder):
    schema = {"dataset": "releases", **SCHEMA}
    given = {"statistic": "clamped-mean", "column": "x", "mechanism": "laplace", "schema": schema, "epsilon": 5}

    def setUp(self):
        super().setUp()
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", tacit.PrivacyWarning)

    def test_a_mean(self):
        out = self.folder / "mean.yaml"
        columns = records()
        schema = {"dataset": 'the "released" \\x\t', **SCHEMA}
        released = tacit.release(data=columns, out=out, **{**self.given, "schema": schema})
        self.assertEqual((released.path, out.read_text()), (os.fspath(out), released.yaml))
        self.assertEqual(released.privacy, {"private": True, "epsilon": 5, "delta": 0, "relation": "substitute", "unit": "row",
                                            "dataset": schema["dataset"]})
        self.assertLess(abs(released.values[0] - sum(columns["x"])), 21 * released.scales[0])  # false alarm: 1e-9
        self.assertIn("cost: epsilon 5 at delta 0", repr(released))
        self.assertEqual(pickle.loads(pickle.dumps(released)).yaml, released.yaml)
        with self.assertRaises(tacit.FileError) as caught:
            tacit.release(data=columns, out=out, **self.given)
        self.assertEqual(caught.exception.status, "exists")

    @unittest.skipIf(pyarrow is None, "no pyarrow")
    def test_sources_give_the_same(self):
        columns = records()
        path = self.folder / "d.csv"
        path.write_text("\n".join(["x,s,y", *(f"{x},{s},{y}" for x, s, y in zip(columns["x"], columns["s"], columns["y"], strict=True))]))
        more = {**self.given, "seed_not_private": 7}
        released = [tacit.release(data=data, **more) for data in (columns, path, pyarrow.table(columns), pandas.DataFrame(columns))]
        self.assertEqual({text.yaml for text in released}, {released[0].yaml})
        self.assertFalse(released[0].is_private)
        self.assertIn("NOT PRIVATE", repr(released[0]))

    def test_tables_moments_and_a_ledger(self):
        ledger = tacit.Ledger.create(self.folder / "l.ledger", "test", 4, 1e-5)
        counts = tacit.release(data=records(), statistic="counts", column=["s", "y"], mechanism="discrete-gaussian", schema=SCHEMA, epsilon=3,
                               delta=1e-6, ledger=ledger.path)
        self.assertEqual(len(counts.values), 4)
        self.assertTrue(all(value == int(value) for value in counts.values))
        self.assertTrue(ledger.spends[0]["settled"])
        with self.assertRaises(tacit.BudgetError):
            tacit.release("y ~ x", records(), statistic="moments", schema=SCHEMA, epsilon=3, delta=1e-6, ledger=ledger.path)
        self.assertEqual(len(ledger.spends), 1)
        self.assertIn("regression-moments", tacit.release("y ~ x", records(), statistic="moments", schema=SCHEMA, epsilon=3, delta=1e-6).yaml)

    def test_refusals(self):
        for given, kind in (({"statistic": "median"}, tacit.ArgumentError), ({"column": "z"}, tacit.TacitError), ({"delta": 1e-6}, tacit.ArgumentError),
                            ({"seed": 1}, tacit.ArgumentError), ({"data": None}, tacit.ArgumentError), ({"data": "none.csv"}, tacit.FileError),
                            ({"epsilon": -1}, tacit.ArgumentError), ({"stp": 1}, tacit.TacitError)):
            with self.subTest(given), self.assertRaises(kind):
                tacit.release(**{"data": records(), **self.given, **given})

    def test_a_budget_that_says_little_is_said(self):
        with self.assertWarnsRegex(tacit.PrivacyWarning, "^epsilon 60 is a factor of e.60"):
            warnings.simplefilter("always", tacit.PrivacyWarning)
            tacit.release(data=records(), **{**self.given, "epsilon": 60, "schema": {"dataset": "doubtful", **SCHEMA}})

    def test_without_a_ledger_the_sum_is_said(self):
        schema = {"dataset": "releases twice", **SCHEMA}
        with self.assertWarnsRegex(tacit.PrivacyWarning, "2 fits, releases or checks .* together epsilon 10 at delta 0"):
            warnings.simplefilter("always", tacit.PrivacyWarning)
            for _ in range(2):
                tacit.release(data=records(), **{**self.given, "schema": schema})


class Inference(Folder):
    model = {"records": "gaussian", "mean": "normal(0, 1)", "sd": 0.5}
    statistic = {"statistic": "mean", "value": 0.3, "lower": -6, "upper": 6, "n": 200, "mechanism": "gaussian", "scale": 0.02}
    given = {"draws": 500, "warmup": 200, "chains": 2, "seed": 3, "progress": False}

    def test_the_posterior_however_the_two_are_given(self):
        model, statistic = self.folder / "m.yaml", self.folder / "s.yaml"
        model.write_text(json.dumps(self.model))
        statistic.write_text(json.dumps(self.statistic))
        posts = [tacit.infer(first, second, method="marginal", **self.given)
                 for first, second in ((self.model, self.statistic), (model, os.fspath(statistic)), (model.read_text(), statistic.read_text()))]
        self.assertEqual({post._draws for post in posts}, {posts[0]._draws})
        post, variance = posts[0], 0.25 / 200 + 0.02**2
        mean, sd, mcse = post._summaries[0][:3]
        self.assertLess(abs(mean - 0.3 / variance / (1 / variance + 1)), 6 * mcse)
        self.assertLess(abs(sd * math.sqrt(1 / variance + 1) - 1), 0.2)
        self.assertTrue(post.is_private and post.privacy["post_processing"])
        self.assertEqual((post.labels, post.family, post.end), (["mean"], "gaussian", "complete"))
        self.assertIn("no further privacy cost", repr(post))

    def test_a_release_is_read_as_it_is(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tacit.PrivacyWarning)
            released = tacit.release("k ~ x", {**records(), "k": [x / 2 + i % 7 / 7 - 0.5 for i, x in enumerate(records()["x"])]}, statistic="moments", epsilon=20, delta=1e-6,
                                     schema={"columns": {"x": SCHEMA["columns"]["x"], "k": {"type": "numeric", "lower": -4, "upper": 4}}})
        model = {"records": "regression", "coefficients": "normal(0, 1)", "variance": "inverse_gamma(2, 0.1)"}
        out = self.folder / "post"
        post = tacit.infer(model, released, out=out, **self.given)
        self.assertEqual(post.labels, ["Intercept", "x", "sd"])
        self.assertLess(abs(post._summaries[1][0] - 0.5), 0.1)
        again = tacit.read(out)
        self.assertEqual((again._draws, again.family, again.privacy), (post._draws, "regression", post.privacy))

    def test_a_seeded_release_is_said_to_be_none(self):
        with self.assertWarnsRegex(tacit.PrivacyWarning, "the statistic is not private"):
            post = tacit.infer(self.model, {**self.statistic, "privacy": {"is_private": "false"}}, **self.given)
        self.assertFalse(post.is_private)

    def test_stopped(self):
        with self.assertWarnsRegex(tacit.PrivacyWarning, "interrupted: these are the draws so far$"):
            post = tacit.infer(self.model, self.statistic, method="gibbs", draws=2000000, warmup=10, chains=1, progress=Interrupter(3))
        self.assertEqual(post.end, "interrupted")
        with self.assertRaises(KeyboardInterrupt):
            tacit.infer(self.model, self.statistic, method="gibbs", warmup=200000, chains=2, threads=2, progress=Interrupter(2))

    def test_refusals(self):
        for model, statistic, more, kind, field in (
                ({"records": "gauss"}, self.statistic, {}, tacit.SchemaError, "model"), (self.model, {"statistic": "mean", "n": 5}, {}, tacit.SchemaError, "lower"),
                ("none.yaml", self.statistic, {}, tacit.FileError, "none.yaml"), (self.model, self.statistic, {"n": 300}, tacit.SchemaError, "statistic"),
                (self.model, self.statistic, {"leapfrog": 3}, tacit.ArgumentError, "leapfrog"),
                (self.model, self.statistic, {"metod": 3}, tacit.TacitError, "metod"),
                (self.model, self.statistic, {"out": self.folder}, tacit.FileError, "out")):
            with self.subTest(field), self.assertRaises(kind) as caught:
                tacit.infer(model, statistic, **{**self.given, **more})
            self.assertEqual(caught.exception.field, field)
        self.assertIn("seed", [setting["name"] for setting in tacit.settings("infer")])
        self.assertIn("mechanism", [setting["name"] for setting in tacit.settings("release")])
        with self.assertRaises(tacit.ArgumentError):
            tacit.settings("fits")


class Interrupter:
    """Sends SIGINT at the k-th call, as Ctrl-C does; a progress function."""

    def __init__(self, k):
        self.left = k

    def __call__(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


class Interruption(Folder):
    def setUp(self):
        super().setUp()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are started deaf to it
        self.ledger = tacit.Ledger.create(self.folder / "l.ledger", "test", 1000, 1e-5)

    @unittest.skipIf(pyarrow is None, "no pyarrow")
    def test_while_reading_spends_nothing(self):
        table = pyarrow.table(records())

        interrupt = Interrupter(5)

        def endless():
            while True:
                yield from table.to_batches()
                interrupt()

        with self.assertRaises(KeyboardInterrupt):
            fit(pyarrow.RecordBatchReader.from_batches(table.schema, endless()), ledger=self.ledger.path)
        self.assertEqual((self.ledger.spent, self.ledger.spends), (0, []))

    def test_while_reading_a_path_stops_soon_and_spends_nothing(self):
        pipe, columns = self.folder / "d.csv", records(1000)
        os.mkfifo(pipe)
        rows = "".join(f"{x},{s},{y}\n" for x, s, y in zip(columns["x"], columns["s"], columns["y"], strict=True))
        sent = []

        def feed():
            with contextlib.suppress(BrokenPipeError), open(pipe, "w", encoding="ascii") as file:
                file.write("x,s,y\n" + rows)
                while True:
                    file.write(rows)
                    if not sent and time.monotonic() > begun + 0.2:
                        sent.append(time.monotonic())
                        os.kill(os.getpid(), signal.SIGINT)

        begun = time.monotonic()
        feeder = threading.Thread(target=feed)
        feeder.start()
        with self.assertRaises(KeyboardInterrupt):
            fit(pipe, ledger=self.ledger.path)
        self.assertLess(time.monotonic() - sent[0], 5)  # 0.1 s on an idle machine
        feeder.join()
        self.assertEqual((self.ledger.spent, self.ledger.spends), (0, []))

    long_run = {"method": "dp-hmc", "epsilon": 500, "chains": 1, "draws": 2000000, "warmup": 100, "accept_poor": True}

    def test_while_drawing_keeps_draws_and_settles(self):
        with self.assertWarnsRegex(tacit.PrivacyWarning, "interrupted"):
            post = tacit.fit(FORMULA, records(), schema=SCHEMA, family="bernoulli", delta=1e-6, ledger=self.ledger.path,
                             progress=Interrupter(10), **self.long_run)
        self.assertEqual(post.end, "interrupted")
        self.assertGreater(post.n_draws, 0)
        spend, = self.ledger.spends
        self.assertTrue(spend["settled"])
        self.assertLess(self.ledger.spent, 499)

    def test_under_add_remove_returns_nothing(self):
        schema = {"relation": "add-remove", **SCHEMA}
        ledger = tacit.Ledger.create(self.folder / "a.ledger", "test", 1000, 1e-5, relation="add-remove")
        with self.assertRaises(KeyboardInterrupt):
            fit(records(), schema=schema, ledger=ledger.path, n_public=N, progress=Interrupter(10), **self.long_run)
        spend, = ledger.spends
        self.assertFalse(spend["settled"])

    def test_killed_while_drawing_keeps_the_whole_reservation(self):
        """What a process that is gone had charged nobody knows: all that the run could release stays spent."""
        code = ("import os, signal, sys\nsys.path.insert(0, sys.argv[1])\nimport test_fit\ndef die(iteration, n, epsilon):\n"
                "    os.write(1, str(epsilon).encode())\n    os.kill(os.getpid(), signal.SIGKILL)\n"
                "test_fit.fit(test_fit.records(), ledger=sys.argv[2], progress=die, **test_fit.Interruption.long_run)")
        done = subprocess.run([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), str(self.ledger.path)], check=False, capture_output=True)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        spend, = self.ledger.spends
        self.assertFalse(spend["settled"])
        self.assertLess(float(done.stdout), 100)
        self.assertGreater(self.ledger.spent, 450)

    def test_progress_may_stop(self):
        seen = []

        def watch(iteration, n_iterations, epsilon):
            seen.append((iteration, n_iterations, epsilon))
            return len(seen) < 5

        post = fit(records(), progress=watch, **self.long_run)
        self.assertEqual(post.end, "interrupted")
        self.assertEqual(len(seen), 5)
        self.assertTrue(0 < seen[-1][0] <= seen[-1][1])


class Kept(Folder):
    """What is drawn from kept releases, and how records lie beside them."""

    def test_a_check_and_synthetic_rows(self):
        out = self.folder / "fit"
        fit(records(), out=out, draws=50, warmup=50)
        ledger = tacit.Ledger.create(self.folder / "l.ledger", "d", 10, 1e-5)
        given = {"epsilon": 4, "delta": 1e-6, "by": "x"}
        found = tacit.check(out, records(), ledger=ledger.path, out=self.folder / "c.json", **given)
        self.assertEqual(found, json.loads((self.folder / "c.json").read_text()))
        self.assertEqual(([len(found["calibration"]), len(found["by_term"])], found["epsilon"], len(ledger.spends)), ([10, 10], 4, 1))
        self.assertLess(found["misfit_z"], 6)  # normal: above it once in 10^9
        flipped = records()
        flipped["y"] = [1 - y for y in flipped["y"]]
        self.assertGreater(tacit.check(out, flipped, seed_not_private=1, **given)["misfit_z"], 6)
        with self.assertRaises(tacit.FileError):
            tacit.check(out, records(), ledger=ledger.path, out=self.folder / "c.json", **given)
        with self.assertRaises(tacit.ArgumentError):
            tacit.check(out, records(), method="dp-hmc", **given)
        self.assertEqual(len(ledger.spends), 1)
        rows = tacit.synthesize(out, rows=30, sets=2, out=self.folder / "rows.csv")
        self.assertEqual((self.folder / "rows.csv").read_text(), rows.csv)
        self.assertEqual(len(rows.csv.splitlines()), 61)
        self.assertEqual(rows.csv, tacit.synthesize(out, rows=30, sets=2).csv)

    def test_a_refit_is_the_fit_and_spends_nothing(self):
        post = fit(records(), out=self.folder / "fit", draws=50, warmup=50)
        again = tacit.refit(self.folder / "fit", progress=False)
        self.assertEqual(post._draws, again._draws)
        self.assertEqual(post.privacy, again.privacy)
        narrow = tacit.refit(self.folder / "fit", prior="normal(0, 0.01)", out=self.folder / "narrow", progress=False)
        self.assertNotEqual(post._draws, narrow._draws)
        self.assertEqual((self.folder / "fit/privacy.json").read_bytes(), (self.folder / "narrow/privacy.json").read_bytes())
        with self.assertRaises(tacit.ArgumentError):
            tacit.refit(self.folder / "fit", epsilon=9, progress=False)
        tacit.check(self.folder / "fit", records(), epsilon=1, delta=1e-6, out=self.folder / "check.json", seed_not_private=1)
        tacit.refit(self.folder / "fit", check=self.folder / "check.json", out=self.folder / "shown", progress=False)
        self.assertIn("alibration", (self.folder / "shown/report.html").read_text())
        self.assertNotIn("alibration", (self.folder / "fit/report.html").read_text())
        fit(records(), out=self.folder / "other", draws=50, warmup=50)
        with self.assertRaisesRegex(tacit.DataError, "a check of another fit"):
            tacit.refit(self.folder / "other", check=self.folder / "check.json", progress=False)
        with self.assertRaises(tacit.FileError):
            tacit.refit(self.folder, progress=False)

    def test_a_refit_of_a_program_takes_another_prior_from_its_text(self):
        text = ("data { real<lower=0, upper=1> x; int<lower=0, upper=1> y; }\nparameters { real a; real b; }\n"
                "model { a ~ normal(0, 2); b ~ normal(0, 2); y ~ bernoulli_logit(a + b * x); }\n")
        (self.folder / "p.stan").write_text(text)
        (self.folder / "narrow.stan").write_text(text.replace("b ~ normal(0, 2)", "b ~ normal(0, 0.01)"))
        (self.folder / "other.stan").write_text(text.replace("a + b * x", "a - b * x"))
        data = {"x": [(i % 50) / 50 for i in range(3000)], "y": [int(i * 7919 % 50 < i % 50) for i in range(3000)]}
        schema = {"columns": {"x": {"type": "numeric", "lower": 0, "upper": 1}, "y": {"type": "binary"}}}
        post = tacit.fit(program=self.folder / "p.stan", records="none", data=data, schema=schema, epsilon=4, delta=1e-6, out=self.folder / "fit", draws=50, warmup=50, progress=False)
        again = tacit.refit(self.folder / "fit", progress=False)
        self.assertEqual(post._draws, again._draws)
        narrow = tacit.refit(self.folder / "fit", program=self.folder / "narrow.stan", progress=False)
        self.assertLess(abs(narrow._summaries[narrow.labels.index("b")][0]), 0.05)
        self.assertIn("normal(0, 0.01)", narrow._program)
        with self.assertRaisesRegex(tacit.DataError, "another likelihood"):
            tacit.refit(self.folder / "fit", program=self.folder / "other.stan", progress=False)

    def test_checks_count_beside_their_fit(self):
        """Without a ledger: of a fit of this process by its schema, of any other by what its directory says."""
        schema, given = {"dataset": "checked", **SCHEMA}, {"epsilon": 1, "delta": 1e-7}
        fit(records(), out=self.folder / "fit", draws=50, warmup=50, schema=schema)
        with self.assertWarnsRegex(tacit.PrivacyWarning, "2 fits.* together epsilon 3 at delta 1.1e-06"):
            tacit.check(self.folder / "fit", records(), **given)
        with self.assertWarnsRegex(tacit.PrivacyWarning, "3 fits.* together epsilon 5 at delta 2.1e-06"):
            tacit.fit(FORMULA, records(), schema=schema, family="bernoulli", epsilon=2, delta=1e-6, draws=50, warmup=50, progress=False)
        (self.folder / "fit").rename(self.folder / "moved")
        with self.assertWarnsRegex(tacit.PrivacyWarning, "2 fits.* together epsilon 3 at delta 1.1e-06"):
            tacit.check(self.folder / "moved", records(), **given)
        with self.assertWarnsRegex(tacit.PrivacyWarning, "3 fits.* together epsilon 4 at delta 1.2e-06"):
            tacit.check(self.folder / "moved", records(), **given)

    def test_pages_to_sign(self):
        out, ledger = self.folder / "fit", tacit.Ledger.create(self.folder / "l.ledger", "signed", 10, 1e-5)
        fit(records(), out=out, draws=50, warmup=50, ledger=ledger.path)
        self.assertIn("epsilon = 2, delta = 1e-06", tacit.statement(out))
        page = tacit.statement(out, out=self.folder / "page.html")
        self.assertEqual((self.folder / "page.html").read_text(), page)
        self.assertIn("</html>", page)
        self.assertIn('the data set "signed"', tacit.statement(ledger=ledger.path))
        self.assertEqual(json.loads(tacit.statement(ledger=ledger.path, out=self.folder / "entry.json"))["data_set"], "signed")
        for given in ({}, {"path": out, "ledger": ledger.path}, {"path": out, "out": self.folder / "page.pdf"}, {"path": out, "out": self.folder / "entry2.json"},
                      {"path": self.folder / "nowhere"}, {"path": out, "out": self.folder / "page.html"}):
            with self.subTest(given), self.assertRaises(tacit.TacitError):
                tacit.statement(**given)
        self.assertFalse((self.folder / "page.pdf").exists() or (self.folder / "entry2.json").exists())

    def test_sites_are_combined(self):
        for name in ("a", "b"):
            fit(records(), out=self.folder / name, draws=50, warmup=50)
        both = tacit.combine([self.folder / "a", self.folder / "b"], progress=False)
        self.assertEqual((both.privacy["epsilon"], both.privacy["post_processing"]), (4, True))
        self.assertEqual(tacit.combine([self.folder / "a", self.folder / "b"], disjoint=True, progress=False).privacy["epsilon"], 2)
        mean = tacit.combine([self.folder / "a", self.folder / "b"], exchangeable=True, progress=False)
        self.assertEqual((mean.labels[:3], len(mean.labels), mean.labels[-1]), (both.labels, 12, both.labels[2] + " at b"))
        near = tacit.combine([self.folder / "a", self.folder / "b"], exchangeable=True, between_sd=0.01, progress=False)
        self.assertGreater(mean.summary()["sd"]["x"] if pandas is not None else 1, near.summary()["sd"]["x"] if pandas is not None else 0)
        for wrong in ({"between_sd": 0.5}, {"exchangeable": True, "between_sd": 0}, {"exchangeable": 1}):
            with self.assertRaises(tacit.ArgumentError):
                tacit.combine([self.folder / "a", self.folder / "b"], progress=False, **wrong)
        with self.assertRaises(tacit.ArgumentError):
            tacit.combine([self.folder / "a"], progress=False)


if __name__ == "__main__":
    unittest.main()
