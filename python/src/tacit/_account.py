"""What releases cost, before or without making them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core, _data
from ._errors import ArgumentError

Event = str | tuple[str, int] | Sequence["str | tuple[str, int]"]


class Guarantee(float):
    """A number with its bracket: `lower` is the value that no proof can go below; `method` the accountant; `attack` what an attacker finds at
    the false-positive rate that was asked about, None if none was."""

    lower: float
    method: str
    epsilon: float
    delta: float
    attack: float | None

    def __new__(cls, value: float, lower: float, method: str, epsilon: float, delta: float, attack: float | None = None) -> Guarantee:
        self = super().__new__(cls, value)
        self.lower, self.method, self.epsilon, self.delta, self.attack = lower, method, epsilon, delta, attack
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.lower, self.method, self.epsilon, self.delta, self.attack)


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


def _ask(what: str, events: Sequence[Event], *, once: Sequence[Event] = (), relation: str = "substitute", epsilon: float = math.nan,
         delta: float = math.nan, fpr: float = math.nan, method: str = "auto", width: float = 0.0, in_order: bool = False,
         numbers: Sequence[float] = ()) -> Any:
    pairs = _pairs(events)
    width = _data.number(width, "width")
    if not pairs:
        raise ArgumentError("say what was released: 'gaussian:sigma=NOISE_MULTIPLIER'", "events", "argument")
    if not (width == 0 or 1e-6 <= width <= 0.1):
        raise ArgumentError("width must be 0, or between 1e-06 and 0.1", "width", "argument")
    return _core.account(what, pairs, _pairs(once), _data.text(relation, "relation"), epsilon, delta, fpr, _data.text(method, "method"), width,
                         _data.flag(in_order, "in_order"), list(numbers))


def _within(value: Any, name: str, low: float, high: float) -> float:
    number = _data.number(value, name)
    if not low <= number <= high:
        raise ArgumentError(f"{name} is out of its range: {number!r}", name, "argument")
    return number


def account(*events: Event, delta: float | None = None, epsilon: float | None = None, relation: str = "substitute",
            method: str = "auto", width: float = 0.0, in_order: bool = False, fpr: float | None = None) -> Guarantee:
    """Compose releases: epsilon at `delta` (0 where losses are bounded), or delta at `epsilon`, rounded up, as `tacit account` computes it.

    events: texts such as "gaussian:sigma=20", or pairs of a text and how often: ("gaussian:sigma=20", 1000). `tacit account --help` lists them.
    relation: "substitute" or "add-remove"; it matters to sampled releases.
    method: accountant: auto, gaussian, pld, rdp, zcdp or moments.
    width: largest relative width of the bracket of epsilon; 0: 0.001.
    in_order: the events are made in the order given, each as often as it counts before the next: tighter for bits.
    fpr: also bound what an attacker finds who is wrong about this share of those absent: `.attack` of the answer.

    >>> float(tacit.account(("gaussian:sigma=20", 1000), delta=1e-6))
    8.306225049954753
    """
    if (delta is None) == (epsilon is None):
        raise ArgumentError("give either delta (to get epsilon) or epsilon (to get delta)", "delta", "argument")
    known = math.nan if fpr is None else _within(fpr, "fpr", 1e-300, 0.999999)
    answer = _ask("guarantee", events, delta=math.nan if delta is None else _within(delta, "delta", 0, math.nextafter(1, 0)),
                  epsilon=math.nan if epsilon is None else _within(epsilon, "epsilon", 0, 1e300), relation=relation, method=method, width=width,
                  in_order=in_order, fpr=known)
    asked = "epsilon" if delta is not None else "delta"
    return Guarantee(answer[asked], answer[asked + "_lower"], answer["method"], answer["epsilon"], answer["delta"],
                     None if fpr is None else answer["attack"])


def account_count(*events: Event, epsilon: float, delta: float, once: Sequence[Event] = (), relation: str = "substitute", method: str = "auto",
                  width: float = 0.0, in_order: bool = False) -> int:
    """How many repetitions of all events, after those of `once`, fit into (epsilon, delta), rounded down: `tacit account --solve count`.

    2**64 - 1 where they cost nothing.

    >>> tacit.account_count("gaussian:sigma=20", epsilon=2, delta=1e-6)
    80
    """
    return int(_ask("count", events, once=once, epsilon=_within(epsilon, "epsilon", 0, 1e300), delta=_within(delta, "delta", 0, 0.999999),
                    relation=relation, method=method, width=width, in_order=in_order))


def account_noise(*events: Event, epsilon: float, delta: float, relation: str = "substitute", method: str = "auto", width: float = 0.0,
                  in_order: bool = False) -> float:
    """The least factor by which the noise of all events must be scaled to fit into (epsilon, delta), rounded up: `tacit account --solve noise`."""
    return float(_ask("noise", events, epsilon=_within(epsilon, "epsilon", 0, 1e300), delta=_within(delta, "delta", 0, 0.999999),
                      relation=relation, method=method, width=width, in_order=in_order))


def account_profile(*events: Event, points: int = 49, relation: str = "substitute", width: float = 0.0,
                    in_order: bool = False) -> dict[str, list[float]]:
    """delta as a function of epsilon, from 0 to where it is 1e-12: lists `epsilon`, `delta` (rounded up) and `delta_lower`, of `points` numbers."""
    n = _data.whole(points, "points", 2, 100_000)
    flat = _ask("profile", events, relation=relation, width=width, in_order=in_order, numbers=[0.0] * (3 * n))
    return {"epsilon": flat[:n], "delta": flat[n:2 * n], "delta_lower": flat[2 * n:]}


def account_renyi(*events: Event, orders: Sequence[float], relation: str = "substitute") -> list[float]:
    """Renyi divergence of each order above 1, rounded up; events of which no bound is proven are refused.

    >>> tacit.account_renyi(("gaussian:sigma=20", 100), orders=[2, 4])  # 0.25 and 0.5, rounded up
    [0.2500000000000125, 0.500000000000025]
    """
    if isinstance(orders, (str, bytes)) or not isinstance(orders, Sequence):
        raise ArgumentError("orders: numbers above 1, as [2, 4, 8]", "orders", "argument")
    return list(_ask("renyi", events, relation=relation, numbers=[_within(order, "orders", 0, 1e6) for order in orders]))


def account_gdp(*events: Event) -> float:
    """mu of Gaussian differential privacy, rounded up: the events cost no more than one Gaussian release with noise 1 / mu.

    Exact for Gaussian releases, a bound for decisions, noise of whole numbers and pure mechanisms; others are refused."""
    return float(_ask("gdp", events))
