"""Fits from every source, and interruption. Each test needs the installed package; other libraries where they are there."""
import contextlib
import datetime
import importlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import tacit
from samples import FORMULA, N, SCHEMA, Folder, Interrupter, fit, pandas, pyarrow, records


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
                        "numpy arrays": {name: frame[name].to_numpy() for name in frame},
                        "numpy texts": {name: frame[name].to_numpy(dtype="U1" if name == "s" else None) for name in frame}}
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
        if pandas is not None and pyarrow is not None:
            pandas.DataFrame(columns).to_parquet(self.folder / "d.parquet")
            importlib.import_module("pyarrow.feather").write_feather(table, self.folder / "d.feather")
            sources |= {"parquet": self.folder / "d.parquet", "feather": os.fspath(self.folder / "d.feather")}
        for name, data in sources.items():
            with self.subTest(name):
                self.assertEqual(self.draws(data, formula), expected)

    def test_dates(self):
        """Numbers of days since the schema's date, whatever holds them; a missing one by the schema's rule."""
        schema = {"columns": {"seen": {"type": "numeric", "lower": 0, "upper": 40, "since": "2020-01-01", "missing": 3}, "y": SCHEMA["columns"]["y"]}}
        y, days = records(400)["y"], [i % 40 + 0.25 for i in range(399)]
        expected = self.draws({"seen": [*days, 3], "y": y}, "y ~ seen", schema={"columns": {**schema["columns"], "seen": {"type": "numeric", "lower": 0,
                                                                                                                        "upper": 40}}})
        times = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=day) for day in days] + [None]
        sources = {"datetime": times, "with a zone": [time and time.replace(tzinfo=datetime.timezone.utc) for time in times]}
        if pandas is not None:
            sources |= {"numpy": pandas.Series(times).to_numpy(), "pandas": pandas.Series(times), "object": pandas.Series(times, dtype=object)}
        for name, seen in sources.items():
            with self.subTest(name):
                frame = {"seen": seen, "y": y}
                self.assertEqual(self.draws(frame, "y ~ seen", schema=schema), expected)
                if pandas is not None:
                    self.assertEqual(self.draws(pandas.DataFrame(frame), "y ~ seen", schema=schema), expected)
        whole = self.draws({"seen": [day // 1 for day in days] + [None], "y": y}, "y ~ seen", schema={"columns": {
            **schema["columns"], "seen": {"type": "numeric", "lower": 0, "upper": 40, "missing": 3}}})
        self.assertEqual(self.draws({"seen": [time and time.date() for time in times], "y": y}, "y ~ seen", schema=schema), whole)

    def test_odd_columns(self):
        """An array of one column is that column, durations are days; values of several kinds are named by their column."""
        if pandas is None:
            self.skipTest("no pandas")
        columns = records(400)
        expected, x = self.draws(columns), pandas.Series(columns["x"]).to_numpy()
        days = pandas.to_timedelta(x, unit="D")
        self.assertEqual(self.draws({**columns, "x": x.reshape(-1, 1)}), expected)
        rounded = self.draws({**columns, "x": days.to_numpy() / pandas.Timedelta(days=1)})
        self.assertEqual(self.draws({**columns, "x": days.to_numpy()}), rounded)
        self.assertEqual(self.draws(pandas.DataFrame({**columns, "x": days})), rounded)
        for data in ({**columns, "x": x.reshape(-1, 2)}, pandas.DataFrame({**columns, "x": [*columns["x"][:-1], "12 ?"]})):
            with self.assertRaisesRegex(tacit.DataError, "column 'x': "):
                fit(data)

    def test_a_file_of_columns_needs_a_reader_and_names_the_call(self):
        path = self.folder / "d.parquet"
        path.write_bytes(b"PAR1 and so on")
        code = ("import sys, tacit; sys.modules.update(dict.fromkeys(('pyarrow', 'duckdb', 'polars')))\n"
                "try: tacit.fit('y ~ x', sys.argv[1], schema={'columns': {'x': {'type': 'binary'}, 'y': {'type': 'binary'}}}, family='bernoulli', epsilon=1, delta=1e-6)\n"
                "except tacit.ArgumentError as error: print(error)")
        told = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        self.assertRegex(told.stdout, r"is a Parquet file, which pyarrow reads \(pip install pyarrow\), or pandas.read_parquet\('.*d.parquet'\)")

    def test_what_is_wrong_with_a_file_is_a_data_error(self):
        for text in ("x,s\n1,a\n", "x,s,y\n1,a,0\n1,\"a,0\n"):
            path = self.folder / "d.csv"
            path.write_text(text, encoding="utf-8")
            with self.assertRaises(tacit.DataError):
                fit(path)

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
        with self.assertWarnsRegex(tacit.PrivacyWarning, r"interrupted: these are the draws so far; epsilon \d+\S* at delta 1e-06 was charged"):
            post = tacit.fit(FORMULA, records(), schema=SCHEMA, family="bernoulli", delta=1e-6, ledger=self.ledger,
                             progress=Interrupter(10), **self.long_run)
        self.assertEqual(post.end, "interrupted")
        self.assertGreater(post.n_draws, 0)
        spend, = self.ledger.spends
        self.assertTrue(spend["settled"])
        self.assertLess(self.ledger.spent, 499)

    def test_releases_that_were_paid_for_come_with_the_interrupt(self):
        def stop(iteration, n_iterations, epsilon):
            if epsilon > 0:
                raise KeyboardInterrupt

        for number, out in enumerate((None, self.folder / "out")):
            with self.assertRaisesRegex(KeyboardInterrupt, "epsilon 2 is charged") as caught:
                fit(records(), epsilon=2, warmup=500000, draws=10, progress=stop, accept_poor=True, out=out)
            if out is None:
                out = self.folder / f"kept-{number}"
                out.mkdir()
                (out / "releases.json").write_text(caught.exception.releases, encoding="utf-8")
            post = tacit.refit(out, draws=100, warmup=100)
            self.assertEqual((post.n_draws, post.is_private), (100, True))
            self.assertIn("epsilon 2 at delta 1e-06", post.privacy_line())

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
        done = subprocess.run([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), str(self.ledger.path)], check=False,
                              capture_output=True)
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


if __name__ == "__main__":
    unittest.main()
