"""Whatever is passed: a result, or a refusal that names what is wrong; never a crash, and nothing lost that was paid for.

Calls holds, for each function, arguments that are right; ODD replaces each of them in turn. Models puts every kind of model through every
function; TACIT_TEST_FULL: all kinds with all methods, which takes hours. Under a sanitizer: a build with -Db_sanitize=address,undefined,
LD_PRELOAD of libasan.so, ASAN_OPTIONS=detect_leaks=0.
"""
import contextlib
import copy
import itertools
import os
import pathlib
import pickle
import re
import unittest
import warnings

import tacit

from samples import FORMULA, SCHEMA, Folder, pandas, records

FULL = "TACIT_TEST_FULL" in os.environ
FEW = {"draws": 4, "warmup": 4, "chains": 2, "progress": False}
ODD = ["", "x" * 5000, "a\0b", "\ud800", b"bytes", 0, -1, 10**30, 10**400, 2**63, 2**64, -2**63, float("nan"), float("inf"), -float("inf"), 1e308,
       5e-324, True,
       [], [None], [1, 2], ["a\0b"], {}, {"a": 1}, {1: 2}, {"columns": None}, (), set(), object(), 3j, pathlib.Path("/nonexistent/x"), "/", ".",
       "../..", len]
if pandas is not None:
    import numpy
    ODD += [numpy.float64("nan"), numpy.int64(3), numpy.array([1.0, 2.0]), numpy.array(["a"]), pandas.NA, pandas.NaT, pandas.DataFrame(),
            pandas.Series([1.0])]
PROGRAM = """data { int<lower=0> N; vector[N] x; array[N] int<lower=0, upper=1> y; }
parameters { real a; real b; }
model { a ~ normal(0, 2); b ~ normal(0, 2); y ~ bernoulli_logit(a + b * x); }
"""
MEAN = "statistic: mean\nvalue: 0.31\nlower: -1\nupper: 1\nmechanism: laplace\nepsilon: 1\nn: 20\n"
OF_PROGRAM = {"columns": {name: SCHEMA["columns"][name] for name in ("x", "y")}}


class Misuse(Folder):
    def setUp(self):
        super().setUp()
        self.wrong = []
        self.addCleanup(lambda: self.assertEqual(self.wrong, []))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)  # where what is written by odd names goes
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        pathlib.Path("own.stan").write_text(PROGRAM)
        self.data = records(300)
        self.given = {"data": self.data, "schema": SCHEMA, "family": "bernoulli", "accept_poor": True, "seed_not_private": 1, **FEW}
        self.kept = tacit.fit(FORMULA, epsilon=50, delta=1e-6, out="fit", **self.given)
        tacit.fit(FORMULA, epsilon=50, delta=1e-6, out="fit2", **{**self.given, "seed_not_private": 2})
        tacit.Ledger.create("l.ledger", "d", 1e-3, 1e-6)

    def calls(self):
        """(name, function, arguments that are right, which of them to replace). Those of records end at a missing value."""
        broken = {**self.data, "x": [None, *self.data["x"][1:]]}
        fits = {**self.given, "data": broken, "epsilon": 2, "delta": 1e-6}
        more = dict.fromkeys(("method", "exposed", "out", "ledger", "prior", "program", "clip_grad", "n_public", "set", "constants", "thin", "init",
                              "purpose", "data_id", "sd"))
        yield "fit", tacit.fit, {"formula": FORMULA, **fits, **more}
        yield "fit of a program", tacit.fit, {"program": "own.stan", **fits, "family": None, "schema": OF_PROGRAM, "set": None, "constants": None,
                                              "records": None}
        yield "plan", tacit.plan, {"formula": FORMULA, "schema": SCHEMA, "n": 1000, "family": "bernoulli", "epsilon": 2, "delta": 1e-6,
                                   "method": "noise-aware", "prior": None}
        yield "plan of a program", tacit.plan, {"program": "own.stan", "schema": OF_PROGRAM, "n": 1000, "epsilon": 2, "delta": 1e-6,
                                                "method": "dp-hmc"}
        yield "release", tacit.release, {"formula": None, "data": broken, "statistic": "clamped-mean", "column": "x", "mechanism": "laplace",
                                         "schema": SCHEMA, "epsilon": 1,
                                         "delta": None, "out": None, "ledger": None, "seed_not_private": 1, "purpose": None}
        yield "infer", tacit.infer, {"model": {"records": "gaussian", "mean": "normal(0, 1)", "sd": 0.5}, "statistic": MEAN, "n": None,
                                     "method": None, "out": None,
                                     "seed": 1, "thin": None, **FEW}
        yield "account", lambda events, **more: tacit.account(events, **more), {"events": ("gaussian:sigma=20", 10), "delta": 1e-6, "epsilon": None,
                                                                               "relation": "substitute", "method": "auto", "width": 0.0,
                                                                               "in_order": False, "fpr": 0.01}
        fits_in = {"events": ("gaussian:sigma=20", 10), "epsilon": 2.0, "delta": 1e-6, "relation": "substitute", "method": "auto", "width": 0.0,
                   "in_order": False}
        yield "account_count", lambda events, **more: tacit.account_count(events, **more), {**fits_in, "once": ()}
        yield "account_noise", lambda events, **more: tacit.account_noise(events, **more), fits_in
        yield "account_profile", lambda events, **more: tacit.account_profile(events, **more), {"events": "gaussian:sigma=20", "points": 3}
        yield "account_renyi", lambda events, **more: tacit.account_renyi(events, **more), {"events": "gaussian:sigma=20", "orders": [2]}
        yield "settings", tacit.settings, {"of": "fit"}
        yield "read", tacit.read, {"path": "fit"}
        yield "refit", tacit.refit, {"path": "fit", "prior": None, "out": None, "seed": None, "check": None, "prior_scale": None, **FEW}
        yield "combine", tacit.combine, {"paths": ["fit", "fit2"], "disjoint": True, "exchangeable": True, "between_sd": 1, "prior": None,
                                         "out": None, "seed": None, **FEW}
        yield "check", tacit.check, {"path": "fit", "data": broken, "epsilon": 2, "delta": 1e-6, "by": None, "ledger": None, "out": None,
                                     "seed_not_private": 1, "n_public": None}
        yield "synthesize", tacit.synthesize, {"path": "fit", "rows": 20, "sets": 1, "seed": 1, "out": None}
        yield "ledger", tacit.Ledger, {"path": "l.ledger"}
        yield "ledger, new", tacit.Ledger.create, {"path": "n.ledger", "data_id": "d", "epsilon": 1.0, "delta": 1e-6, "relation": "substitute",
                                                   "unit": None, "max_rows": 1}
        yield "statement", tacit.statement, {"path": "fit", "ledger": None, "out": None}
        yield "epsilon_for", tacit.epsilon_for, {"width": 1.3, "formula": FORMULA, "schema": SCHEMA, "n": 1000, "family": "bernoulli", "delta": 1e-6,
                                                 "out": None}
        yield "model", tacit.model, {"formula": FORMULA, "family": "bernoulli", "schema": SCHEMA}
        yield "schema_draft", tacit.schema_draft, {"data": broken, "out": None, "header": False}
        yield "schema_check", tacit.schema_check, {"schema": SCHEMA, "data": broken}
        rows = {"x": [1.0], "s": ["a"]}
        if pandas is not None:
            yield "predict", self.kept.predict, {"newdata": rows, "kind": "mean", "schema": None, "seed": 1}
            yield "epred", self.kept.epred, {"newdata": rows, "schema": None}
            yield "effects", lambda column, **more: self.kept.effects(column, **more), {"column": "x", "population": rows, "schema": None}
            yield "contrast", lambda expression, **more: self.kept.contrast(expression, **more), {"expression": "x - 1", "exponentiate": False}

    def look_at(self, what, error):
        """One of ours, with a text that says something."""
        if not isinstance(error, tacit.TacitError) or len(str(error)) < 9 or re.search(r"object at 0x|argument \d must be", str(error)):
            self.wrong.append(f"{what}: {type(error).__name__}: {str(error)[:200]!a}")

    def test_odd_arguments(self):
        for name, call, right in self.calls():
            for key in right:
                for value in ODD:
                    what = f"{name}({key}={type(value).__name__} {str(value)[:40]!a})"
                    if key in ("draws", "warmup", "chains", "thin") and isinstance(value, (list, dict, tuple)) and len(value) == 0:
                        continue  # not said: as many as there are by default
                    if key == "progress" and callable(value):
                        continue  # called: what it raises is the caller's own
                    try:
                        call(**{**right, key: value})
                    except Exception as error:
                        self.look_at(what, error)
                    with contextlib.suppress(OSError):
                        os.remove("n.ledger")
        self.assertEqual(tacit.Ledger("l.ledger").spends, [])

    def test_odd_frames(self):
        """Every function that reads records or rows, and every frame that is none."""
        loop = []
        loop.append(loop)
        n = len(self.data["x"])
        frames = {"nothing": None, "no column": {}, "no rows": {name: [] for name in self.data},
                  "one row": {name: values[:1] for name, values in self.data.items()},
                  "other names": {"a": [1.0]}, "names of another type": {1: [1.0], None: [2]}, "lengths": {**self.data, "x": [0.0]},
                  "a text": {**self.data, "s": "ab"},
                  "a number": {**self.data, "x": 1.0}, "a generator": {**self.data, "x": (0.0 for _ in range(n))},
                  "a loop": {**self.data, "x": loop * n},
                  "huge": {**self.data, "k": [10**30] * n}, "huger": {**self.data, "x": [10**400] * n}, "bytes": {**self.data, "s": [b"a"] * n},
                  "complex": {**self.data, "x": [3j] * n},
                  "surrogates": {**self.data, "s": ["\ud800"] * n}, "nul": {**self.data, "s": ["a\0"] * n},
                  "all missing": {**self.data, "x": [None] * n},
                  "infinite": {**self.data, "x": [float("inf")] * n}, "a set": {1, 2}, "a function": len, "a list": [1, 2]}
        if pandas is not None:
            frame = pandas.DataFrame(self.data)
            frames |= {"empty": pandas.DataFrame(), "no rows of pandas": frame[:0], "two columns of a name": pandas.concat([frame, frame], axis=1),
                       "names that are numbers": frame.set_axis(range(4), axis=1),
                       "a column index of two levels": pandas.concat({"a": frame}, axis=1),
                       "periods": frame.assign(x=pandas.Period("2020-01")), "intervals": frame.assign(x=pandas.cut(frame["x"], 3)),
                       "a series": frame["x"],
                       "an array": frame[["x", "y"]].to_numpy(), "sparse": frame.assign(x=pandas.arrays.SparseArray(frame["x"])),
                       "two dimensions": {**self.data, "x": numpy.zeros((n, 2))},
                       "big-endian": {**self.data, "x": numpy.zeros(n, ">f8")}, "strides": {**self.data, "x": numpy.zeros(2 * n)[::2]},
                       "records": frame.to_records(),
                       "float128": {**self.data, "x": numpy.zeros(n, "f16")}, "objects": {**self.data, "x": numpy.array([object()] * n)}}
        program = {**self.given, "schema": OF_PROGRAM, "family": None, "program": "own.stan"}
        calls = {"fit": lambda data: tacit.fit(FORMULA, data, method="hmc", exposed=True, **{k: v for k, v in self.given.items() if k != "data"}),
                 "fit of a program": lambda data: tacit.fit(method="hmc", exposed=True, **{**program, "data": data}),
                 "release": lambda data: tacit.release(data=data, column="x", statistic="clamped-mean", mechanism="laplace", schema=SCHEMA, epsilon=1,
                                                       seed_not_private=1),
                 "check": lambda data: tacit.check("fit", data, epsilon=2, delta=1e-6, seed_not_private=1)}
        if pandas is not None:
            calls["predict"] = self.kept.predict
        for (name, data), (function, call) in itertools.product(frames.items(), calls.items()):
            if name == "a generator":
                data = {**self.data, "x": (0.0 for _ in range(n))}
            try:
                call(data)
            except Exception as error:
                self.look_at(f"{function}, {name}", error)

    def test_damaged_directories(self):
        """A directory of a fit with a file that is missing, empty, cut off or nonsense."""
        for name in sorted(os.listdir("fit")):
            whole = pathlib.Path("fit", name).read_bytes()
            for damage in (None, b"", whole[: len(whole) // 2], b"\0\xff{", b"[1, 2]\n", b"a: b\n"):
                path = pathlib.Path("fit", name)
                path.unlink()
                if damage is not None:
                    path.write_bytes(damage)
                for call in (lambda: repr(tacit.read("fit")), lambda: tacit.refit("fit", **FEW), lambda: tacit.synthesize("fit", rows=5)):
                    try:
                        call()
                    except Exception as error:
                        self.look_at(f"{name} {damage!r:.20}", error)
                path.write_bytes(whole)


FAMILIES = {"y": ("bernoulli", "binomial"), "z": ("gaussian", "student", "lognormal", "gamma", "beta", "nonsense"),
            "k": ("poisson", "negbinomial", "zero_inflated_poisson"), "c": ("categorical", "cumulative")}
METHODS = (None, "noise-aware", "dp-hmc", "dp-penalty", "dp-barker", "dp-barker-vcorr", "dp-fast-mh", "dp-mala", "dp-sgld", "hmc", "rwmh", "tunamh")


class Models(Folder):
    """Every kind of model, unit, relation and method through every function."""

    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        data = records(240)
        self.data = {"x": data["x"], "s": data["s"], "y": data["y"], "k": [k or 0 for k in data["k"]], "z": [0.5 + x / 8 for x in data["x"]],
                     "c": ["pqr"[(k or 0) % 3] for k in data["k"]], "who": [f"p{i // 2}" for i in range(240)]}
        self.columns = {**SCHEMA["columns"], "k": {"type": "integer", "lower": 0, "upper": 9}, "z": {"type": "numeric", "lower": 0.05, "upper": 0.95},
                        "c": {"type": "categorical", "levels": ["p", "q", "r"]}}
        self.program = str(self.folder / "own.stan")
        pathlib.Path(self.program).write_text(PROGRAM)

    def schema(self, relation, max_rows):
        persons = {"unit": "who", "max_rows": max_rows} if max_rows else {}
        return {"relation": relation, **persons, "columns": {**self.columns, **({"who": {"type": "id"}} if max_rows else {})}}

    def kinds(self):
        yield {"program": self.program}
        for response, families in FAMILIES.items():
            for family in families if FULL else families[:1]:
                yield {"formula": f"{response} ~ x + s", "family": family}
                if FULL:
                    yield {"formula": f"{response} ~ 1", "family": family}
                    yield {"formula": f"{response} ~ x + (1 | s)", "family": family}

    def use(self, post, out):
        """Everything that a posterior is asked for."""
        post.privacy_line(), repr(post), post._repr_html_(), pickle.loads(pickle.dumps(post)), copy.deepcopy(post)
        if pandas is not None:
            post.summary(), post.to_pandas(), post.draws()
        calls = [lambda: post.contrast(f"2 * `{post.labels[0]}`"),  # refused where a check forbids intervals, by chance as well
                 lambda: post.predict("grid"), lambda: post.predict(self.data, kind="response"), lambda: post.epred("grid"),
                 lambda: repr(tacit.read(out)), lambda: tacit.refit(out, progress=False, draws=4),
                 lambda: tacit.synthesize(out, rows=5), lambda: tacit.check(out, self.data, epsilon=2, delta=1e-6, by="x"),
                 lambda: tacit.combine([out, out], progress=False)]
        for call in calls:
            self.either(call)

    def either(self, call):
        """The result, or None after a refusal of ours."""
        try:
            return call()
        except tacit.TacitError as error:
            self.assertGreater(len(str(error)), 8)
            return None

    def test_every_kind(self):
        made = 0
        relations, persons = ("substitute", "add-remove"), (0, 1, 3)
        for i, (kind, relation, max_rows) in enumerate(itertools.product(self.kinds(), relations, persons)):
            schema = self.schema(relation, max_rows)
            for j, method in enumerate(METHODS):
                if not FULL and method is not None and (i + j) % 6 != 0:
                    continue
                exposed = method in ("hmc", "rwmh", "tunamh")
                budget = {} if exposed else {"epsilon": 20, "delta": 1e-6}
                with self.subTest(f"{kind} {relation} {max_rows} {method}"):
                    if FULL or method is not None or i % 5 == 0:  # a plan of all methods takes long: each kind, each relation and unit
                        plan = self.either(lambda: tacit.plan(**kind, **budget, schema=schema, n=240, method=method, exposed=exposed))
                        self.assertTrue(plan is None or repr(plan))
                        if plan is None:
                            continue
                    if not FULL and i % 4 != j % 4:
                        continue
                    out = str(self.folder / f"fit-{i}-{j}")
                    post = self.either(lambda: tacit.fit(data=self.data, **kind, **budget, schema=schema, method=method, exposed=exposed,
                                                         seed_not_private=1,
                                                         n_public=240 if relation == "add-remove" else None, accept_poor=True, out=out, **FEW))
                    if post is not None:
                        made += 1
                        self.use(post, out)
        self.assertGreater(made, 3)


if __name__ == "__main__":
    unittest.main()
