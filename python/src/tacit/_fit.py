"""Fits and plans: settings by the names of `tacit.settings()`, with underscores for hyphens."""
from __future__ import annotations

import contextlib
import operator
import os
import sys
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from . import _core, _data, _html, _parts, _progress, _spent
from ._data import Schema
from ._errors import ArgumentError, BudgetError, FileError, PoorPlan, PrivacyWarning
from ._posterior import Posterior, read, run_settings
from ._settings import FitSettings, Path, PlanSettings, Setting

_RUNNING = ("out", "ledger", "data-id", "purpose", "threads", "scratch", "quiet", "curator-notes")


class Settings(list[dict[str, Any]]):
    """Settings: name, value, default, help, group, is_flag; printed, all of them with their help."""

    def __repr__(self) -> str:
        lines: list[str] = []
        for of in self:
            default = "" if of["default"] is None else f" (default {of['default']})"
            name = "seed_not_private" if of["name"] == "seed" and of["group"] == "privacy" else of["name"].replace("-", "_")
            lines += [f"{name}={'True' if of['is_flag'] else of['value']}{default}",
                      *textwrap.wrap(of["help"], 100, initial_indent="    ", subsequent_indent="    ")]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html.block(repr(self))


def settings(of: str = "fit") -> Settings:
    """All settings of a "fit", a "release" or an inference, "infer": name, what stands for its value, default, help. print() shows them."""
    if not isinstance(of, str) or of not in ("fit", "release", "infer"):
        raise ArgumentError('there are settings of "fit", "release" and "infer"', "of", "argument")
    return Settings(_core.settings(of))


def _one(name: str, value: Any) -> str:
    """The text of a setting: a text, a path, or a number by as few digits as give it back; those of numpy, too."""
    if isinstance(value, (str, os.PathLike)):
        return _data.text(value, name)
    try:
        if hasattr(value, "__index__"):
            return str(operator.index(value))
        if hasattr(value, "__float__") and not isinstance(value, type):
            return repr(float(value))
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"{name}: a number, a text or a path, not {type(value).__name__}", name, "argument")


# Settings that take several values; of any other the last would win over what was meant.
_REPEATED = frozenset({"constants", "margin", "prior", "public", "set", "statistic"})


def _pairs(given: Mapping[str, object]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in given.items():
        name = key.replace("_", "-")
        if value is None or value is False:
            continue
        if name == "family" and not isinstance(value, str):
            raise ArgumentError(f'family: its name, such as "bernoulli" (tacit.families() lists them), not {type(value).__name__}', "family", "argument")
        is_many = isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)))
        if is_many and name not in _REPEATED:
            raise ArgumentError(f"{key}: one value, not several", key, "argument")
        if value is True:
            pairs.append((name, "true"))
        elif isinstance(value, Mapping):
            pairs.extend((name, f"{_one(name, term)}: {_one(name, text)}") for term, text in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
            pairs.extend((name, _one(name, text)) for text in value)
        else:
            pairs.append((name, _one(name, value)))
    return pairs


class Plan(dict[str, Any]):
    """What a budget would buy, from public facts alone: a dict, None or NaN where a method has no such number.

    verdict: "good"; "poor": no usable chain, or wide intervals; "hopeless": a fit refuses unless accept_poor=True; "refused": it always does.
    text, warning, price: in words. advice: what would be better.
    method; n_chains, n_iterations, n_warmup, n_draws: of each chain; n_releases: of noise-aware, whose draws cost nothing, else 0.
    width: least sd beside that without privacy (noise-aware), or error of a mean beside that of the exact one. ess, ess_wide: effective draws
        of all chains, were the posterior as wide as the schema suggests, and three times as wide. epsilon: of the budget.
    methods: where no method was said, what each would make of the budget: dicts.
    """

    @property
    def is_poor(self) -> bool:
        return bool(self["verdict"] != "good")

    def __repr__(self) -> str:
        said = "".join(self[key] for key in ("text", "warning", "price") if key in self).splitlines()
        advice = [line for line in self.get("advice", "").splitlines() if line not in said]
        return "\n".join(said + advice)

    def _repr_html_(self) -> str:
        return _html.line(self["text"] + self["price"], False) + (_html.line(self["warning"], True) if self["warning"] else "")


def _formula(formula: str | None, program: Path | None) -> str:
    """What stands for the formula: itself, or the program's file."""
    if program is None and formula is None:
        raise ArgumentError("a formula, or program= with the file of one", "formula", "argument")
    if program is not None and not _data.text(program, "program", "the name of a file that ends in .stan").endswith(".stan"):
        raise ArgumentError(f"program: the name of a file that ends in .stan, not {os.fspath(program)}", "program", "argument")
    return _data.text(formula if formula is not None else program, "formula", "a text such as 'y ~ a + b'")


def plan(formula: str | None = None, *, program: Path | None = None, schema: Schema, n: float, family: str | None = None,
         epsilon: float | None = None,
         delta: float | None = None, method: str | None = None, **settings: Unpack[PlanSettings]) -> Plan:
    """Say what the budget would buy for n units, before a record is read. Nothing is spent. A budget that buys too little is no error here: `is_poor`.

    formula, program: as of `fit`. n: the number of records; under relation add-remove, where it is private, a nominal public number.
    """
    if hasattr(n, "__arrow_c_stream__") or isinstance(n, (str, bytes)):
        raise ArgumentError("n is a public number: counting records here may tell what is private", "n", "argument")
    what = _formula(formula, program)
    given = {"family": family, "epsilon": epsilon, "delta": delta, "method": method, "program": None if formula is None else program, **settings}
    text, name = _data.schema_text(schema)
    pairs = _pairs(given)
    units = _data.number(n, "n")
    try:
        found = Plan(_core.plan(what, pairs, text, name, units))
    except BudgetError as error:
        found = _refused(str(error), epsilon)
    if method is None:
        found["methods"], found["advice"] = _core.compare(what, pairs, text, name, units)
    return found


def _refused(reason: str, epsilon: float | None) -> Plan:
    """The plan of a budget that the library refuses to spend."""
    unknown = float("nan")
    return Plan(method=None, n_chains=0, n_iterations=0, n_warmup=0, n_draws=0, n_releases=0, ess=unknown, ess_wide=unknown, width=unknown,
                epsilon=unknown if epsilon is None else float(epsilon), verdict="refused", text="", warning=reason + "\n", price="")


def _go_on(found: Plan, accept_poor: bool, line: _progress.Line | None) -> None:
    if line is not None and found["text"]:
        line.say(found["text"].rstrip("\n"))
    if not found.is_poor:
        return
    if not accept_poor and _progress.is_interactive():
        print(found["warning"].rstrip("\n"), file=sys.stderr)
        accept_poor = input("Spend the budget on this? [y/N] ").strip().lower() in ("y", "yes")
    if not accept_poor:
        raise PoorPlan(f"{repr(found)}\nnothing was spent; accept_poor=True goes on nevertheless", "epsilon", plan=found)


def _former(out: str, formula: str, pairs: list[tuple[str, str]]) -> Posterior | None:
    """The fit that `out` holds, if it is of the same settings: bought once, read again."""
    if not os.path.isfile(os.path.join(out, "run.yaml")):
        return None
    if formula.endswith(".stan") or {"program", "constants"} & {key for key, _ in pairs}:
        raise FileError(f"{out} holds a fit, and a file of this one may have changed since: tacit.read({out!r}) reads it; give another directory "
                        "for a new one", "out", "exists")
    then = run_settings(out)
    old = {key: text for key, (text, is_default) in then.items() if not is_default and key not in (*_RUNNING, "tacit-version", "formula")}
    new = {key: text for key, text in pairs if key not in _RUNNING}
    for key in set(old) | set(new):
        value = then.get(key, ("", True))[0]
        if not _is_same(new.get(key, value), old.get(key, value)):
            raise FileError(f"{out} holds a fit with other settings ({key}): give another directory", "out", "exists")
    if then["formula"][0] != formula:
        raise FileError(f"{out} holds a fit of another formula: give another directory", "out", "exists")
    warnings.warn(f"{out} holds this fit already: it is read, and nothing is spent", PrivacyWarning, stacklevel=3)
    return read(out)


def _known_sd(pairs: list[tuple[str, str]]) -> float:
    return float(dict(pairs).get("sd", 0))


def _is_same(left: str, right: str) -> bool:
    try:
        return float(left) == float(right)
    except ValueError:
        return left == right


def _tell(result: dict[str, Any], post: Posterior, rest: str) -> None:
    """What went wrong with a run that has draws; rest: what holds of what it cost."""
    stopped = result["stopped"]
    if stopped is not None or post.end == "interrupted":
        why = "" if stopped is None or isinstance(stopped, KeyboardInterrupt) else f" ({type(stopped).__name__}: {stopped})"
        charged = f"; epsilon {post.privacy['epsilon']:.6g} at delta {post.privacy['delta']:g} was charged, and stays so" if rest and post.is_private else ""
        warnings.warn(f"interrupted{why}: these are the draws so far{charged}", PrivacyWarning, stacklevel=3)
    if result["unwritten"]:
        warnings.warn(f"the report was not written: {result['unwritten']}; the draws are in what is returned{rest}", PrivacyWarning, stacklevel=3)
    for line in (result.get("warning", ""), result.get("unsettled", "")):
        if line:
            warnings.warn(line.strip().removeprefix("warning: "), PrivacyWarning, stacklevel=3)


def fit(formula: str | None = None, data: Any = None, *, program: Path | None = None, schema: Schema, family: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None, method: str | None = None, exposed: bool = False, draws: int | None = None,
        chains: int | None = 4, out: Path | None = None, accept_poor: bool = False, ledger: Path | None = None,
        progress: bool | _progress.Watcher = True, seed_not_private: int | None = None, **settings: Unpack[FitSettings]) -> Posterior:
    """Draw from the posterior of a regression under (epsilon, delta)-differential privacy.

    formula: R's: "y ~ a + b + a:b + log(c) + factor(d) + I(e^2)". Bounds and levels are the schema's, never the data's.
    program: the file of a model of your own, "visits.stan", instead (docs/language.md); parameters have its names. Beside a formula: in
        place of the program that the formula stands for. Its public numbers: set=["D=10"], constants="numbers.json".
    data: a path (CSV, or a directory of `tacit import`), a data frame of pandas, polars or DuckDB, a pyarrow table, anything else with
        __arrow_c_stream__, or a dict of columns. Read once, and not kept. Parquet: a file, a folder, or a pattern, "part-*.parquet"; with scratch=
        a folder the records need not fit into memory. A DataFrame of Spark or Dask stays where it is: each pass sends a request to its partitions,
        and exact sums come back (docs/clusters.md).
    schema: what is publicly known of each column: a path, YAML text, or a dict (`tacit.schema_draft` begins one). Values beyond its bounds are
        moved to them without a word, since how many were is private; `tacit.schema_check(schema, data)` tells the holder of the data.
    family: "bernoulli", "gaussian", "poisson", "negbinomial", ...: one of `tacit.families()`.
    epsilon, delta: the budget of the whole run, all chains together.
    exposed: no noise, no budget: NOT PRIVATE. For baselines and public data.
    out: a new directory for the report. If it holds a fit of the same settings, that is read, and nothing is spent; not of a program, whose
        file may have changed.
    accept_poor: spend the budget even where the plan promises no usable chain; else PoorPlan is raised, or a terminal asked.
    ledger: a `Ledger` of these data, or its file: what the run can release is reserved there first.
    progress: a line in terminals and notebooks; or a function of (iteration, n_iterations, epsilon), which stops the run if it returns False.
    seed_not_private: a repeatable run: noise that can be repeated protects nobody.
    Everything else by the names of `tacit.settings()`: clip_grad="private", prior={"age": "normal(0, 1)"}, ...

    Ctrl-C before the first charge raises KeyboardInterrupt, and nothing is spent. After it the draws so far are returned, with a warning,
    since a budget does not come back; under relation add-remove KeyboardInterrupt is raised: how far a run got may tell how many records there are.
    """
    engine = _parts.engine_of(data, _pairs({"scratch": settings.get("scratch"), "threads": settings.get("threads")}))
    source = "engine" if engine is not None else _data.source(data)
    del data  # no frame of ours holds records when something is raised
    try:
        _data.check(source, settings)
        what, may_be_poor = _formula(formula, program), _data.flag(accept_poor, "accept_poor")
        chosen: dict[str, object] = {"program": None if formula is None else program, "family": family, "epsilon": epsilon, "delta": delta,
                                     "method": method, "exposed": exposed,
                                     "draws": draws, "chains": None if isinstance(chains, int) and chains == 4 else chains, "out": out,
                                     "ledger": ledger,
                                     "seed": seed_not_private, **settings}
        pairs = _pairs(chosen)
        text, name = _data.schema_text(schema)
        former = None if out is None else _former(_data.path(out, "out"), what, pairs)
        if former is not None:
            return former
        watch, line = _progress.watcher(progress)
        if engine is not None and line is not None:
            engine.show = line.show
        try:
            with contextlib.nullcontext(source) if engine is None else engine.given(_parts.Job(what, pairs, text, name)) as given:
                result = _core.fit(what, pairs, text, name, given, lambda found: _go_on(Plan(found), may_be_poor, line), watch, out is not None)
        finally:
            if line is not None:
                line.close()
    finally:
        _data.drop(source)
    post = Posterior(result, what, "program" if program is not None or what.endswith(".stan") else family or "",
                     None if out is None or result["unwritten"] else os.fspath(out), text, _known_sd(pairs))
    _tell(result, post, ", and the budget is spent")
    if post.path is not None:
        _spent.wrote(post.path, text)
    if ledger is None and post.is_private:
        _spent.count(text, post.privacy["epsilon"], post.privacy["delta"], post.path)
    return post
