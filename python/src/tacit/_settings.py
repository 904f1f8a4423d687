"""Settings by name, for what checks types: those that `tacit.settings()` lists, less those that functions name themselves. A test compares."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

Path = str | os.PathLike[str]
#: A number, or the word that a setting has in its place, "private".
Number = str | int | float
Texts = str | Sequence[str] | Mapping[str, str]
Setting = bool | Number | os.PathLike[str] | Sequence[str] | Mapping[str, str] | None


class RedrawSettings(TypedDict, total=False):
    """Of draws that cost nothing: `tacit.refit` and `tacit.combine`."""

    chains: Number | None
    draws: Number | None
    warmup: Number | None
    thin: Number | None
    prior_scale: str | None
    prior_basis: str | None
    program: Path | None


class ReadSettings(TypedDict, total=False):
    """How records are read, and for whom they are charged."""

    query: str | None
    catalog: Path | None
    encoding: str | None
    delimiter: str | None
    data_id: str | None
    purpose: str | None
    n_public: Number | None
    threads: Number | None
    scratch: Path | None


class CheckSettings(TypedDict, total=False):
    """Of `tacit.check`."""

    data_id: str | None
    purpose: str | None
    n_public: Number | None
    threads: Number | None


class FitSettings(ReadSettings, total=False):
    """Of `tacit.fit`."""

    records: str | None
    set: Texts | None
    constants: Path | Sequence[str] | None
    public: Texts | None
    followed_to_bound: bool
    warmup: Number | None
    thin: Number | None
    prior: Texts | None
    prior_scale: str | None
    prior_basis: str | None
    sd: Number | None
    clip_grad: Number | None
    clip_ratio: Number | None
    clip_share: Number | None
    metric: str | None
    metric_file: Path | None
    noise_grad: Number | None
    noise_ratio: Number | None
    step_size: Number | None
    leapfrog: Number | None
    proposal: str | None
    acceptance: str | None
    variance: Number | None
    sigma: Number | None
    kappa: Number | None
    cap: Number | None
    sampling_rate: Number | None
    friction: Number | None
    step_decay: Number | None
    max_batch: Number | None
    no_jitter: bool
    no_reuse: bool
    init: Path | None
    temperature: Number | None


class PlanSettings(FitSettings, total=False):
    """Of `tacit.plan` and `tacit.epsilon_for`, which say less of a fit themselves."""

    exposed: bool
    draws: Number | None
    chains: Number | None


class ReleaseSettings(ReadSettings, total=False):
    """Of `tacit.release`."""

    set: Texts | None
    public: Texts | None
    margin: Texts | None
    step: Number | None


class InferSettings(TypedDict, total=False):
    """Of `tacit.infer`."""

    set: Texts | None
    thin: Number | None
    threads: Number | None
    no_interweave: bool
    path: str | None
    step_size: Number | None
    leapfrog: Number | None
