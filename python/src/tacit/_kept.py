"""What follows from what a fit released: another prior, several sites, synthetic rows; and how its records lie beside it, charged."""
from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from . import _core, _data, _html, _progress, _spent
from ._errors import ArgumentError, FileError, PrivacyWarning
from ._fit import _pairs, _tell
from ._posterior import Posterior, _need, read
from ._settings import CheckSettings, Path, RedrawSettings, Setting, Texts

if TYPE_CHECKING:
    import pandas


def _fitted(path: str) -> tuple[str, str, bytes | None, float]:
    """Formula, family, schema and known sd of a fit: of its report, or, where it did not get as far, of its releases."""
    if os.path.isdir(path) and os.path.exists(os.path.join(path, "releases.json")) and (
            os.path.exists(os.path.join(path, "unfinished")) or not os.path.exists(os.path.join(path, "draws-1.csv"))):
        with open(os.path.join(path, "releases.json"), encoding="utf-8") as file:
            kept = json.load(file)
        if isinstance(kept, dict) and isinstance(kept.get("settings"), dict):  # else what is wrong is told where it is read
            said = {name: texts[-1] for name, texts in kept["settings"].items() if texts}
            return str(kept.get("formula", "")), str(said.get("family", "")), str(kept.get("schema", "")).encode(), float(said.get("sd", 0))
    former = read(path)
    return former.formula, former.family, former._schema, former._known_sd


def _redraw(paths: list[str], out: Path | None, progress: bool | _progress.Watcher, given: Mapping[str, object], *, disjoint: bool = False,
            between: float = 0, check: str | None = None) -> Posterior:
    fitted, file = _fitted(paths[0]), None if out is None else _data.path(out, "out")
    watch, line = _progress.watcher(progress)
    try:
        result = _core.refit(paths, disjoint, between, check, _pairs({**given, "out": file}), watch, file is not None)
    finally:
        if line is not None:
            line.close()
    formula, family, schema, known_sd = fitted
    post = Posterior(result, formula, family, None if result["unwritten"] else file, schema, known_sd)
    _tell(result, post, "")
    return post


def refit(path: Path, *, prior: Texts | None = None, out: Path | None = None, seed: int | None = None, check: Path | None = None,
          progress: bool | _progress.Watcher = True, **settings: Unpack[RedrawSettings]) -> Posterior:
    """Draw again from what a fit by noise-aware released (releases.json): no records, nothing spent.

    path: the directory of the fit, also of one that did not end; or one with releases.json alone, the `releases` of an exception.
    prior: replaces all of the fit's: "normal(0, 1)", a list, or {"age": "normal(0, 1)"}.
    seed: of the draws; there is no noise here that it could give away. Without a new prior and seed the draws are the fit's own.
    out: a new directory for the report; its privacy statement is the fit's.
    check: the file that `tacit.check(out=...)` wrote of this fit: its calibration goes into the report.
    Also chains, draws, warmup, thin, prior_scale, prior_basis; and program, of a fit of one: the file of the same program with another prior.
    """
    shown = None if check is None else _data.path(check, "check")
    return _redraw([_data.path(path)], out, progress, {"prior": prior, "seed": seed, **settings}, check=shown)


def combine(paths: Sequence[Path], *, disjoint: bool = False, exchangeable: bool = False, between_sd: float | None = None, prior: Texts | None = None,
            out: Path | None = None, seed: int | None = None, progress: bool | _progress.Watcher = True, **settings: Unpack[RedrawSettings]) -> Posterior:
    """One posterior from the releases of several sites' fits of one model: one prior, all likelihoods; nothing spent.

    paths: directories of the sites' fits (by noise-aware), two or more.
    disjoint: nobody's records are at two sites: the cost is then the largest of theirs, else they add up. You answer for it.
    exchangeable: effects differ between sites: each site's are normal around mean effects. Reported are these, their sds between sites, and each
        site's own ("age at north"). between_sd: scale of the half-normal prior of those sds, 0.01 to 100, for one sd of a feature or between two
        levels, in log odds, log rates or sds of the response; of a program for what one record tells of a parameter; 0.5 if not said.
    Everything else as in `refit`.
    """
    if isinstance(paths, (str, bytes)) or not isinstance(paths, Sequence) or not 2 <= len(paths) <= 64:
        raise ArgumentError("paths: a list of the directories of 2 to 64 fits", "paths", "argument")
    between = 0.5 if between_sd is None else _data.number(between_sd, "between_sd")
    if between_sd is not None and not (_data.flag(exchangeable, "exchangeable") and 0.01 <= between <= 100):
        raise ArgumentError("between_sd: a number from 0.01 to 100, with exchangeable=True", "between_sd", "argument")
    return _redraw([_data.path(path, "paths") for path in paths], out, progress, {"prior": prior, "seed": seed, **settings},
                   disjoint=_data.flag(disjoint, "disjoint"), between=between if _data.flag(exchangeable, "exchangeable") else 0)


class Check(dict[str, Any]):
    """How records lie beside a fit's predictions, with noise: what `tacit check` writes as JSON.

    misfit_z, by_misfit_z: above 4.9 the fit does not describe the records; excess, excess_sd: over-dispersion of counts, of linear
        regressions how squared errors differ from normal ones of the fit's sigma, else None;
    calibration, by_term: lists of bins: low, high, count, predicted, residual, sd (of a column of levels, level); private, epsilon, delta: what the
        check promises.
    shape, shape_z, spread_z, location_z: programs, and families that are programs, alone: of each tenth of what the fit says responses might be the
        share that is there, 0.1 if the fit is right; above 0 spread_z says that responses vary more than the fit says, location_z that they are larger.
    """

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(json.loads(result["json"]))
        self.text: str = result["text"]

    def to_pandas(self, table: str = "calibration") -> pandas.DataFrame:
        """A row a bin: of "calibration", "by_term", or, of programs, "shape"."""
        if table not in ("calibration", "by_term", "shape") or table not in self:
            raise ArgumentError('table: "calibration", "by_term" where by= was given, or "shape" of a program', "table", "argument")
        frame: pandas.DataFrame = _need("pandas", "to_pandas()").DataFrame(self[table])
        return frame

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ({"json": json.dumps(dict(self)), "text": self.text},)

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        return _html.block(self.text)


def _new_file(out: Path | None) -> str | None:
    """Refused before anything is spent, or made."""
    if out is None:
        return None
    name = _data.path(out, "out")
    if os.path.lexists(name):
        raise FileError(f"{name} exists: give another file as out, or remove it", "out", "exists")
    if not os.path.isdir(os.path.dirname(name) or "."):
        raise FileError(f"cannot create {name}: its directory does not exist", "out", "missing")
    return name


def _write(name: str, text: str) -> str:
    """Why it could not be written, or nothing."""
    try:
        with open(name, "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        return f"{name} was not written: {error.strerror}"
    return ""


def check(path: Path, data: Any = None, *, epsilon: float, delta: float, by: str | None = None, ledger: Path | None = None, out: Path | None = None,
          seed_not_private: int | None = None, **settings: Unpack[CheckSettings]) -> Check:
    """Put a fit beside its records: calibration, residuals by a term, over-dispersion, in one release charged to a budget of its own.

    path: the directory of the fit (by noise-aware). data: its records, as of `tacit.fit`.
    epsilon, delta: of the check, beside what the fit cost. by: a term of the formula, of programs a column, for a quarter of the budget. ledger: that of the fit.
    out: a new file for the check as JSON. Also n_public, purpose, data_id, threads.
    """
    source = _data.source(data)
    del data  # no frame of ours holds records when something is raised
    try:
        _data.check(source, settings)
        name, file = _data.path(path), _new_file(out)
        pairs = _pairs({"epsilon": epsilon, "delta": delta, "ledger": ledger, "seed": seed_not_private, **settings})
        result = _core.check(name, None if by is None else _data.text(by, "by"), pairs, source)
    finally:
        _data.drop(source)
    found = Check(result)
    unwritten = "" if file is None else _write(file, result["json"])
    for line in (result["unsettled"].strip(), unwritten and f"{unwritten}; the check is in what is returned, and the budget is spent"):
        if line:
            warnings.warn(line, PrivacyWarning, stacklevel=2)
    if ledger is None and found["private"]:
        fit = read(name)
        of_fit = (fit.privacy["epsilon"], fit.privacy["delta"]) if fit.is_private else None
        _spent.count_check(name, of_fit, found["epsilon"], found["delta"])
    return found


class Synthesis:
    """Rows that nobody is. csv: the rows; comparison: of each feature what was released beside what the rows have."""

    csv: str
    comparison: dict[str, Any]

    def __init__(self, csv: str, comparison: dict[str, Any]) -> None:
        self.csv = csv
        self.comparison = comparison

    def to_pandas(self) -> pandas.DataFrame:
        """A row each; the first column, synthetic_set, is the number of the set."""
        frame: pandas.DataFrame = _need("pandas", "to_pandas()").read_csv(io.StringIO(self.csv), keep_default_na=False)
        return frame

    def __repr__(self) -> str:
        return f"{self.csv.count(chr(10)) - 1} synthetic rows: {self.csv.partition(chr(10))[0]}"


def synthesize(path: Path, *, rows: int | None = None, sets: int = 1, seed: int = 1, out: Path | None = None) -> Synthesis:
    """Make rows that nobody is, from what a fit by noise-aware released and its draws: no record is read, nothing is spent (docs/releases.md).

    rows: of each set, at most 10^8; as many as there were records if not said, where their number is public.
    sets: each with moments and coefficients of its own; five or more, where anything is to be inferred from the rows.
    seed: rows of one seed are the same. out: a new CSV file; FILE.json beside it has the comparison.
    """
    name, file = _data.path(path), _new_file(out)
    beside = None if file is None else _new_file(file + ".json")
    n_rows = 0 if rows is None else _data.whole(rows, "rows", 1, 10**8)
    csv, comparison = _core.synthesize(name, n_rows, _data.whole(sets, "sets", 1, 1000), _data.whole(seed, "seed", 0, 2**64 - 1))
    for target, text in ((beside, comparison), (file, csv)):
        failure = "" if target is None else _write(target, text)
        if failure:
            raise FileError(failure, "out", "io")
    return Synthesis(csv, json.loads(comparison))
