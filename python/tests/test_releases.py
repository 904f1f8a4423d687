"""Statistics released, inference from them, and what is drawn from kept releases."""
import json
import math
import os
import pickle
import unittest
import warnings

import tacit
from samples import FORMULA, SCHEMA, Folder, Interrupter, fit, pandas, pyarrow, records


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
        for given, kind in (({"statistic": "median"}, tacit.ArgumentError), ({"column": "z"}, tacit.TacitError),
                            ({"delta": 1e-6}, tacit.ArgumentError),
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
            released = tacit.release("k ~ x", {**records(), "k": [x / 2 + i % 7 / 7 - 0.5 for i, x in enumerate(records()["x"])]},
                                     statistic="moments", epsilon=20, delta=1e-6,
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
                ({"records": "gauss"}, self.statistic, {}, tacit.SchemaError, "model"),
                (self.model, {"statistic": "mean", "n": 5}, {}, tacit.SchemaError, "lower"),
                ("none.yaml", self.statistic, {}, tacit.FileError, "none.yaml"), (self.model, self.statistic, {"n": 300}, tacit.SchemaError,
                                                                                  "statistic"),
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
        post = tacit.fit(program=self.folder / "p.stan", records="none", data=data, schema=schema, epsilon=4, delta=1e-6, out=self.folder / "fit",
                         draws=50, warmup=50, progress=False)
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
        for given in ({}, {"path": out, "ledger": ledger.path}, {"path": out, "out": self.folder / "page.pdf"},
                      {"path": out, "out": self.folder / "entry2.json"},
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
