"""Texts and numbers that somebody asks for before a fit or after it: no record is near."""
from __future__ import annotations

from typing import Any, Unpack

from . import _core, _data
from ._data import Schema
from ._errors import ArgumentError, FileError
from ._fit import _pairs
from ._kept import _new_file, _write
from ._settings import Path, PlanSettings


def statement(path: Path | None = None, *, ledger: Path | None = None, out: Path | None = None) -> str:
    """The page about a fit, or about a data set, that a privacy officer checks and signs. From released files alone; costs no privacy.

    path: the directory of a fit. The releases listed there are composed again; a claim that they exceed is refused.
    ledger: in place of it: all runs on a data set, those to come included, by its ledger, which is verified.
    out: a new file, whose name says what is written: .html, a page that stands alone; .txt; of a ledger .json, too, an entry for a registry
        without names of people, machines and files. Without it the text is returned, and nothing written.
    """
    if (path is None) == (ledger is None):
        raise ArgumentError("path or ledger: the directory of a fit, or the ledger of a data set; one of them", "path", "argument")
    file = _new_file(out)
    kind = "txt" if file is None else file.rpartition(".")[2]
    if kind not in ("txt", "html") and (kind != "json" or ledger is None):
        raise ArgumentError("out: a name that ends in .html or .txt, or of a ledger in .json", "out", "argument")
    page = _core.statement(None if path is None else _data.path(path), None if ledger is None else _data.path(ledger, "ledger"), kind)
    failure = "" if file is None else _write(file, page)
    if failure:
        raise FileError(failure, "out", "io")
    return page


def model(formula: str, *, family: str, schema: Schema) -> str:
    """The program in Stan's language that a formula stands for: to read, or to edit and fit with `tacit.fit(program=...)`.

    family: one of `tacit.families()`.
    """
    text, name = _data.schema_text(schema)
    return _core.model(_data.text(formula, "formula", "a text such as 'y ~ a + b'"), _data.text(family, "family"), text, name)


class Wanted(dict[str, Any]):
    """Which epsilon gives intervals of a width: by relation ("substitute", "add-remove") its epsilon where columns fill their bounds, and epsilon_unkind
    where they do not (docs/guide/epsilon.md). None: not by noise-aware; infinite: no epsilon up to 10^6 does.
    """

    def __init__(self, width: float, rows: list[tuple[str, float, float]]) -> None:
        super().__init__({relation: {"epsilon": None if least != least else least, "epsilon_unkind": None if unkind != unkind else unkind}
                          for relation, least, unkind in rows})
        self.width = width

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.width, [(relation, *(float("nan") if value is None else value for value in of.values()))
                                         for relation, of in self.items()])

    def __repr__(self) -> str:
        def cell(value: float | None) -> str:
            return "-" if value is None else "none" if value == float("inf") else f"{value:.3g}"
        lines = [f"intervals {self.width:g} times as wide as without privacy, by noise-aware, need epsilon",
                 f"{'relation':<12} {'at least':>14} {'unkind columns':>14}"]
        return "\n".join(lines + [f"{relation:<12} {cell(of['epsilon']):>14} {cell(of['epsilon_unkind']):>14}" for relation, of in self.items()])


def epsilon_for(width: float, formula: str, *, schema: Schema, n: float, family: str, delta: float, out: Path | None = None,
                **settings: Unpack[PlanSettings]) -> Wanted:
    """Say which epsilon gives intervals `width` times as wide as without privacy, before a record is read. Forecasts from n and the schema alone, no promise.

    width: above 1, at most 1000. n: the number of records; where it is private a nominal public one. formula, schema, family, delta, settings: as of `tacit.fit`.
    out: a new file, "plan.html", for a page that draws the width of every coefficient against epsilon.
    """
    text, name = _data.schema_text(schema)
    file = _new_file(out)
    if hasattr(n, "__arrow_c_stream__") or isinstance(n, (str, bytes)):
        raise ArgumentError("n is a public number: counting records here may tell what is private", "n", "argument")
    wanted = _data.number(width, "width")
    rows, page = _core.want_width(_data.text(formula, "formula", "a text such as 'y ~ a + b'"),
                                  _pairs({"family": family, "delta": delta, **dict(settings)}), text, name,
                                  _data.number(n, "n"), wanted)
    failure = "" if file is None else _write(file, page)
    if failure:
        raise FileError(failure, "out", "io")
    return Wanted(wanted, rows)
