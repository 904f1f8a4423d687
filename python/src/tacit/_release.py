"""Statistics with noise, for whoever may see them."""
from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from typing import Any, Unpack

from . import _core, _data, _spent
from ._data import Schema
from ._errors import PrivacyWarning
from ._fit import _pairs
from ._settings import Path, ReleaseSettings, Setting


class Release:
    """A released statistic. Plain data, with no way back to a record.

    value: the released statistic itself: a number, or a list of them; of a clamped mean the mean, of margins the cells of one after the other.
    yaml: the same as `tacit.infer` reads it; values: sums over the records, noise included; scales: of the noise in each.
    privacy: a dict: private, epsilon, delta (0: none), relation, unit, dataset where the schema names one; path: the file, or None.
    """

    yaml: str
    values: list[float]
    scales: list[float]
    privacy: dict[str, Any]
    path: str | None

    def __init__(self, result: dict[str, Any], path: str | None) -> None:
        self.yaml = result["yaml"]
        self.values, self.scales = result["values"], result["scales"]
        self.privacy = _privacy(self.yaml)
        self.path = path
        self._spent: str = result["spent"]

    @property
    def is_private(self) -> bool:
        return bool(self.privacy["private"])

    @property
    def value(self) -> float | list[float]:
        """The released statistic, noise included: what its YAML calls value."""
        found = re.findall(r"^ *value: (\[[^]]*\]|\S+)", self.yaml.partition("\nn:")[0], re.MULTILINE)
        if len(found) == 1 and not found[0].startswith("["):
            return float(found[0])
        return [float(value) for values in found for value in values.strip("[]").split(",")]

    def __repr__(self) -> str:
        named = re.search(r"^(?:statistic: |statistics:\n +)(.*?):?$", self.yaml, re.MULTILINE)
        kind = named[1] if named else "statistic"
        value = self.value
        numbers = f"{value:.6g}" if isinstance(value, float) else ", ".join(f"{one:.6g}" for one in value[:20]) + (", ..." if len(value) > 20 else "")
        return f"{kind}: {numbers}\n{self._spent.rstrip()}"


def _columns(column: str | Sequence[str]) -> str:
    """One column, or those of a table."""
    if isinstance(column, (list, tuple)) and column:
        return ",".join(_data.text(name, "column", "a name, or a list of names") for name in column)
    return _data.text(column, "column", "a name, or a list of names")


def _privacy(yaml: str) -> dict[str, Any]:
    """The last section of what the library wrote."""
    pairs = (line.strip().partition(": ") for line in yaml.partition("\nprivacy:\n")[2].splitlines())
    found = {key: text for key, _, text in pairs}
    privacy: dict[str, Any] = {"private": found["is_private"] == "true", "epsilon": float(found["epsilon"]), "delta": float(found["delta"]),
                               "relation": found["relation"], "unit": found["unit"]}
    return privacy | ({"dataset": ast.literal_eval(found["dataset"])} if "dataset" in found else {})


def release(formula: str | None = None, data: Any = None, *, statistic: str, schema: Schema, epsilon: float, delta: float | None = None,
            column: str | Sequence[str] | None = None, mechanism: str | None = None, out: Path | None = None, ledger: Path | None = None,
            seed_not_private: int | None = None, **settings: Unpack[ReleaseSettings]) -> Release:
    """Release a statistic of records with exact noise that makes it (epsilon, delta)-differentially private under replacing one row.

    formula: of statistic "moments" and "score": "y ~ x1 + x2"; data, schema, ledger: as of `tacit.fit`.
    statistic: "clamped-mean" (or "mean"), "counts", "moments", "score" or "margins"; column: the column, or those of a table of counts;
        margin: of margins, ["sex,age_band", "age_band,smoker"].
    mechanism: "gaussian" if not said, "laplace", "discrete-gaussian" or "discrete-laplace"; delta goes with the Gaussian ones alone.
    out: a new file for the statistic, which `tacit infer` reads.
    seed_not_private: noise that can be repeated protects nobody.
    Everything else by the names of `tacit.settings("release")`: step=0.5, purpose="...", threads=2.
    """
    source = _data.source(data)
    del data  # no frame of ours holds records when something is raised
    try:
        _data.check(source, settings)
        names = None if column is None else _columns(column)
        what = None if formula is None else _data.text(formula, "formula", "a text such as 'y ~ x'")
        file = None if out is None else _data.path(out, "out")
        given: dict[str, object] = {"statistic": "clamped-mean" if isinstance(statistic, str) and statistic == "mean" else statistic,
                                     "column": names, "mechanism": mechanism, "epsilon": epsilon, "delta": delta,
                                     "out": file, "ledger": ledger, "seed": seed_not_private, **settings}
        text, name = _data.schema_text(schema)
        result = _core.release(what, _pairs(given), text, name, source, file is not None)
    finally:
        _data.drop(source)
    released = Release(result, None if result["unwritten"] else file)
    for line in result["warnings"].splitlines():
        warnings.warn(line.removeprefix("warning: "), PrivacyWarning, stacklevel=2)
    if result["unwritten"]:
        warnings.warn(f"the statistic was not written: {result['unwritten']}; it is in what is returned, and the budget is spent", PrivacyWarning,
                      stacklevel=2)
    if result["unsettled"]:
        warnings.warn(result["unsettled"].strip(), PrivacyWarning, stacklevel=2)
    if ledger is None and released.is_private:
        _spent.count(text, released.privacy["epsilon"], released.privacy["delta"])
    return released
