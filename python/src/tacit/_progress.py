"""A line that moves while a fit runs, where somebody is there to see it."""
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from ._data import flag

Watcher = Callable[[int, int, float], object]


def _notebook() -> Any:
    """IPython's display, where it draws in a page; else None."""
    if "IPython" not in sys.modules:
        return None
    import importlib
    display, get_ipython = importlib.import_module("IPython.display"), importlib.import_module("IPython").get_ipython
    shell = get_ipython()
    return display if shell is not None and hasattr(shell, "kernel") else None


def is_interactive() -> bool:
    """A terminal that a question can be put to."""
    return _notebook() is None and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


class Line:
    """Iterations, epsilon so far, seconds left. Called at most ten times a second."""

    def __init__(self) -> None:
        self._display = _notebook()
        self._handle: Any = None
        self._is_terminal = self._display is None and sys.stderr is not None and sys.stderr.isatty()
        self._begun = time.monotonic()
        self.is_seen = self._display is not None or self._is_terminal

    def say(self, text: str) -> None:
        """A sentence that stays."""
        if self._display is not None:
            self._display.display(self._display.Markdown(text))
        elif self._is_terminal:
            print(text, file=sys.stderr)

    def __call__(self, iteration: int, n_iterations: int, epsilon: float) -> None:
        spent = "" if epsilon != epsilon else f", epsilon {epsilon:.3g}"
        seconds = time.monotonic() - self._begun
        left = f", {seconds * (n_iterations - iteration) / iteration:.0f} s left" if iteration > 0 and seconds > 1 else ""
        self.show(f"iteration {iteration} of {n_iterations}{spent}{left}")

    def show(self, text: str) -> None:
        """What the next line takes the place of."""
        if self._display is not None:
            shown = {"text/plain": text}
            if self._handle is None:
                self._handle = self._display.display(shown, raw=True, display_id=True)
            else:
                self._handle.update(shown, raw=True)
        elif self._is_terminal:
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        elif self._is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def watcher(progress: bool | Watcher) -> tuple[Watcher | None, Line | None]:
    """What to call, and the line to close where it is ours."""
    if callable(progress):
        return progress, None
    line = Line() if flag(progress, "progress") else None
    return (line, line) if line is not None and line.is_seen else (None, None)
