"""What releases cost, before or without making them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core, _data
from ._errors import ArgumentError

Event = str | tuple[str, int] | Sequence["str | tuple[str, int]"]


class Guarantee(float):
    """A number that carries its certified bracket: `lower` is the value that no proof can go below; `method` the accountant."""

    lower: float
    method: str
    epsilon: float
    delta: float

    def __new__(cls, value: float, lower: float, method: str, epsilon: float, delta: float) -> Guarantee:
        self = super().__new__(cls, value)
        self.lower, self.method, self.epsilon, self.delta = lower, method, epsilon, delta
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.lower, self.method, self.epsilon, self.delta)


def _pairs(events: Sequence[Event], depth: int = 0) -> list[tuple[str, int]]:
    pairs: list[tuple[str, int]] = []
    if not isinstance(events, (tuple, list)) or depth > 8:
        raise ArgumentError("events: texts such as 'gaussian:sigma=20', pairs of a text and a count, or lists of them", "events", "argument")
    for event in events:
        if isinstance(event, str):
            pairs.append((_data.text(event, "events"), 1))
        elif isinstance(event, (tuple, list)) and len(event) == 2 and isinstance(event[0], str) and not isinstance(event[1], (str, tuple, list)):
            pairs.append((_data.text(event[0], "events"), _data.whole(event[1], "events", 1, 10**18)))
        else:
            pairs.extend(_pairs(event, depth + 1))
    return pairs


def account(*events: Event, delta: float | None = None, epsilon: float | None = None, relation: str = "substitute",
            method: str = "auto", width: float = 0.0, in_order: bool = False) -> Guarantee:
    """Compose releases: epsilon at `delta` (0 where losses are bounded), or delta at `epsilon`, rounded up, as `tacit account` computes it.

    events: texts such as "gaussian:sigma=20", or pairs of a text and how often: ("gaussian:sigma=20", 1000).
    relation: "substitute" or "add-remove"; it matters to sampled releases.
    method: accountant: auto, gaussian, pld, rdp, zcdp or moments.
    width: largest relative width of the bracket of epsilon; 0: 0.001.

    >>> float(tacit.account(("gaussian:sigma=20", 1000), delta=1e-6))
    8.306225049954753
    """
    if (delta is None) == (epsilon is None):
        raise ArgumentError("give either delta (to get epsilon) or epsilon (to get delta)", "delta", "argument")
    pairs = _pairs(events)
    width = _data.number(width, "width")
    if not pairs:
        raise ArgumentError("say what was released: 'gaussian:sigma=NOISE_MULTIPLIER'", "events", "argument")
    if not (width == 0 or 1e-6 <= width <= 0.1):
        raise ArgumentError("width must be 0, or between 1e-06 and 0.1", "width", "argument")
    known = "delta" if delta is not None else "epsilon"
    value = _data.number(delta if delta is not None else epsilon, known)
    if not (0 <= value < 1 if known == "delta" else 0 <= value <= 1e300):
        raise ArgumentError(f"{known} is out of its range: {value!r}", known, "argument")
    answer = _core.account(pairs, _data.text(relation, "relation"), value if known == "epsilon" else None, value if known == "delta" else None,
                           _data.text(method, "method"), width, _data.flag(in_order, "in_order"))
    asked = "epsilon" if delta is not None else "delta"
    return Guarantee(answer[asked], answer[asked + "_lower"], answer["method"], answer["epsilon"], answer["delta"])
