"""The boundary in a notebook: nothing that tacit returns, raises, prints, writes or pickles holds a record or a value of one."""
import contextlib
import gc
import io
import os
import pathlib
import pickle
import tempfile
import traceback
import types
import unittest
import warnings

import tacit

from samples import FORMULA, N, SCHEMA, fit, records

try:
    import pandas
except ImportError:
    pandas = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

TEXT, NUMBER = "Smith-of-4711-Elm-Street", 2.7182845904
MARKERS = (TEXT, "2.71828459", NUMBER.hex())


CALLERS = (types.FrameType, types.TracebackType)  # an exception among a frame's locals leads to those of its callers, which have the data


def marked(**more):
    """Records with a value in each kind of column that is nobody else's."""
    columns = records()
    columns["x"][17] = NUMBER
    columns |= {"note": [TEXT] * N}
    for name, value in more.items():
        columns[name] = [*columns[name][:5], value, *columns[name][6:]]
    return columns


class Frame:
    """Hands out a stream that fails and quotes a value."""

    def __init__(self, error):
        self.error, self.secret = error, [TEXT]

    def __arrow_c_stream__(self, requested_schema=None):
        raise self.error


def broken_stream():
    def batches():
        yield pyarrow.record_batch({"x": [0.0], "s": ["a"], "y": [1]})
        raise ValueError(f"could not convert {TEXT!r}")
    return pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("x", "float64"), ("s", "string"), ("y", "int64")]), batches())


def reachable(root, *passed_over):
    """All objects that can be reached from one, classes, modules, the code of functions and what else is passed over aside."""
    seen, todo = {}, [root]
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, (type, types.ModuleType, types.CodeType, types.BuiltinFunctionType, *passed_over)):
            continue
        seen[id(item)] = item
        todo.extend(item.__dict__.values() if isinstance(item, types.FunctionType) else gc.get_referents(item))
    return list(seen.values())


def refusals():
    """(what, keywords of fit) for everything that can be wrong with records."""
    strict = {"columns": {**SCHEMA["columns"], "x": {"type": "numeric", "lower": -3, "upper": 2.5, "out_of_range": "error"}}}
    more_levels = {"columns": {**SCHEMA["columns"], "note": {"type": "categorical", "levels": ["a"]}}}
    text_number = {"columns": {**SCHEMA["columns"], "note": {"type": "numeric", "lower": 0, "upper": 1}}}
    yield "out of range", {"data": marked(), "schema": strict}
    yield "no level", {"data": marked(s=TEXT)}
    yield "no binary", {"data": marked(y=NUMBER)}
    yield "missing", {"data": marked(x=None)}
    yield "level of another column", {"data": marked(), "schema": more_levels, "formula": "y ~ note"}
    yield "text for a number", {"data": marked(), "schema": text_number, "formula": "y ~ note"}
    yield "unknown column", {"data": marked(), "formula": "y ~ z"}
    yield "budget", {"data": marked(), "epsilon": 1e-9, "method": "dp-hmc"}
    yield "setting", {"data": marked(), "clip_grad": "nonsense"}
    yield "mixed kinds", {"data": marked(s=NUMBER)}
    yield "a frame that raises", {"data": Frame(ValueError(f"bad value {TEXT} {NUMBER}"))}
    yield "a frame that raises ours", {"data": Frame(tacit.DataError("a frame's own", "data", "data"))}
    if pandas is not None:
        frame = pandas.DataFrame(marked())
        yield "mixed objects", {"data": frame.assign(s=frame["s"].astype(object).where(frame.index != 3, NUMBER))}
        yield "dates", {"data": frame.assign(x=pandas.Timestamp("2020-01-01"))}
        yield "two columns of a name", {"data": pandas.concat([frame, frame[["x"]]], axis=1)}
    if pyarrow is not None:
        yield "a stream that breaks", {"data": broken_stream()}
        yield "nested", {"data": pyarrow.table({**marked(), "x": [[NUMBER]] * N})}
        yield "bytes", {"data": pyarrow.table({**marked(), "s": [TEXT.encode()] * N})}


class Boundary(unittest.TestCase):
    def assert_clean(self, what, text):
        for marker in MARKERS:
            self.assertNotIn(marker, text, what)

    def refusal_of(self, call):
        """With its traceback, which assertRaises takes off."""
        try:
            call()
        except tacit.TacitError as error:
            self.assertTrue(error.__traceback__)
            return error
        self.fail("nothing was refused")

    def test_refusals_hold_no_value(self):
        for what, given in refusals():
            with self.subTest(what):
                said = io.StringIO()
                data = given.pop("data")
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    error = self.refusal_of(lambda: fit(data, given.pop("formula", FORMULA), **given))
                self.assertTrue(error.status)
                ours = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if "tacit" in frame.f_globals.get("__name__", "")]
                self.assertTrue(ours)
                self.assert_clean(what, said.getvalue() + str(error) + repr(error) + error.field)
                self.assert_clean(what, repr([frame.f_locals for frame in ours]))
                for frame in ours:
                    self.assertFalse(any(item is data for item in reachable(list(frame.f_locals.values()), *CALLERS)), what)
                self.assertIsNone(error.__context__)
                self.assert_clean(what, pickle.dumps(error).decode("latin-1"))

    def test_details_are_private_and_kept_apart(self):
        with self.assertRaises(tacit.DataError) as caught:
            fit(Frame(ValueError(f"bad value {TEXT}")))
        self.assertIn(TEXT, caught.exception.detail)
        self.assertTrue(caught.exception.private)
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).detail, "")

    def test_results_and_files_hold_no_record(self):
        columns = marked()
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "fit"
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                post = fit(columns, out=out, progress=True)
            written = "".join((out / name).read_text() for name in os.listdir(out))
        self.assert_clean("files", written + said.getvalue())
        self.assert_clean("result", repr(post) + post._repr_html_() + post.statement + repr(vars(post)))
        dump = pickle.dumps(post)
        self.assert_clean("pickle", dump.decode("latin-1"))
        self.assertLess(len(dump) - len(post._draws) - len(post._stats), 20000)
        held = {id(values) for values in columns.values()} | {id(columns)}
        self.assertFalse(any(id(item) in held for item in reachable(vars(post))))

    def test_releases_hold_no_record(self):
        columns, more = marked(), {"schema": SCHEMA, "statistic": "clamped-mean", "epsilon": 1}
        held = {id(values) for values in columns.values()} | {id(columns)}
        said = tacit.release(data=columns, column="x", mechanism="laplace", **more)
        self.assert_clean("release", repr(said) + repr(vars(said)) + pickle.dumps(said).decode("latin-1"))
        self.assertFalse(any(id(item) in held for item in reachable(vars(said))))
        strict = {"columns": {**SCHEMA["columns"], "x": {"type": "numeric", "lower": -3, "upper": 2.5, "out_of_range": "error"}}}
        for data, given in ((columns, {"schema": strict}), (marked(x=None), {}), (Frame(ValueError(f"bad value {TEXT}")), {}),
                            (columns, {"column": "note"}),
                            (columns, {"epsilon": 1e-9})):
            error = self.refusal_of(lambda: tacit.release(data=data, **{"column": "x", "mechanism": "laplace", **more, **given}))
            ours = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if "tacit" in frame.f_globals.get("__name__", "")]
            self.assertTrue(ours)
            self.assert_clean("refusal", str(error) + repr([frame.f_locals for frame in ours]) + pickle.dumps(error).decode("latin-1"))
            self.assertFalse(any(item is data for item in reachable([frame.f_locals for frame in ours], *CALLERS)))
            self.assertIsNone(error.__context__)

    def test_frames_are_let_go(self):
        """After a fit nothing holds the data but who gave them."""
        class Columns(dict):
            pass
        import weakref
        for given in ({}, {"epsilon": 1e-9, "method": "dp-hmc"}, {"clip_grad": "nonsense"}):
            columns = Columns(marked())
            ref = weakref.ref(columns)
            with contextlib.suppress(tacit.TacitError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(columns, **given)
            del columns
            gc.collect()
            self.assertIsNone(ref())

    def test_what_the_extension_offers(self):
        """No function of tacit hands out records, and there is no type that could hold them. What schema_check counts is for the holder, and neither printed
        nor pickled. pack_part and sum_part are for the workers of an engine that holds the data, within the boundary."""
        from tacit import _core
        names = {name for name in vars(_core) if not name.startswith("__")}
        self.assertEqual(names, {"account", "check", "compare", "contrast", "effects", "families", "fit", "infer", "ledger_create", "ledger_read", "pack_part",
                                 "part_columns", "sum_part", "model", "plan",
                                 "predict", "read", "refit", "release", "schema_check", "schema_draft", "settings", "statement", "synthesize",
                                 "version", "want_width"})
        self.assertFalse([name for name in names if isinstance(getattr(_core, name), type)])

    def test_a_seed_says_what_it_is(self):
        with self.assertRaisesRegex(tacit.ArgumentError, "seed_not_private"):
            fit(marked(), seed=1)


if __name__ == "__main__":
    unittest.main()
