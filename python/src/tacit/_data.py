"""Where records come from: a path, or whatever hands out an Arrow stream.

Frames are held by an object that gives them away once, so that no traceback of ours reaches a record.
"""
from __future__ import annotations

import datetime
import difflib
import importlib
import importlib.util
import json
import os
from array import array
from collections.abc import Mapping
from typing import Any

from ._errors import ArgumentError, DataError, FileError

Schema = str | os.PathLike[str] | Mapping[str, Any]


class Once:
    """Holds data until they are asked for, or dropped."""

    def __init__(self, data: Any) -> None:
        self._data = [data]

    def is_empty(self) -> bool:
        return not self._data or self._data[0] is None

    def drop(self) -> None:
        self._data.clear()

    def names(self, _: object) -> object:
        """A stream without a record, for who asks for names and types."""
        try:
            return _no_rows(self._data.pop())
        except (ArgumentError, DataError) as error:
            failure: Exception = type(error)(str(error), error.field, error.status)
        except Exception as error:
            failure = DataError("the data do not say their columns (the exception's .detail holds what they said: private)", "data", "data",
                                f"{type(error).__name__}: {error}")
        raise failure

    def __call__(self, columns: list[str]) -> object:
        """A capsule, or a list of columns in buffers; called by the extension, which knows which columns it needs."""
        try:
            return _stream(self._data.pop(), columns)
        except (ArgumentError, DataError) as error:
            failure: Exception = type(error)(str(error), error.field, error.status)
        except Exception as error:  # its text, its frames and what it stems from may hold values
            failure = DataError("the data cannot be handed over as an Arrow stream (the exception's .detail holds what they said: private)",
                                "data", "data", f"{type(error).__name__}: {error}")
        raise failure  # outside of the handlers, so that it leads to no frame that holds data


def _module(data: Any) -> str:
    return (type(data).__module__ or "").partition(".")[0]


def _names(data: Any) -> list[str]:
    return [str(name) for name in data.columns]


def _no_rows(data: Any) -> object:
    """The columns of data, without their rows."""
    if isinstance(data, _File):
        data = data.open()
    if _is_dataset(data):
        data = data.schema.empty_table()
    module = _module(data)
    if module == "pandas":
        names = _names(data)
        if len(set(names)) < len(names):
            raise DataError("two columns of the data have one name", "data", "data")
        return [_empty(name, kind) for name, kind in zip(names, data.dtypes, strict=True)]
    if module == "polars":
        data = data.head(0).collect() if type(data).__name__ == "LazyFrame" else data.head(0)
    elif _is_relation(data):
        return _duckdb(data.limit(0), _names(data))
    elif isinstance(data, dict):
        return [_empty(str(name), getattr(values, "dtype", None)) for name, values in data.items()]
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    return _stream(data, [])  # which says what is wrong


def _empty(name: str, dtype: Any) -> Column:
    """A column without values, of the type that an array says it has; of Python's objects no type is known."""
    kind = getattr(dtype, "kind", "O")
    kind = "U" if "string" in str(dtype).lower() or str(dtype) == "str" else kind
    layout = {"b": "b", "i": "l", "u": "L", "f": "g", "U": "U", "M": "tdD"}.get(kind)
    if layout == "U":
        return name, "U", 0, (None, array("q", [0]), b"")
    return name, layout or "n", 0, (None, b"")


def _did_you_mean(name: str, names: list[str]) -> str:
    """A name that is near, whatever the case."""
    by_case = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), by_case, 1, 0.75)
    return f" (did you mean {by_case[near[0]]!r}?)" if near else ""


def _require(columns: list[str], names: list[str]) -> None:
    for name in columns:
        if name not in names:
            raise DataError(f"the data have no column {name!r}{_did_you_mean(name, names)}", name, "unknown")


def _stream(data: Any, columns: list[str]) -> object:
    if isinstance(data, _File):
        data = data.open()
    module = _module(data)
    if _is_dataset(data):
        _require(columns, data.schema.names)
        return data.scanner(columns=[name for name in columns if name in data.schema.names]).to_reader().__arrow_c_stream__()
    if module == "polars" and type(data).__name__ == "LazyFrame":
        data = data.select([name for name in columns if name in data.collect_schema().names()]).collect()
    if module in ("pandas", "polars") or _is_relation(data):
        names = _names(data)
        _require(columns, names)
        for name in columns:
            if names.count(name) > 1:
                raise DataError(f"the data have {names.count(name)} columns of the name {name!r}", name, "data")
        wanted = [name for name in columns if name in names]  # others need not be readable
        if _is_relation(data):
            return _duckdb(data, wanted)
        if module == "pandas":
            return _pandas({name: data[name] for name in wanted})  # views; of several columns together it makes a copy
        data = data[wanted]
        if not hasattr(data, "__arrow_c_stream__"):  # polars before 1.3
            data = {name: data[name].to_list() for name in wanted}
    if type(data).__name__ == "Parquet" and module == "tacit":
        return importlib.import_module("tacit._parts").parquet_source(data.path, columns).__arrow_c_stream__()
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    if isinstance(data, dict):
        _require(columns, [str(name) for name in data])
        found = [_column(name, data[name]) for name in columns if name in data]
        if len({column[2] for column in found}) > 1:
            raise DataError("the columns of the data are not of one length", "data", "data")
        return found
    raise ArgumentError("data must be a path, or a data frame of pandas, polars, pyarrow or DuckDB, or anything else with "
                        f"__arrow_c_stream__, or a dict of columns; not {type(data).__name__}", "data", "argument")


def _is_dataset(data: Any) -> bool:
    """Of pyarrow: files that are read some rows at a time."""
    return _module(data) == "pyarrow" and hasattr(data, "scanner") and hasattr(data, "schema")


def _is_relation(data: Any) -> bool:
    return _module(data) in ("duckdb", "_duckdb") and hasattr(data, "select") and hasattr(data, "columns")


def _duckdb(data: Any, names: list[str]) -> object:
    """A chunk at a time, where pyarrow is there; the relation's own stream holds all of the result. Chunks of few rows: what DuckDB holds beside
    them grows with them (docs/results/bindings.md)."""
    data = data.select(*(importlib.import_module("duckdb").ColumnExpression(name) for name in names))
    for reader in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch"):
        if hasattr(data, reader):
            try:
                return getattr(data, reader)(8192).__arrow_c_stream__()
            except ImportError:
                break
    return data.__arrow_c_stream__()


def _arrow(pyarrow: Any, name: str, column: Any) -> Any:
    """A column of pandas as pyarrow has it; where that finds values of several kinds, the column is named, and no value."""
    if getattr(column.dtype, "kind", "") == "m":
        return pyarrow.array(_days(column.to_numpy()), from_pandas=True)
    try:
        return pyarrow.Array.from_pandas(column)
    except Exception:
        reason = f"column {name!r}: values of several kinds, or of one that is not read: make numbers, text or booleans of them"
    raise DataError(reason, name, "data")


def _days(values: Any) -> Any:
    """Durations of numpy as numbers of days; NaT is NaN."""
    return values / importlib.import_module("numpy").timedelta64(1, "D")


def _pandas(columns: dict[str, Any]) -> object:
    """Plain numbers by their buffers; other types by way of pyarrow where it is there, else by value."""
    if not all(_is_plain(_array_of(column)) for column in columns.values()):
        try:
            pyarrow = importlib.import_module("pyarrow")
        except ImportError:
            pass
        else:
            return pyarrow.table({name: _arrow(pyarrow, name, column) for name, column in columns.items()}).__arrow_c_stream__()
    return [_column(name, column) for name, column in columns.items()]


_FORMATS = {"b1": "C", "i1": "c", "i2": "s", "i4": "i", "i8": "l", "u1": "C", "u2": "S", "u4": "I", "u8": "L", "f2": "e", "f4": "f",
            "f8": "g"}
Column = tuple[str, str, int, tuple[Any, ...]]


def _array_of(values: Any) -> Any:
    return getattr(values, "values", values)


def _is_plain(array: Any) -> bool:
    """Numbers of one machine type in this machine's order, as numpy holds them."""
    kind = getattr(getattr(array, "dtype", None), "str", "")
    return kind[1:] in _FORMATS and kind[0] in "|=<" and getattr(array, "ndim", 1) == 1


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value  # NA has no truth


def _bits(flags: list[bool]) -> bytes:
    bits = bytearray((len(flags) + 7) // 8)
    for i, flag in enumerate(flags):
        if flag:
            bits[i >> 3] |= 1 << (i & 7)
    return bytes(bits)


def _column(name: str, values: Any) -> Column:
    """(name, format, rows, buffers) of a plain array, or of anything else by its values."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or not hasattr(values, "__len__"):
        raise DataError(f"column {name!r}: a list or an array of values, not {type(values).__name__}", name, "data")
    plain = _array_of(values)
    shape: tuple[int, ...] = getattr(plain, "shape", (0,))
    if len(shape) == 2 and shape[1] == 1:
        plain = values = plain.reshape(-1)
    elif len(shape) > 1:
        raise DataError(f"column {name!r}: an array of {' x '.join(map(str, shape))}: a column is of one dimension", name, "data")
    if getattr(getattr(plain, "dtype", None), "kind", "") == "m":
        plain = _days(plain)
    if _is_plain(plain):
        kind, numpy = plain.dtype.str[1:], importlib.import_module("numpy")
        if kind == "b1":
            return name, "b", len(plain), (None, numpy.packbits(plain, bitorder="little").tobytes())
        return name, _FORMATS[kind], len(plain), (None, numpy.ascontiguousarray(plain))
    if getattr(getattr(plain, "dtype", None), "kind", "") == "M" and getattr(plain, "ndim", 1) == 1:
        numpy = importlib.import_module("numpy")
        there = numpy.packbits(~numpy.isnat(plain), bitorder="little").tobytes()
        return name, "tsu:", len(plain), (there, numpy.ascontiguousarray(plain.astype("datetime64[us]").view("int64")))
    return _by_value(name, list(values))


def _microseconds(value: datetime.date) -> int:
    """Since 1970, of a date's midnight; of a time with a zone in UTC, as Arrow has it."""
    if not isinstance(value, datetime.datetime):
        return (value.toordinal() - _EPOCH.toordinal()) * 86_400_000_000
    naive = value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if value.tzinfo is not None else value
    return (naive - _EPOCH) // datetime.timedelta(microseconds=1)


_EPOCH = datetime.datetime(1970, 1, 1)


def _by_value(name: str, values: list[Any]) -> Column:
    there = [not _is_missing(value) for value in values]
    kinds = {type(value) for value, is_there in zip(values, there, strict=True) if is_there}
    bitmap = None if all(there) else _bits(there)
    if kinds <= {bool} or {kind.__name__ for kind in kinds} <= {"bool", "bool_"}:
        return name, "b", len(values), (bitmap, _bits([is_there and bool(value) for value, is_there in zip(values, there, strict=True)]))
    if all(issubclass(kind, str) for kind in kinds):
        parts = [str(value).encode() if is_there else b"" for value, is_there in zip(values, there, strict=True)]
        offsets = array("q", [0])
        for part in parts:
            offsets.append(offsets[-1] + len(part))
        return name, "U", len(values), (bitmap, offsets, b"".join(parts))
    if kinds and all(issubclass(kind, datetime.date) for kind in kinds):
        return name, "tsu:", len(values), (bitmap, array("q", [_microseconds(value) if is_there else 0
                                                               for value, is_there in zip(values, there, strict=True)]))
    if all(hasattr(kind, "__index__") and kind is not bool for kind in kinds):
        whole = [int(value) if is_there else 0 for value, is_there in zip(values, there, strict=True)]
        return name, "l", len(values), (bitmap, array("q", whole))
    if all(hasattr(kind, "__float__") and kind is not bool for kind in kinds):
        return name, "g", len(values), (bitmap,
                                        array("d", [float(value) if is_there else 0.0 for value, is_there in zip(values, there, strict=True)]))
    raise DataError(f"column {name!r}: values of several kinds, or of one that is not read: make numbers, text or booleans of them", name,
                    "data")


def text(value: Any, field: str, expected: str = "a text") -> str:
    """A text that C can hold, of a text or a path."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise ArgumentError(f"{field}: {expected}, not {type(value).__name__}", field, "argument")
    found = os.fspath(value)
    if "\0" in found or any("\ud800" <= letter <= "\udbff" or "\udc00" <= letter <= "\udfff" for letter in found):
        raise ArgumentError(f"{field}: a text without NUL characters and without halves of surrogate pairs", field, "argument")
    return found


def path(value: Any, field: str = "path") -> str:
    """The path of a file, a directory, or of what was written there: a fit, a ledger."""
    found = text(value, field, "the path of a file or a directory")
    if not found:
        raise ArgumentError(f"{field}: the path of a file or a directory, not an empty text", field, "argument")
    return found


def whole(value: Any, field: str, least: int, most: int) -> int:
    """A whole number in a range, whatever type of number it is."""
    try:
        found = int(value) if not isinstance(value, (str, bytes)) and int(value) == value else None
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or not least <= found <= most:
        raise ArgumentError(f"{field}: a whole number from {least} to {most}", field, "argument")
    return found


def number(value: Any, field: str) -> float:
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{field}: a number that a double can hold", field, "argument") from None


def flag(value: Any, field: str) -> bool:
    """True or False; numpy's, too."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise ArgumentError(f"{field}: True or False", field, "argument")
    return bool(value)


class _File:
    """A file of columns that another package reads, when it is asked for."""

    def __init__(self, path: str, kind: str) -> None:
        self._path, self._kind = path, kind

    def open(self) -> Any:
        """By pyarrow, DuckDB or polars, the first that is there: a frame that hands out an Arrow stream, some rows at a time."""
        for reader in _COLUMN_READERS[self._kind]:
            try:
                return reader(self._path, self._kind)
            except ImportError:
                continue
        call = {"Parquet": "read_parquet", "Feather": "read_feather"}[self._kind]
        raise ArgumentError(f"{self._path} is a {self._kind} file, which pyarrow reads (pip install pyarrow), or pandas.{call}({self._path!r}): "
                            "give what that returns", "data", "argument")


def _by_pyarrow(path: str, kind: str) -> Any:
    return importlib.import_module("pyarrow.dataset").dataset(path, format=kind.lower())


def _by_duckdb(path: str, _: str) -> Any:
    return importlib.import_module("duckdb").read_parquet(path)


def _by_polars(path: str, kind: str) -> Any:
    polars = importlib.import_module("polars")
    return polars.scan_parquet(path) if kind == "Parquet" else polars.scan_ipc(path)


_COLUMN_READERS = {"Parquet": (_by_pyarrow, _by_duckdb, _by_polars), "Feather": (_by_pyarrow, _by_polars)}


def _magic(path: str) -> str | None:
    """What the first bytes of a file say that it is, of what is read by columns."""
    if not os.path.isfile(path):  # a pipe would lose what is read
        return None
    try:
        with open(path, "rb") as file:
            return {b"PAR1": "Parquet", b"ARRO": "Feather"}.get(file.read(4))
    except OSError:
        return None


def source(data: Any) -> str | Once:
    """The path as text, or the holder."""
    if isinstance(data, (str, os.PathLike)):
        name = text(data, "data")
        kind, parts = _magic(name), importlib.import_module("tacit._parts")
        if parts.is_parquet(data) and (kind is None or importlib.util.find_spec("pyarrow") is not None):
            return Once(parts.Parquet(name))  # some columns of one file or many, some rows at a time
        return name if kind is None else Once(_File(name, kind))
    return Once(data)


# Options of the program that are something else here.
_ELSEWHERE = {"yes": "accept_poor=True", "quiet": "progress=False", "dry_run": "tacit.plan()", "print_model": "tacit.model()",
              "curator_notes": "the program's: it prints what is private",
              # of PyMC, Bambi and brms
              "tune": "warmup=", "cores": "threads=", "priors": "prior=", "file": "out=", "iter": "draws= of each chain, and warmup="}


_SEEDS = ("seed", "random_seed", "random_state", "rng")


def check(source: str | Once, settings: Mapping[str, Any]) -> None:
    """Refuse what no call that reads records takes: no data, and a seed that does not say what it gives up."""
    for name in settings:
        if name in _ELSEWHERE:
            raise ArgumentError(f"{name}: here that is {_ELSEWHERE[name]}", name, "argument")
    for name in _SEEDS:
        if name in settings:
            raise ArgumentError(f"{name}: spelled seed_not_private: noise that can be repeated protects nobody", "seed", "argument")
    if source == "" or (isinstance(source, Once) and source.is_empty()):
        raise ArgumentError("data: a path, or a data frame", "data", "argument")


def drop(source: str | Once) -> None:
    if isinstance(source, Once):
        source.drop()


def yaml_text(yaml: Schema, what: str) -> tuple[bytes, str]:
    """The bytes of a path, a text or a dict, and what stands for its name in messages."""
    if isinstance(yaml, Mapping):
        try:
            return json.dumps(dict(yaml), default=_plain).encode(), what
        except (TypeError, ValueError, RecursionError):
            reason = f"{what}: a dict of names, texts, numbers, lists and dicts of them"
        raise ArgumentError(reason, what, "argument")
    found = text(yaml, what, "a path, YAML text, or a dict")
    if isinstance(yaml, str) and ("\n" in found or ": " in found) and not os.path.exists(found):
        return found.encode(), what
    named = path(yaml, what)
    try:
        with open(named, "rb") as file:
            return file.read(), named
    except OSError as error:
        reason = f"cannot open {named}: {error.strerror}"
    raise FileError(reason, named, "missing" if not os.path.exists(named) else "io")


def _plain(value: Any) -> Any:
    """What numpy has for numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError


def schema_text(schema: Schema) -> tuple[bytes, str]:
    """Of a dict without a name: messages name the key at fault, and no line that nobody wrote."""
    text_, name = yaml_text(schema, "schema")
    return text_, "" if isinstance(schema, Mapping) else name
