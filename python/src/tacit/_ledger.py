"""The record of all spends on a data set."""
from __future__ import annotations

import html
import os
from typing import Any

from . import _core, _data


class Ledger(os.PathLike[str]):
    """A ledger file, read anew at each question. Spends are made by `tacit.fit(..., ledger=...)`, which takes one, or its path.

    Do not open the file with `sqlite3.connect`: two SQLite libraries in one process lose each other's locks.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _data.path(path)
        self.state()

    @classmethod
    def create(cls, path: str | os.PathLike[str], data_id: str, epsilon: float, delta: float, relation: str = "substitute",
               unit: str | None = None, max_rows: int = 1) -> Ledger:
        """Make a new ledger: one budget for all runs on the data set of that public name.

        unit, max_rows: who is protected, as in the schema: "row", or the column of persons and their most rows. None: what the first run says.
        """
        _core.ledger_create(_data.path(path), _data.text(data_id, "data_id"), _data.number(epsilon, "epsilon"), _data.number(delta, "delta"),
                            _data.text(relation, "relation"), None if unit is None else _data.text(unit, "unit"),
                            _data.whole(max_rows, "max_rows", 1, 2**53))
        return cls(path)

    def __fspath__(self) -> str:
        return self.path

    def state(self) -> dict[str, Any]:
        """Everything it says: data_id, relation, epsilon, delta, spent, left, head, spends."""
        return _core.ledger_read(self.path, False)

    def verify(self) -> str:
        """Recompute and check everything; the hash of the last entry, to recognise this state again."""
        return str(_core.ledger_read(self.path, True)["head"])

    @property
    def epsilon(self) -> float:
        """Of the whole budget."""
        return float(self.state()["epsilon"])

    @property
    def spent(self) -> float:
        """Epsilon of all spends together, at the ledger's delta."""
        return float(self.state()["spent"])

    @property
    def left(self) -> float:
        """The largest epsilon that one more run at the ledger's delta could have."""
        return float(self.state()["left"])

    @property
    def spends(self) -> list[dict[str, Any]]:
        return list(self.state()["spends"])

    def __repr__(self) -> str:
        state = self.state()
        lines = [f"ledger of {state['data_id']!r}: epsilon {state['epsilon']:g} at delta {state['delta']:g} (relation {state['relation']})",
                 f"spent {state['spent']:.6g}, left for one more run {state['left'] * (1 - 5e-6):.6g}"]
        for spend in state["spends"]:
            lines.append(f"{spend['id']:>4}  {spend['time']}  {'settled ' if spend['settled'] else 'reserved'}  {spend['who']}  {spend['purpose']}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"
