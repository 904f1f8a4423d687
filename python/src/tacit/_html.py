"""Posteriors and plans in notebooks."""
from __future__ import annotations

import html
from collections.abc import Sequence

_CELL = "text-align:right;padding:0 .6em"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th style='{_CELL}'>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td style='{_CELL}'>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def block(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def line(text: str, is_alarm: bool) -> str:
    style = " style='color:#b00020;font-weight:bold'" if is_alarm else ""
    return f"<p{style}>{html.escape(text)}</p>"
