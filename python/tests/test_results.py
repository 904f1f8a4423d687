"""What is read of a fit: tables, predictions, contrasts, effects; fits of programs."""
import contextlib
import json
import math
import os
import pickle
import unittest
import warnings
from decimal import Decimal

import tacit
from samples import FORMULA, N, SCHEMA, Folder, fit, numpy, pandas, records
from tacit._posterior import _arrays


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

    def test_habits_of_other_packages_are_answered(self):
        with self.assertRaisesRegex(AttributeError, r"has no 'params': summary\(\)"):
            self.post.params
        with self.assertRaisesRegex(AttributeError, "has no 'nothing'$"):
            self.post.nothing
        with self.assertRaisesRegex(tacit.ArgumentError, "not written: out="):
            tacit.statement(self.post)
        written = fit(records(), out=self.folder / "fit")
        self.assertEqual(tacit.statement(written), tacit.statement(self.folder / "fit"))
        self.assertEqual(tacit.refit(written)._draws, written._draws)
        for name, here in (("tune", "warmup="), ("priors", "prior=")):
            with self.assertRaisesRegex(tacit.ArgumentError, here):
                fit(records(), **{name: {"x": "normal(0, 1)"}})
        with self.assertRaisesRegex(tacit.ArgumentError, "family: its name"):
            fit(records(), family=len)

    def test_a_dict_of_draws(self):
        self.assertEqual((list(self.post), len(self.post), "x" in self.post, "z" in self.post), (["Intercept", "x", "sb"], 3, True, False))
        self.assertIsNone(self.post.get("z"))
        self.assertNotEqual(self.post, pickle.loads(pickle.dumps(self.post)))
        if numpy is not None:
            with self.assertRaises(KeyError):
                self.post["z"]
            self.assertTrue(numpy.array_equal(self.post["x"], self.post.draws()[:, :, 1]))
            self.assertEqual([values.shape for values in self.post.values()], [(4, 1000)] * 3)

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
        table = self.post.predict(pandas.DataFrame(rows, index=["u", "v"]))
        self.assertEqual(list(table.index), ["u", "v"])
        self.assertEqual(list(self.post.predict(pandas.DataFrame(rows, index=[7, 3]), prob=0.5).index), [7, 3])
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
        with self.assertRaisesRegex(tacit.ArgumentError, "no term that depends on a column"):
            fit(records(), "y ~ 1", **exposed).predict({"x": [1.0]})
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
        with self.assertRaisesRegex(tacit.ArgumentError, r"\n  x - q\n      \^"):
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
            check["statistic"] = 2 if check["id"] == "tails" else check["statistic"]
        (out / "diagnostics.json").write_text(json.dumps(told))
        forbidden = tacit.read(out)
        self.assertTrue(forbidden.summary()["q5"].isna().all())
        for post in (good, forbidden, pickle.loads(pickle.dumps(forbidden))):
            for use in (lambda: post.contrast("sb"), lambda: post.predict(rows), lambda: post.epred(rows),
                        lambda: post.effects("s", population=rows, population_is_public=True)):
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
        self.assertTrue(arviz.summary(self.post, round_to="none").equals(table))
        self.assertEqual(data["sample_stats"]["acceptance_rate"].shape, (4, 1000))
        rows = {"x": [0.5, -1.0, 2.0], "s": ["a", "b", "a"]}
        predicted = self.post.to_arviz(rows if pandas is None else pandas.DataFrame(rows, index=["u", "v", "w"]), seed=3)["posterior_predictive"]
        self.assertEqual(predicted["response"].shape, (4, 1000, 3))
        self.assertTrue(set(predicted["response"].values.ravel()) <= {0, 1})
        self.assertEqual(list(predicted["row"].values), [0, 1, 2] if pandas is None else ["u", "v", "w"])
        self.assertTrue(numpy.allclose(predicted["response"].values.mean(axis=(0, 1)), self.post.predict(rows, kind="response", seed=3)["mean"]))

    def test_columns_called_as_arviz_calls_its_own(self):
        """A column draw, or chain, would take the place of a dimension, and be gone from every table."""
        columns = records()
        schema = {"columns": {"draw": SCHEMA["columns"]["x"], "y": SCHEMA["columns"]["y"]}}
        post = fit({"draw": columns["x"], "y": columns["y"]}, "y ~ draw", schema=schema, method="hmc", exposed=True, epsilon=None, delta=None, draws=50,
                   warmup=50)
        self.assertEqual((list(post), post.labels), (["Intercept", "b_draw"], ["Intercept", "draw"]))
        if numpy is not None:
            self.assertTrue(numpy.array_equal(post["draw"], post["b_draw"]))
        if pandas is not None:
            with self.assertRaisesRegex(tacit.ArgumentError, "newdata: rows in a data frame or a dict of columns"):
                post.predict([0.25])

    def test_arrays_of_parameters_are_variables_of_arviz(self):
        found = _arrays(["a", "beta[1]", "beta[2]", "m[1,1]", "m[1,2]", "m[2,1]", "m[2,2]", "gap[1]", "gap[3]", "s[b]", "z[1]", "z"])
        self.assertEqual(found, [("a", (), [0]), ("beta", (2,), [1, 2]), ("m", (2, 2), [3, 4, 5, 6]), ("gap[1]", (), [7]), ("gap[3]", (), [8]),
                                 ("s[b]", (), [9]), ("z[1]", (), [10]), ("z", (), [11])])

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
            with contextlib.suppress(ImportError):
                self.assertEqual(list(post.to_arviz()["posterior"]["beta"].coords["beta_dim_0"].values), [1])
            again._program = again._program.replace("normal(0, 2)", "normal(0, 3)", 1)
            with self.assertRaisesRegex(tacit.DataError, "changed after the fit"):
                again.epred({"x": [0.0]})
            self.assertAlmostEqual(post.contrast("beta[1] - alpha")["mean"].iloc[0], (post.draws()[:, :, 1] - post.draws()[:, :, 0]).mean(),
                                   places=12)

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
        eta = draws["Intercept"] + draws["x"] + draws["r_s_1[2]"]
        self.assertAlmostEqual(post.predict({"x": [1.0], "s": ["b"]})["mean"][0], (1 / (1 + numpy.exp(-eta))).mean(), places=12)
        with self.assertRaises(tacit.DataError):
            post.predict({"x": [1.0], "s": ["no level"]})

    @unittest.skipIf(pandas is None, "no pandas")
    def test_what_is_missing_in_new_rows(self):
        """The schema's value; refused where records would be left out."""
        schema = {"columns": {**SCHEMA["columns"], "x": {"type": "numeric", "lower": -3, "upper": 3, "missing": "drop"}}}
        for formula in ("y ~ x + k", "y ~ x + k + (1 | s)"):
            post = fit(records(), formula, schema=schema, method="hmc", exposed=True, epsilon=None, delta=None, draws=50, warmup=50)
            rows = post.epred({"x": [0.5, 0.5], "k": [None, 4], "s": ["a", "a"]})
            self.assertTrue(numpy.array_equal(rows[:, 0], rows[:, 1]))
            for missing in (None, float("nan")):
                with self.assertRaisesRegex(tacit.DataError, "row 2: column 'x' is missing"):
                    post.predict({"x": [0.5, missing], "k": [1, 1], "s": ["a", "b"]})

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


if __name__ == "__main__":
    unittest.main()
