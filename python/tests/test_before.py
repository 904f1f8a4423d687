"""What comes before a fit: accounts, drafts and checks of schemas, plans, ledgers."""
import inspect
import pickle
import subprocess
import sys
import typing
import unittest
import warnings

import tacit
from samples import FORMULA, N, SCHEMA, Folder, fit, pandas, records
from tacit import _settings


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

    def test_what_the_command_line_answers(self):
        """The same numbers as `tacit account --solve`, `--fpr`, `--profile`, `--renyi` and `--gdp`."""
        self.assertEqual(tacit.account_count("gaussian:sigma=20", epsilon=2, delta=1e-6), 80)
        self.assertLess(tacit.account_count("gaussian:sigma=20", epsilon=2, delta=1e-6, once=["gaussian:sigma=5"]), 80)
        factor = tacit.account_noise(("gaussian:sigma=1", 10), epsilon=2, delta=1e-6)
        self.assertLessEqual(tacit.account((f"gaussian:sigma={factor!r}", 10), delta=1e-6), 2)
        self.assertGreater(tacit.account((f"gaussian:sigma={factor * 0.999!r}", 10), delta=1e-6), 2)
        at_none, next_to_none = (tacit.account_noise("gaussian:sigma=20", epsilon=epsilon, delta=1e-6) for epsilon in (0, 1e-300))
        self.assertAlmostEqual(at_none / next_to_none, 1, places=5)
        found = tacit.account(("gaussian:sigma=20", 100), delta=1e-6, fpr=0.01)
        self.assertAlmostEqual(found.attack, 0.0339006, places=6)
        self.assertEqual(pickle.loads(pickle.dumps(found)).attack, found.attack)
        self.assertIsNone(tacit.account("gaussian:sigma=20", delta=1e-6).attack)
        curve = tacit.account_profile("gaussian:sigma=5", points=5)
        self.assertEqual([len(curve[key]) for key in ("epsilon", "delta", "delta_lower")], [5, 5, 5])
        for epsilon, delta, lower in zip(curve["epsilon"], curve["delta"], curve["delta_lower"], strict=True):
            self.assertEqual(tacit.account("gaussian:sigma=5", epsilon=epsilon), delta)
            self.assertLessEqual(lower, delta)
        self.assertAlmostEqual(tacit.account_renyi(("gaussian:sigma=20", 100), orders=[2, 4])[1], 0.5, places=12)
        self.assertAlmostEqual(tacit.account_gdp(("gaussian:sigma=20", 100)), 0.5, places=12)

    def test_all_events(self):
        """Every form that the command line lists, under both relations where it has one."""
        for event in ("zcdp:rho=0.1", "pure:epsilon=1", "approximate:epsilon=1,delta=1e-9", "exponential:epsilon=1", "permute-and-flip:epsilon=1",
                      "sparse-vector:threshold=4,query=8,positives=2", "discrete-laplace:scale=2", "poisson-discrete-laplace:q=0.1,scale=2",
                      "replacement-gaussian:records=100,draws=10,sigma=2", "truncated-gaussian:q=0.1,records=100,limit=20,sigma=2",
                      "tree:sigma=5,leaves=37", "repeat-poisson:mean=5,sigma=5", "repeat-negative-binomial:mean=5,shape=1,sigma=5",
                      "randomized-response:p=0.5,buckets=4"):
            if "discrete-laplace:q" not in event:  # its relation is add-remove alone
                self.assertGreater(tacit.account(event, delta=1e-6), 0, event)
            if "replacement" not in event:
                self.assertGreater(tacit.account(event, delta=1e-6, relation="add-remove"), 0, event)
        self.assertAlmostEqual(tacit.account("pure:epsilon=1", delta=0), 1, places=12)
        self.assertAlmostEqual(tacit.account("pure:epsilon=1", delta=0).lower, 1, places=6)

    def test_refusals_of_the_rest(self):
        for call, field in ((lambda: tacit.account_gdp("poisson-gaussian:q=0.1,sigma=1"), "event"),
                            (lambda: tacit.account_renyi("gaussian:sigma=1", orders=[1]), "order"),
                            (lambda: tacit.account_renyi("gaussian:sigma=1", orders="2"), "orders"),
                            (lambda: tacit.account_renyi("fixed-size-gaussian:q=0.1,sigma=1", orders=[2]), "event"),
                            (lambda: tacit.account_profile("gaussian:sigma=1", points=1), "points"),
                            (lambda: tacit.account("gaussian:sigma=1", delta=1e-6, fpr=0), "fpr"),
                            (lambda: tacit.account_noise("pure:epsilon=1", epsilon=1, delta=1e-6), "event"),
                            (lambda: tacit.account_count(epsilon=1, delta=1e-6), "events")):
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertEqual(caught.exception.field, field)

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
            frame = pandas.DataFrame({"age": [1.5, 2], "ill": [True, False], "ward": pandas.Categorical(["secret", "b"]),
                                      "when": pandas.Timestamp("2020-01-01")})
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
                                  ({"epsilon": 1, "delta": 1e-6, "family": None}, tacit.ArgumentError, r"family= is needed, what the response is: .*; tacit.families\(\)"),
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
        self.assertEqual([of["name"] for of in tacit.families()][:3], ["bernoulli", "probit", "gaussian"])
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


class Plans(Folder):
    def test_plan_reads_nothing(self):
        plan = tacit.plan(FORMULA, schema=SCHEMA, n=N, family="bernoulli", epsilon=2, delta=1e-6)
        self.assertEqual((plan["method"], plan["verdict"]), ("noise-aware", "good"))
        self.assertIn("noise-aware", repr(plan))
        self.assertTrue(any(choice["method"] == "dp-hmc" for choice in plan["methods"]))
        with self.assertRaises(tacit.ArgumentError):
            tacit.plan(FORMULA, schema=SCHEMA, n="data.csv", family="bernoulli", epsilon=2, delta=1e-6)

    def test_a_budget_that_buys_nothing_is_a_poor_plan(self):
        gaussian = {"columns": {**SCHEMA["columns"], "x": SCHEMA["columns"]["x"]}}
        plan = tacit.plan("x ~ s", schema=gaussian, n=100, family="gaussian", epsilon=0.001, delta=1e-6)
        self.assertEqual((plan.is_poor, plan["verdict"]), (True, "refused"))
        self.assertIn("would buy next to nothing", repr(plan))
        self.assertIn("would buy next to nothing", plan._repr_html_())
        with self.assertRaises(tacit.BudgetError):
            fit(records(100), "x ~ s", family="gaussian", epsilon=0.001, accept_poor=True)

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
        for width, more in ((1, {}), ("a", {}), (1.2, {"n": "data.csv"}), (1.2, {"epsilon": 1}), (1.2, {"out": self.folder / "plan.html"}),
                            (1.2, {"family": "categorical"})):
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
        for of, call, typed in (("fit", tacit.fit, _settings.FitSettings), ("release", tacit.release, _settings.ReleaseSettings),
                                ("infer", tacit.infer, _settings.InferSettings)):
            listed = {setting["name"].replace("-", "_") for setting in tacit.settings(of)}
            said = (set(inspect.signature(call).parameters) | set(typing.get_type_hints(typed))) - {"settings", "formula", "accept_poor", "progress", "model"}
            self.assertEqual({"seed" if name == "seed_not_private" else name for name in said}, listed, of)
        for name, here in (("yes", "accept_poor=True"), ("dry_run", r"tacit.plan\(\)"), ("print_model", r"tacit.model\(\)"),
                           ("curator_notes", "private")):
            with self.assertRaisesRegex(tacit.ArgumentError, here):
                fit(records(), **{name: True})


class Ledgers(Folder):
    def test_spends(self):
        ledger = tacit.Ledger.create(self.folder / "l.ledger", "clinic-2026", epsilon=3, delta=1e-5)
        fit(records(), ledger=ledger, epsilon=1)
        self.assertAlmostEqual(ledger.spent, 1, delta=0.5)
        self.assertTrue(ledger.spends[0]["settled"])
        self.assertIn("clinic-2026", repr(ledger))
        self.assertEqual(ledger.verify(), ledger.state()["head"])
        with self.assertRaises(tacit.BudgetError):
            fit(records(), ledger=ledger.path, epsilon=6)
        with self.assertRaises(tacit.FileError):
            tacit.Ledger(self.folder / "none.ledger")


if __name__ == "__main__":
    unittest.main()
