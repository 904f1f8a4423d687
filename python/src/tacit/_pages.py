"""Texts that somebody asks for: the page that a privacy officer signs, the program that a formula stands for."""
from __future__ import annotations

from . import _core, _data
from ._data import Schema
from ._errors import ArgumentError, FileError
from ._fit import Path
from ._kept import _new_file, _write


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

    family: also one of those that only programs have: tacit.fit says which when it does not know one (docs/language.md).
    """
    text, name = _data.schema_text(schema)
    return _core.model(_data.text(formula, "formula", "a text such as 'y ~ a + b'"), _data.text(family, "family"), text, name)
