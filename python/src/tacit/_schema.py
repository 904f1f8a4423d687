"""Before a fit: a template of a schema, what is wrong with one, records beside it; and which families there are."""
from __future__ import annotations

from typing import Any

from . import _core, _data, _html
from ._data import Schema
from ._errors import FileError
from ._kept import _new_file, _write
from ._settings import Path


def schema_draft(data: Any, *, out: Path | None = None, header: bool = False) -> str:
    """Write a template of a schema for your data: names of columns, and questions to answer WITHOUT looking at the records.

    data: as of `tacit.fit`. Of a frame names and types are looked at, the types stand in comments, and not one value is; of a CSV file the first rows,
        to notice that the first one is no header (header=True: it is one).
    out: a new file for the template, which `tacit.schema_check` says what is missing in. Without it the text is returned, and nothing written.
    """
    source = _data.source(data)
    del data  # no frame of ours holds records when something is raised
    try:
        _data.check(source, {})
        file = _new_file(out)
        text = _core.schema_draft(source if isinstance(source, str) else source.names, _data.flag(header, "header"))
    finally:
        _data.drop(source)
    failure = "" if file is None else _write(file, text)
    if failure:
        raise FileError(failure, "out", "io")
    return text


class SchemaCheck:
    """What `tacit.schema_check` found: nothing wrong. Of the schema alone, and public: text and warnings.

    for_holder: what only the holder of the data may see: which columns were moved to their bounds, and the like; None where no data were given.
    counts: likewise: rows, units, values clamped, values missing, rows beyond max_rows; None where no data were given. Neither is printed or pickled.
    """

    def __init__(self, text: str, warnings: str, for_holder: str | None = None, counts: dict[str, int] | None = None,
                 has_data: bool | None = None) -> None:
        self.text = text
        self.warnings = warnings
        self.for_holder = for_holder
        self.counts = counts
        self._has_data = for_holder is not None if has_data is None else has_data

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text, self.warnings, None, None, self._has_data)

    def __repr__(self) -> str:
        more = "ok: every row of the data keeps the schema's rules\n.for_holder and .counts say what was moved or is missing: for the holder of the data only"
        return (self.text + self.warnings + (more if self._has_data else "")).rstrip("\n")

    def _repr_html_(self) -> str:
        return _html.block(repr(self))


def schema_check(schema: Schema, data: Any = None) -> SchemaCheck:
    """Say what is wrong with a schema (SchemaError), or, where data are given, which record breaks its rules (DataError, for the holder alone).

    schema: a path, YAML text, or a dict; its keys: docs/python.md. data: as of `tacit.fit`; all columns of the schema are read, and nothing is kept or spent.
    Whether all is well is seen by the holder of the data alone, too: it is computed from every record, and not released.
    """
    text, name = _data.schema_text(schema)
    if data is None:
        return SchemaCheck(*_core.schema_check(text, name, None)[:2])
    source = _data.source(data)
    del data
    try:
        _data.check(source, {})
        says, warnings, for_holder, *counts = _core.schema_check(text, name, source)
    finally:
        _data.drop(source)
    names = ("rows", "units", "clamped", "missing", "beyond_max_rows")
    return SchemaCheck(says, warnings, for_holder, dict(zip(names, counts, strict=True)))


class Families(list[dict[str, str]]):
    """Families of regressions: name, response, link, summary."""

    def __repr__(self) -> str:
        return "\n".join(f"{of['name']:<26} {of['response']:<32} {of['link']:<22} {of['summary']}" for of in self)

    def _repr_html_(self) -> str:
        return _html.table(("family", "response", "link", ""), [list(of.values()) for of in self])


def families() -> Families:
    """What may stand as family= in `tacit.fit`, `tacit.plan` and `tacit.model`: name, what the schema must say of the response, link, what it is for."""
    return Families(_core.families())
