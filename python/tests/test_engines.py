"""Records in parts that Spark, Dask or a folder of Parquet files hold: releases are those of one process, bit for bit, also where workers die."""
import contextlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import tacit
import tacit._parts as parts

try:
    import numpy
    import pandas
    import pyarrow
    import pyarrow.parquet
except ImportError as missing:
    raise unittest.SkipTest(str(missing)) from None

ROWS = """\
columns:
  y: {type: binary}
  k: {type: integer, lower: 0, upper: 4}
  x: {type: numeric, lower: -1, upper: 1}
  g: {type: categorical, levels: [a, b]}
"""
PERSONS = "unit: who\nmax_rows: 3\n" + ROWS.replace("columns:\n", "columns:\n  who: {type: id}\n")
BUDGET = {"epsilon": 20, "delta": 1e-6, "chains": 1, "draws": 10, "warmup": 10, "seed_not_private": 5, "accept_poor": True, "progress": False}
BY_ROWS = ("y ~ x + g", {"schema": ROWS, "family": "bernoulli"})
LINEAR = ("x ~ y + g", {"schema": ROWS, "family": "gaussian"})
BY_PERSONS = ("y ~ x + g", {"schema": PERSONS, "family": "bernoulli"})
PROGRAM = ("k ~ x", {"schema": ROWS, "family": "negbinomial"})


def records(n=3000):
    """Persons of one to five rows, mixed with each other: where they have more than max_rows, the order decides."""
    rng = numpy.random.default_rng(1)
    return pandas.DataFrame({"who": [f"p{i}" for i in rng.integers(0, n // 2, n)], "y": rng.integers(0, 2, n), "k": rng.integers(0, 5, n),
                             "x": rng.uniform(-1, 1, n), "g": rng.choice(["a", "b"], n)})


def releases(data, of, **more):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = pathlib.Path(folder) / "fit"
        tacit.fit(of[0], data, out=out, **of[1], **BUDGET, **more)
        return (out / "releases.json").read_bytes()


def write_parquet(frame, folder, n):
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    size = -(-table.num_rows // n)
    for i in range(n):
        pyarrow.parquet.write_table(table.slice(i * size, size), f"{folder}/part-{i}.parquet")


def has(*names):
    import importlib.util
    return all(importlib.util.find_spec(name) is not None for name in names)


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.frame = records()


class Parquet(Folders):
    def test_a_folder_is_a_frame(self):
        write_parquet(self.frame, self.folder, 4)
        for of in (BY_ROWS, BY_PERSONS):
            alone = releases(self.frame, of)
            for data in (self.folder, pathlib.Path(self.folder) / "part-*.parquet"):
                self.assertEqual(releases(data, of), alone)
            self.assertEqual(releases(self.frame, of, threads=7), alone)

    def test_what_is_larger_than_memory_is_packed_into_scratch(self):
        write_parquet(self.frame, self.folder, 3)
        for of in (BY_ROWS, LINEAR, PROGRAM) + (BY_PERSONS,) * has("duckdb"):
            alone = releases(self.frame, of)
            for size, threads in ((64, 1), (1000, 2)):
                with unittest.mock.patch.object(parts, "PIECE_ROWS", size):
                    self.assertEqual(releases(self.folder, of, scratch=self.folder, threads=threads), alone)
        self.assertEqual(sorted(os.listdir(self.folder)), [f"part-{i}.parquet" for i in range(3)])

    def test_faults_name_file_and_row_to_the_holder(self):
        self.frame["y"] = self.frame["y"].astype("int64")
        self.frame.loc[2500, "y"] = 7
        write_parquet(self.frame, self.folder, 1)
        with unittest.mock.patch.object(parts, "PIECE_ROWS", 1000), self.assertRaises(tacit.DataError) as caught:
            releases(self.folder, BY_ROWS, scratch=self.folder)
        self.assertIn("rows from", str(caught.exception))
        self.assertIn(self.folder, str(caught.exception))
        self.assertTrue(caught.exception.private)
        with self.assertRaises(tacit.TacitError) as caught:
            releases(self.folder + "/none-*.parquet", BY_ROWS)
        self.assertIn("no file is called", str(caught.exception))

    def test_other_methods_are_refused_before_anything_is_charged(self):
        write_parquet(self.frame, self.folder, 1)
        with self.assertRaises(tacit.ArgumentError) as caught:
            releases(self.folder, (BY_ROWS[0], {**BY_ROWS[1], "method": "dp-hmc"}), scratch=self.folder)
        self.assertIn("noise-aware", str(caught.exception))


# On a busy machine an engine may not bring back a worker within minutes, or at all.
IF_FULL = unittest.skipUnless(os.environ.get("TACIT_TEST_FULL"), "long: set TACIT_TEST_FULL (.ci/long engines)")


def dies_once(folder, request, pid):
    """The first time that this request is met: the process is killed."""
    import hashlib
    marker = os.path.join(folder, hashlib.sha256(request.encode()).hexdigest())
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(pid, signal.SIGKILL)
    os._exit(1)  # a worker that lives on keeps what its engine would start anew


@unittest.skipUnless(has("dask", "distributed"), "dask and distributed are not there")
class Dask(Folders):
    def frames(self, n):
        import dask.dataframe
        return dask.dataframe.from_pandas(self.frame, npartitions=n)

    @contextlib.contextmanager
    def workers(self):
        import distributed
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster, \
                distributed.Client(cluster) as client:
            yield client

    def test_two_workers_are_one_process(self):
        with self.workers():
            for of in (BY_ROWS, LINEAR, PROGRAM, BY_PERSONS):
                alone = releases(self.frame, of)
                for n in (1, 5):
                    self.assertEqual(releases(self.frames(n), of), alone)

    @IF_FULL
    def test_a_worker_killed_in_each_pass_changes_no_bit(self):
        folder, sum_, whole = self.folder, parts._dask_sum, parts.Dask.sum

        def fatal(job, request, packed):
            dies_once(folder, request, os.getpid())
            return sum_(job, request, packed)

        import cloudpickle
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        self.addCleanup(cloudpickle.unregister_pickle_by_value, sys.modules[__name__])
        alone = releases(self.frame, BY_ROWS)
        with self.workers() as client:
            def when_both_are_there(*of):
                client.wait_for_workers(2, timeout=600)
                return whole(*of)

            with unittest.mock.patch.object(parts, "_dask_sum", fatal), unittest.mock.patch.object(parts.Dask, "sum", when_both_are_there):
                self.assertEqual(releases(self.frames(4), BY_ROWS), alone)
        self.assertGreaterEqual(len(os.listdir(folder)), 6)


def executor_of(pid):
    """The machine of Java that a worker of Python belongs to, two processes up; the one with the session is none."""
    for _ in range(2):
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    with open(f"/proc/{pid}/cmdline") as file:
        assert "CoarseGrainedExecutorBackend" in file.read()
    return pid


@unittest.skipUnless(has("pyspark"), "pyspark is not there")
@unittest.skipUnless(shutil.which("java"), "there is no Java")
class Spark(Folders):
    @contextlib.contextmanager
    def session(self, master):
        import pyspark
        from pyspark.sql import SparkSession
        there = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": os.path.dirname(pyspark.__file__)}
        with unittest.mock.patch.dict(os.environ, there), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = SparkSession.builder.master(master)
            for key, value in {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
                               "spark.executor.memory": "600m", "spark.sql.shuffle.partitions": "3", "spark.log.level": "OFF",
                               "spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "1s",  # the dead are asked once more, not for 15 s
                               "spark.local.dir": self.folder}.items():
                session = session.config(key, value)
            session = session.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            try:
                yield session
            finally:
                session.stop()

    def test_any_partitions_are_one_process(self):
        write_parquet(self.frame, self.folder, 3)
        with self.session("local[2]") as session:
            frame = session.read.parquet(self.folder)
            of_all = frame.toPandas()  # in the order that the engine has
            self.assertEqual(releases(frame.repartition(64).sortWithinPartitions("x"), BY_ROWS), releases(self.frame, BY_ROWS))
            for of in (BY_ROWS, LINEAR):
                self.assertEqual(releases(frame.repartition(7), of), releases(self.frame, of))
            self.assertEqual(releases(frame.coalesce(1), BY_ROWS), releases(self.frame, BY_ROWS))
            self.assertEqual(releases(frame, BY_PERSONS), releases(of_all, BY_PERSONS))
            self.assertNotEqual(releases(of_all, BY_PERSONS), releases(of_all[::-1], BY_PERSONS))  # the order decides which rows are kept
            with self.assertRaises(tacit.DataError) as caught:
                releases(frame.withColumn("y", frame.k), BY_ROWS)
            self.assertRegex(str(caught.exception), "partition [0-9]+, rows from 1 on: row [0-9]+, column 'y'")

    @IF_FULL
    def test_an_executor_killed_in_each_pass_changes_no_bit(self):
        write_parquet(self.frame, self.folder, 3)
        killed = tempfile.mkdtemp(dir=self.folder)
        sum_ = parts._spark_sum

        def fatal(job, request, batches):
            dies_once(killed, request, executor_of(os.getpid()))
            return sum_(job, request, batches)

        from pyspark import cloudpickle
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        self.addCleanup(cloudpickle.unregister_pickle_by_value, sys.modules[__name__])
        with self.session("local-cluster[2,1,1024]") as session, unittest.mock.patch.object(parts, "_spark_sum", fatal):
            frame = session.read.parquet(self.folder + "/part-*.parquet").repartition(2)
            self.assertEqual(releases(frame, BY_ROWS), releases(self.frame, BY_ROWS))
        self.assertGreaterEqual(len(os.listdir(killed)), 6)


if __name__ == "__main__":
    unittest.main()
