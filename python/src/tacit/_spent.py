"""What was spent on records in this process, by their schema: a ledger keeps count better."""
from __future__ import annotations

import os
import warnings

from ._errors import PrivacyWarning

_spends: dict[str, list[tuple[str, float, float]]] = {}  # by schema: directory of the fit or "", epsilon, delta
_schemas: dict[str, str] = {}  # of directories that were written here


def wrote(path: str, schema: bytes) -> None:
    """A fit's directory, so that checks of it count beside the fit."""
    _schemas[os.path.realpath(path)] = schema.decode(errors="replace")


def count(schema: bytes, epsilon: float, delta: float, path: str | None = None) -> None:
    """Of a fit or release without a ledger; the second one warns with the sum so far. path: the fit's directory."""
    _add(schema.decode(errors="replace"), "" if path is None else os.path.realpath(path), epsilon, delta)


def count_check(path: str, of_fit: tuple[float, float] | None, epsilon: float, delta: float) -> None:
    """Of a check without a ledger: beside what the fit in `path` cost (None: it was not private), wherever that was bought."""
    place = os.path.realpath(path)
    key = _schemas.get(place, place)
    if of_fit is not None and all(at != place for at, _, _ in _spends.get(key, ())):
        _spends.setdefault(key, []).append((place, *of_fit))
    _add(key, "", epsilon, delta)


def _add(key: str, place: str, cost_epsilon: float, cost_delta: float) -> None:
    spends = _spends.setdefault(key, [])
    spends.append((place, cost_epsilon, cost_delta))
    if len(spends) > 1:
        epsilon, delta = sum(spend[1] for spend in spends), sum(spend[2] for spend in spends)
        warnings.warn(f"{len(spends)} fits, releases or checks by this schema, and no ledger of them all: together epsilon {epsilon:.4g} at delta "
                      f"{delta:.3g} if their records are the same; a ledger keeps count (ledger=)", PrivacyWarning, stacklevel=4)
