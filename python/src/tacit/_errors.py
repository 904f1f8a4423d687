"""What can go wrong, as classes. A message never holds a value of a record."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._fit import Plan


class TacitError(Exception):
    """Something that the library refuses.

    field: the setting, column or file at fault; "" if none is.
    status: what kind of refusal, a word such as "data", "budget" or "missing".
    detail: what a data source itself said. It may quote values: PRIVATE, not in str(), not pickled.
    private: whether the message is for the holder of the data alone, as where it names a row.
    """

    private = False

    def __init__(self, message: str = "", field: str = "", status: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.status = status
        self.detail = detail

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.field, self.status)


class ArgumentError(TacitError, ValueError):
    """A setting is unknown, out of its range, or does not go with another."""


class SchemaError(TacitError, ValueError):
    """The schema, or the formula in view of it, is not sound."""


class DataError(TacitError, ValueError):
    """The records break a rule of the schema. Rows are named: not for other eyes than the curator's."""

    private = True


class BudgetError(TacitError):
    """The budget or the ledger refuses; nothing was computed."""


class FileError(TacitError, OSError):
    """A file cannot be read or written."""


class NumericError(TacitError, ArithmeticError):
    """A computation left its domain."""


class PoorPlan(TacitError):
    """The plan promises no usable chain. Nothing was spent; `accept_poor=True` goes on nevertheless."""

    def __init__(self, message: str = "", field: str = "", status: str = "", detail: str = "", plan: Plan | None = None) -> None:
        super().__init__(message, field, status or "poor", detail)
        self.plan = plan

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.field, self.status, "", self.plan)


class PrivacyWarning(UserWarning):
    """Something about privacy or about a budget that is gone."""


_STATUSES: dict[int, tuple[str, type[TacitError]]] = {
    -1: ("memory", TacitError), -2: ("argument", ArgumentError), -3: ("state", TacitError), -4: ("interrupted", TacitError),
    -100: ("syntax", SchemaError), -101: ("schema", SchemaError), -102: ("data", DataError), -103: ("unknown", SchemaError),
    -200: ("numeric", NumericError),
    -300: ("budget", BudgetError), -301: ("noise", TacitError), -302: ("sensitivity", ArgumentError),
    -400: ("io", FileError), -401: ("exists", FileError), -402: ("missing", FileError),
}


def make(status: int, field: str, message: str, detail: str) -> BaseException:
    """The exception for a status of the library; called by the extension."""
    if status == -1:
        return MemoryError(message)
    if status == -4:
        return KeyboardInterrupt(message)
    name, kind = _STATUSES.get(status, ("error", TacitError))
    return kind(message, field, name, detail)
