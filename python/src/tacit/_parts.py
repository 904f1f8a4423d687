"""Records in parts that an engine holds: Spark, Dask, or files on this machine's disk.

A part is packed once and stays with its engine. A pass sends a public request to each part, and its exact sums of whole numbers come back, which are
added up in any order. Two functions do all of it, `Job.pack` and `Job.add`; what an engine does is keep bytes and call them.
"""
from __future__ import annotations

import contextlib
import functools
import glob
import importlib
import mmap
import os
import re
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _core, _data
from ._errors import ArgumentError, DataError, TacitError

# Rows that are packed together: some 20 MB, which is what a worker has in memory beside what its engine keeps.
PIECE_ROWS = 1 << 18
# What is of the fit that asks, and not of what is summed.
_OWN = frozenset({"out", "ledger", "data-id", "purpose", "seed", "threads", "scratch"})
# Sums of so many parts are added by the engine before they are sent on.
_FAN_IN = 64

Parts = tuple[list[tuple[int, int]], Callable[[str], bytes]]


def add(total: bytes | None, sums: bytes) -> bytes:
    """The sums of whole numbers that two lists of int64 hold."""
    if total is None:
        return sums
    return array("q", map(int.__add__, array("q", total), array("q", sums))).tobytes()


class Job:
    """What the workers of an engine need: text alone, so that it can be sent. A program's files are texts, too."""

    def __init__(self, formula: str, pairs: list[tuple[str, str]], schema: bytes, name: str) -> None:
        self.formula, self.schema, self.name = formula, schema, name
        self.pairs = [(key, value) for key, value in pairs if key not in _OWN]
        self.files: dict[str, bytes] = {}
        for path in [formula] * formula.endswith(".stan") + [value for key, value in pairs if key in ("program", "constants")]:
            with contextlib.suppress(OSError), open(path, "rb") as file:  # what is missing is said by who compiles it
                self.files[path] = file.read()

    @contextlib.contextmanager
    def _of(self) -> Iterator[tuple[str, list[tuple[str, str]], bytes, str]]:
        if not self.files:
            yield self.formula, self.pairs, self.schema, self.name
            return
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
            there = {path: os.path.join(folder, f"{i}{os.path.splitext(path)[1]}") for i, path in enumerate(self.files)}
            for path, text in self.files.items():
                with open(there[path], "wb") as file:
                    file.write(text)
            yield there.get(self.formula, self.formula), [(key, there.get(value, value)) for key, value in self.pairs], self.schema, self.name

    def columns(self) -> tuple[list[str], str | None]:
        """Which columns of the data are read, and that of persons, or None."""
        with self._of() as of:
            return _core.part_columns(of)

    def pack(self, data: Any) -> tuple[int, int, bytes]:
        """Records, units, and bytes of one part: whatever `fit` takes, but for a path."""
        with self._of() as of:
            return _core.pack_part(of, _data.Once(data))

    def add(self, total: bytes | None, request: str, packed: bytes | memoryview) -> bytes:
        """What a part adds to the sums of a request, and what was added before."""
        with self._of() as of:
            return add(total, _core.sum_part(of, request, packed))


# ---- pieces of a stream of record batches ----

def _cut(table: Any, unit: str | None) -> int:
    """How many of the rows can be packed now: without persons all, else all but the last person's, whose rows may go on."""
    n = int(table.num_rows)
    if unit is None:
        return n
    who = table.column(unit)
    last = who[n - 1]
    while n > 0 and who[n - 1] == last:
        n -= 1
    return n


def pieces(batches: Iterable[Any], unit: str | None) -> Iterator[tuple[int, Any]]:
    """The first row, and tables of about PIECE_ROWS rows, of batches in which rows of a person follow each other."""
    pyarrow = importlib.import_module("pyarrow")
    waiting: list[Any] = []
    n, first = 0, 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        waiting.append(batch)
        n += batch.num_rows
        if n >= PIECE_ROWS:
            table = pyarrow.Table.from_batches(waiting)
            whole = _cut(table, unit)
            if whole > 0:
                yield first, table.slice(0, whole)
            waiting, n, first = table.slice(whole).to_batches(), n - whole, first + whole
    if n > 0:
        yield first, pyarrow.Table.from_batches(waiting)


def _pack_piece(job: Job, where: str, first: int, table: Any) -> tuple[int, int, bytes]:
    """The message of a fault names the part, for the holder of the data alone."""
    try:
        return job.pack(table)
    except DataError as error:
        failure = DataError(f"{where}, rows from {first + 1} on: {error}", error.field, error.status)
    raise failure


def pack_batches(job: Job, unit: str | None, where: str, batches: Iterable[Any]) -> Iterator[tuple[int, int, bytes]]:
    for first, table in pieces(batches, unit):
        yield _pack_piece(job, where, first, table)


# ---- the engine's own words are private: they quote what they like ----

_OURS = re.compile(r"tacit\._errors\.(\w+): (.*)")


def _failure(error: Exception) -> Exception:
    """What to raise for what an engine raised: our own message from a worker, or a sentence with the rest as .detail."""
    if isinstance(error, TacitError):
        return type(error)(str(error), error.field, error.status, error.detail)
    said = _OURS.findall(str(error))
    if said:
        return DataError(said[-1][1].strip(), "data", "data")
    return DataError(f"the engine that holds the data failed ({type(error).__name__}; the exception's .detail holds what it said: private)", "data",
                     "data", str(error))


def _nothing(text: str) -> None:
    del text


class Engine:
    """Records that are held in parts, until they are let go."""

    def __init__(self, data: Any, settings: list[tuple[str, str]]) -> None:
        self.data, self.settings = data, dict(settings)
        self.parts: list[tuple[int, int]] = []
        self.show: Callable[[str], None] = _nothing  # a line for the holder of the data, who sees rows anyway
        self._n_passes = 0

    def open(self, job: Job) -> None:
        raise NotImplementedError

    def sum(self, job: Job, request: str) -> tuple[int, bytes | None]:
        """How many parts were summed, and their sums."""
        raise NotImplementedError

    def close(self) -> None:
        self.data = None

    @contextlib.contextmanager
    def given(self, job: Job) -> Iterator[Parts]:
        """What the extension takes in the place of data."""
        failure: Exception | None = None
        self.show("packing the records")
        try:
            self.open(job)
        except Exception as error:
            failure = _failure(error)
        if failure is not None:
            self.close()
            raise failure
        if not self.parts:
            self.close()
            raise DataError("the data have no records", "data", "data")
        try:
            yield self.parts, functools.partial(self._sum, job)
        finally:
            self.close()

    def _sum(self, job: Job, request: str) -> bytes:
        failure: Exception
        self._n_passes += 1
        self.show(f"pass {self._n_passes} over {len(self.parts)} parts")
        try:
            n, sums = self.sum(job, request)
            if n == len(self.parts) and sums is not None:
                return sums
            failure = DataError("the data changed while they were summed: an engine that computes a part again must find the same rows in it", "data",
                                "data")
        except Exception as error:
            failure = _failure(error)
        raise failure


# ---- Spark ----

def _spark_pack(job: Job, unit: str | None, batches: Iterable[Any]) -> Iterator[Any]:
    pyarrow = importlib.import_module("pyarrow")
    context = importlib.import_module("pyspark").TaskContext.get()
    where = "a partition" if context is None else f"partition {context.partitionId()}"
    for n, units, packed in pack_batches(job, unit, where, batches):
        yield pyarrow.record_batch({"records": [n], "units": [units], "packed": [packed]})


def _spark_sum(job: Job, request: str, batches: Iterable[Any]) -> Iterator[Any]:
    pyarrow = importlib.import_module("pyarrow")
    total, n = None, 0
    for batch in batches:
        for packed in batch.column(0):
            total, n = job.add(total, request, memoryview(packed.as_buffer())), n + 1
    if total is not None:
        yield pyarrow.record_batch({"n": [n], "sums": [total]})


def _spark_add(batches: Iterable[Any]) -> Iterator[Any]:
    pyarrow = importlib.import_module("pyarrow")
    total, n = None, 0
    for batch in batches:
        for count, sums in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            total, n = add(total, sums), n + count
    if total is not None:
        yield pyarrow.record_batch({"n": [n], "sums": [total]})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class Spark(Engine):
    """A DataFrame of PySpark: packed by mapInArrow, and persisted, so that a part that is lost is packed again from what it came from."""

    _packed: Any = None

    def open(self, job: Job) -> None:
        functions = importlib.import_module("pyspark.sql.functions")
        columns, unit = job.columns()
        _data._require(columns, list(self.data.columns))
        frame = self.data.select(*(_quoted(name) for name in columns))
        if unit is not None:
            # rows of a person in one partition, in the order in which the data have them
            order, who = "__tacit_order", functions.col(_quoted(unit)).cast("string")
            wanted = str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
            n = int(wanted) if wanted.isdigit() else 200  # "auto" of some that sell Spark
            frame = frame.withColumn(order, functions.monotonically_increasing_id()).repartition(n, who).sortWithinPartitions(who, order).drop(order)
        self._packed = frame.mapInArrow(functools.partial(_spark_pack, job, unit), "records long, units long, packed binary").persist()
        self.parts = [(row[0], row[1]) for row in self._packed.select("records", "units").collect()]

    def sum(self, job: Job, request: str) -> tuple[int, bytes | None]:
        sums = self._packed.select("packed").mapInArrow(functools.partial(_spark_sum, job, request), "n long, sums binary")
        if len(self.parts) > _FAN_IN:
            sums = sums.repartition(len(self.parts) // _FAN_IN + 1).mapInArrow(_spark_add, "n long, sums binary")
        rows = sums.collect()
        return sum(row[0] for row in rows), functools.reduce(add, (bytes(row[1]) for row in rows), None)

    def close(self) -> None:
        super().close()
        if self._packed is not None:
            self._packed.unpersist()
            self._packed = None


# ---- Dask ----

def _dask_pack(job: Job, unit: str | None, where: str, frame: Any) -> list[tuple[int, int, bytes]]:
    if len(frame) == 0:
        return []
    if unit is not None:
        frame = frame.sort_values(["__tacit_who", "__tacit_order"], kind="stable").drop(columns=["__tacit_who", "__tacit_order"])
    table = importlib.import_module("pyarrow").Table.from_pandas(frame, preserve_index=False)
    return list(pack_batches(job, unit, where, table.to_batches(max_chunksize=PIECE_ROWS)))


def _dask_counts(packed: list[tuple[int, int, bytes]]) -> list[tuple[int, int]]:
    return [(n, units) for n, units, _ in packed]


def _dask_sum(job: Job, request: str, packed: list[tuple[int, int, bytes]]) -> tuple[int, bytes | None]:
    total = None
    for _, _, part in packed:
        total = job.add(total, request, part)
    return len(packed), total


def _dask_add(sums: list[tuple[int, bytes | None]]) -> tuple[int, bytes | None]:
    return sum(n for n, _ in sums), functools.reduce(add, (part for _, part in sums if part is not None), None)


def _dask_order(frame: Any, unit: str, part: int) -> Any:
    return frame.assign(__tacit_who=frame[unit].astype(str), __tacit_order=range(part << 40, (part << 40) + len(frame)))


class Dask(Engine):
    """A DataFrame of Dask: parts are kept by its scheduler, on workers where there are some."""

    _packed: tuple[Any, ...] = ()

    def open(self, job: Job) -> None:
        dask = importlib.import_module("dask")
        columns, unit = job.columns()
        _data._require(columns, [str(name) for name in self.data.columns])
        frame = self.data[columns]
        if unit is not None:
            frames = importlib.import_module("dask.dataframe")
            meta = _dask_order(frame._meta, unit, 0)
            ordered = [dask.delayed(_dask_order)(part, unit, i) for i, part in enumerate(frame.to_delayed())]
            frame = frames.from_delayed(ordered, meta=meta, verify_meta=False).shuffle(on="__tacit_who")
        pack = dask.delayed(_dask_pack, pure=True)
        self._packed = dask.persist(*(pack(job, unit, f"partition {i}", part) for i, part in enumerate(frame.to_delayed())))
        counts = dask.compute(*(dask.delayed(_dask_counts)(part) for part in self._packed))
        self.parts = [part for some in counts for part in some]

    def sum(self, job: Job, request: str) -> tuple[int, bytes | None]:
        dask = importlib.import_module("dask")
        sums = [dask.delayed(_dask_sum)(job, request, part) for part in self._packed]
        while len(sums) > 1:
            sums = [dask.delayed(_dask_add)(sums[i:i + _FAN_IN]) for i in range(0, len(sums), _FAN_IN)]
        n, total = dask.compute(sums[0])[0]
        return n, total

    def close(self) -> None:
        super().close()
        self._packed = ()


# ---- Parquet on this machine's disk ----

def _parquet_files(path: str) -> list[str]:
    if os.path.isdir(path):  # its files, and those of folders by a column's values ("year=2024"); no others: "/" is a folder too
        within = glob.escape(path)
        folders = filter(os.path.isdir, glob.glob(os.path.join(within, "*=*")))
        return sorted([*glob.glob(os.path.join(within, "*.parquet")), *(file for folder in folders for file in _parquet_files(folder))])
    return sorted(glob.glob(path)) if glob.has_magic(path) and not os.path.exists(path) else [path]


def is_parquet(data: Any) -> bool:
    if not isinstance(data, (str, os.PathLike)) or not isinstance(os.fspath(data), str):
        return False
    path = os.fspath(data)
    return path.endswith(".parquet") or (os.path.isdir(path) and not os.path.exists(os.path.join(path, "manifest.yaml"))
                                         and bool(_parquet_files(path)))


def parquet_source(path: str, columns: list[str]) -> Any:
    """A stream of some columns of a file, of a folder, or of files that a pattern names, in the order of their names."""
    dataset = importlib.import_module("pyarrow.dataset").dataset(_found(path), format="parquet")
    _data._require(columns, dataset.schema.names)
    return dataset.scanner(columns=columns, batch_readahead=4, fragment_readahead=1).to_reader()


def _found(path: str) -> list[str]:
    files = _parquet_files(path)
    if not files:
        raise ArgumentError(f"data: no file is called {path}", "data", "missing")
    return files


def _n_rows(path: str) -> int:
    """By what the files say of themselves."""
    return sum(importlib.import_module("pyarrow.parquet").read_metadata(file).num_rows for file in _found(path))


class Parquet:
    """Parquet files as a frame that hands out a stream of the columns that are asked for."""

    def __init__(self, path: str) -> None:
        self.path = path


class Files(Engine):
    """Parquet files that are larger than memory: parts are packed into a file without a name in the folder `scratch`, and mapped in each pass."""

    _file: Any = None
    _map: Any = None

    def __init__(self, data: Any, settings: list[tuple[str, str]]) -> None:
        super().__init__(data, settings)
        self._places: list[tuple[int, int]] = []

    def _batches(self, columns: list[str], unit: str | None) -> Iterable[Any]:
        if unit is None:
            stream: Iterable[Any] = parquet_source(self.data, columns)
            return stream
        try:
            duckdb = importlib.import_module("duckdb")
        except ImportError:
            reason = "rows of persons are brought together out of core by DuckDB: pip install duckdb, or leave out scratch"
        else:
            base = duckdb.connect(config={"temp_directory": self.settings["scratch"]})
            names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
            who = '"' + unit.replace('"', '""') + '"'
            rows = base.execute(f"SELECT {names} FROM read_parquet(?, filename=true, file_row_number=true) "
                                f"ORDER BY CAST({who} AS VARCHAR), filename, file_row_number", [_found(self.data)])
            stream = rows.to_arrow_reader(1 << 16) if hasattr(rows, "to_arrow_reader") else rows.fetch_record_batch(1 << 16)
            return stream
        raise ArgumentError(reason, "scratch", "argument")

    def open(self, job: Job) -> None:
        columns, unit = job.columns()
        self._file = tempfile.TemporaryFile(dir=self.settings["scratch"])
        at, begun, n_rows = 0, time.monotonic(), _n_rows(self.data)
        threads = int(self.settings.get("threads", 1))
        with ThreadPoolExecutor(threads) as pool:
            waiting: list[Any] = []
            todo = pieces(self._batches(columns, unit), unit)
            for first, table in todo:
                waiting.append(pool.submit(_pack_piece, job, self.data, first, table))
                done, seconds = first + table.num_rows, time.monotonic() - begun
                left = f", {seconds * (n_rows - done) / done:.0f} s left" if seconds > 1 else ""
                self.show(f"packing: {done:,} of {n_rows:,} rows{left}")
                del table
                if len(waiting) > threads:
                    at = self._keep(waiting.pop(0).result(), at)
            for future in waiting:
                at = self._keep(future.result(), at)
        self._file.flush()
        if at > 0:
            self._map = mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)

    def _keep(self, packed: tuple[int, int, bytes], at: int) -> int:
        self.parts.append(packed[:2])
        self._file.write(packed[2])
        self._places.append((at, len(packed[2])))
        return at + len(packed[2])

    def _sum_one(self, job: Job, request: str, place: tuple[int, int]) -> bytes:
        with memoryview(self._map) as whole, whole[place[0]:place[0] + place[1]] as packed:
            return job.add(None, request, packed)

    def sum(self, job: Job, request: str) -> tuple[int, bytes | None]:
        with ThreadPoolExecutor(int(self.settings.get("threads", 1))) as pool:
            return len(self._places), functools.reduce(add, pool.map(functools.partial(self._sum_one, job, request), self._places), None)

    def close(self) -> None:
        super().close()
        for held in (self._map, self._file):
            if held is not None:
                held.close()
        self._map = self._file = None


def engine_of(data: Any, pairs: list[tuple[str, str]]) -> Engine | None:
    """The engine that holds these data, or None: then they are read into this process."""
    module = _data._module(data)
    if module == "pyspark":
        return Spark(data.to_spark() if hasattr(data, "to_spark") else data, pairs)
    if module in ("dask", "dask_expr"):
        return Dask(data, pairs)
    if is_parquet(data) and dict(pairs).get("scratch"):
        return Files(os.fspath(data), pairs)
    return None
