"""Where records come from: a path, or whatever hands out an Arrow stream.

Frames are held by an object that gives them away once, so that no traceback of ours reaches a record.
"""
from __future__ import annotations

import importlib
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


def _stream(data: Any, columns: list[str]) -> object:
    module = _module(data)
    if module == "polars" and type(data).__name__ == "LazyFrame":
        data = data.select([name for name in columns if name in data.collect_schema().names()]).collect()
    if module in ("pandas", "polars") or _is_relation(data):
        names = _names(data)
        for name in columns:
            if names.count(name) > 1:
                raise DataError(f"the data have {names.count(name)} columns of the name {name!r}", name, "data")
        wanted = [name for name in columns if name in names]  # others need not be readable
        if _is_relation(data):
            return _duckdb(data, wanted)
        data = data[wanted]
    if module == "pandas":
        return _pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    if isinstance(data, dict):
        return [_column(str(name), data[name]) for name in columns if name in data]
    raise ArgumentError("data must be a path, or a data frame of pandas, polars, pyarrow or DuckDB, or anything else with "
                        f"__arrow_c_stream__, or a dict of columns; not {type(data).__name__}", "data", "argument")


def _is_relation(data: Any) -> bool:
    return _module(data) in ("duckdb", "_duckdb") and hasattr(data, "select") and hasattr(data, "columns")


def _duckdb(data: Any, names: list[str]) -> object:
    """A chunk at a time, where pyarrow is there; the relation's own stream holds all of the result."""
    data = data.select(*(importlib.import_module("duckdb").ColumnExpression(name) for name in names))
    for reader in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch"):
        if hasattr(data, reader):
            try:
                return getattr(data, reader)(65536).__arrow_c_stream__()
            except ImportError:
                break
    return data.__arrow_c_stream__()


def _pandas(data: Any) -> object:
    """By way of pyarrow where it is there; else column by column."""
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return data.__arrow_c_stream__()
        except ImportError:
            pass
    else:
        try:
            pyarrow = importlib.import_module("pyarrow")
        except ImportError:
            pass
        else:
            return pyarrow.Table.from_pandas(data, preserve_index=False).__arrow_c_stream__()
    return [_column(str(name), data[name]) for name in data.columns]


_FORMATS = {"b1": "C", "i1": "c", "i2": "s", "i4": "i", "i8": "l", "u1": "C", "u2": "S", "u4": "I", "u8": "L", "f2": "e", "f4": "f",
            "f8": "g"}
Column = tuple[str, str, int, tuple[Any, ...]]


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def _bits(flags: list[bool]) -> bytes:
    bits = bytearray((len(flags) + 7) // 8)
    for i, flag in enumerate(flags):
        if flag:
            bits[i >> 3] |= 1 << (i & 7)
    return bytes(bits)


def _column(name: str, values: Any) -> Column:
    """(name, format, rows, buffers) of a plain array, or of anything else by its values."""
    plain = getattr(values, "values", values)
    kind = getattr(getattr(plain, "dtype", None), "str", "")
    if kind[1:] in _FORMATS and kind[0] in "|=<" and getattr(plain, "ndim", 1) == 1:
        if kind[1:] == "b1":
            return name, "b", len(plain), (None, _bits([bool(value) for value in plain]))
        numpy = importlib.import_module("numpy")
        return name, _FORMATS[kind[1:]], len(plain), (None, numpy.ascontiguousarray(plain))
    return _by_value(name, list(values))


def _by_value(name: str, values: list[Any]) -> Column:
    there = [not _is_missing(value) for value in values]
    kinds = {type(value) for value, is_there in zip(values, there, strict=True) if is_there}
    bitmap = None if all(there) else _bits(there)
    if kinds <= {bool} or {kind.__name__ for kind in kinds} <= {"bool", "bool_"}:
        return name, "b", len(values), (bitmap, _bits([is_there and bool(value) for value, is_there in zip(values, there, strict=True)]))
    if kinds <= {str}:
        parts = [value.encode() if is_there else b"" for value, is_there in zip(values, there, strict=True)]
        offsets = array("q", [0])
        for part in parts:
            offsets.append(offsets[-1] + len(part))
        return name, "U", len(values), (bitmap, offsets, b"".join(parts))
    if all(hasattr(kind, "__index__") and kind is not bool for kind in kinds):
        whole = [int(value) if is_there else 0 for value, is_there in zip(values, there, strict=True)]
        return name, "l", len(values), (bitmap, array("q", whole))
    if all(hasattr(kind, "__float__") and kind is not bool for kind in kinds):
        return name, "g", len(values), (bitmap, array("d", [float(value) if is_there else 0.0 for value, is_there in zip(values, there, strict=True)]))
    raise DataError(f"column {name!r}: values of several kinds, or of one that is not read: make numbers, text or booleans of them", name,
                    "data")


def source(data: Any) -> str | Once:
    """The path as text, or the holder."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    return Once(data)


def check(source: str | Once, settings: Mapping[str, Any]) -> None:
    """Refuse what no call that reads records takes: no data, and a seed that does not say what it gives up."""
    if "seed" in settings:
        raise ArgumentError("spelled seed_not_private: noise that can be repeated protects nobody", "seed", "argument")
    if source == "" or (isinstance(source, Once) and source.is_empty()):
        raise ArgumentError("data: a path, or a data frame", "data", "argument")


def drop(source: str | Once) -> None:
    if isinstance(source, Once):
        source.drop()


def yaml_text(yaml: Schema, what: str) -> tuple[bytes, str]:
    """The bytes of a path, a text or a dict, and what stands for its name in messages."""
    if isinstance(yaml, Mapping):
        return json.dumps(yaml).encode(), what
    if isinstance(yaml, str) and not os.path.exists(yaml) and ("\n" in yaml or ": " in yaml):
        return yaml.encode(), what
    path = os.fspath(yaml)
    try:
        with open(path, "rb") as file:
            return file.read(), path
    except OSError as error:
        reason = f"cannot open {path}: {error.strerror}"
    raise FileError(reason, path, "missing" if not os.path.exists(path) else "io")


def schema_text(schema: Schema) -> tuple[bytes, str]:
    return yaml_text(schema, "schema")
