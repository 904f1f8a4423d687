"""What a fit leaves: draws and what follows from them. Plain data, with no way back to a record."""
from __future__ import annotations

import itertools
import json
import os
import re
import warnings
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any

from . import _core, _data, _html
from ._data import Schema
from ._errors import ArgumentError, DataError, FileError, PrivacyWarning

if TYPE_CHECKING:
    import numpy
    import pandas

_COLUMNS = ("mean", "sd", "mcse_mean", "q5", "q50", "q95", "ess_bulk", "ess_tail", "rhat")
_SHOWN = ("mean", "sd", "q5", "q50", "q95", "ess_bulk", "ess_tail", "rhat")


_KINDS = ("mean", "linear", "response")
_FAMILIES = ("bernoulli", "gaussian", "poisson", "categorical")
_OF_CONTRASTS = ("mean", "sd", "q5", "q50", "q95", "p_above", "ess_bulk", "ess_tail", "rhat")


def _warn_moved(n: int) -> None:
    if n > 0:
        warnings.warn(f"{n} values of the new rows are outside the schema's bounds, and were moved to them", stacklevel=4)


def _need(module: str, what: str) -> Any:
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{what} needs {module}: pip install {module}") from None


def _interval(prob: Any) -> tuple[float, dict[str, str]]:
    """The probability of an interval, and what its ends are called, q5 and q95 of 0.9."""
    found = _data.number(prob, "prob")
    if not 0 < found < 1:
        raise ArgumentError("prob: the probability of the interval, above 0 and below 1", "prob", "argument")
    return found, {"q5": f"q{50 * (1 - found):.6g}", "q95": f"q{50 * (1 + found):.6g}"}


def _table(data: Any, columns: Any, index: list[str], name: str) -> pandas.DataFrame:
    """A frame that prints all of its columns."""
    pandas_ = _need("pandas", "a table")

    class Table(pandas_.DataFrame):  # type: ignore[misc, name-defined]
        @property
        def _constructor(self) -> Any:
            return pandas_.DataFrame

        def __repr__(self) -> str:
            return str(self.to_string(max_rows=60))

        def equals(self, other: object) -> bool:
            return bool(pandas_.DataFrame(self).equals(other))

        def __reduce_ex__(self, protocol: Any) -> Any:
            return pandas_.DataFrame, (pandas_.DataFrame(self),)

    frame: pandas.DataFrame = Table(data, columns=columns, index=index)
    frame.index.name = name
    return frame


#: What netCDF calls a variable: begins with a letter, digit or _, holds no '/' nor control character, ends in no blank.
_NETCDF = re.compile(r"[A-Za-z0-9_\x80-\U0010FFFF](?:[^/\x00-\x1f\x7f]*[^/\s\x00-\x1f\x7f])?")


#: What results of other packages have, and what stands for it here.
_INSTEAD = {"params": 'summary()["mean"]', "bse": 'summary()["sd"]', "conf_int": "summary(prob=0.95)", "pvalues": "contrast(...) has p_above",
            "posterior": 'to_arviz()["posterior"], or the arrays themselves: post["age"]', "to_inference_data": "to_arviz()", "fittedvalues": "epred(rows)",
            "to_xarray": "to_arviz()", "to_dataframe": "to_pandas()", "save": "out= of tacit.fit writes it, tacit.read reads it",
            "plot": "az.plot_trace(post)", "plot_trace": "az.plot_trace(post)", "resid": "tacit.check releases residuals, for a budget of its own",
            "predict_proba": 'predict(rows, kind="mean")', "coef_": 'summary()["mean"]', "nobs": "a fit does not keep the number of records"}
#: "beta[1,2]": an element of an array of parameters.
_ELEMENT = re.compile(r"(.+)\[(\d+(?:,\d+)*)\]")


def _arrays(called: list[str]) -> list[tuple[str, tuple[int, ...], list[int]]]:
    """Parameters as variables: name, shape, places among the draws. "beta[1]", "beta[2]" are one, if no element is missing; others are by themselves."""
    elements: dict[str, dict[tuple[int, ...], int]] = {}
    for place, name in enumerate(called):
        found = _ELEMENT.fullmatch(name)
        if found:
            elements.setdefault(found[1], {})[tuple(int(index) for index in found[2].split(","))] = place
    variables: list[tuple[str, tuple[int, ...], list[int]]] = []
    whole: set[str] = set()
    for place, name in enumerate(called):
        found = _ELEMENT.fullmatch(name)
        base = found[1] if found else name
        of = elements.get(base, {})
        shape = tuple(max(of_axis) for of_axis in zip(*of, strict=True)) if of and len({len(index) for index in of}) == 1 else ()
        indices = list(itertools.product(*(range(1, n + 1) for n in shape)))
        if not shape or base in called or sorted(of) != indices:
            variables.append((name, (), [place]))
        elif base not in whole:
            whole.add(base)
            variables.append((base, shape, [of[index] for index in indices]))
    return variables


def _unpickled(state: dict[str, Any]) -> Posterior:
    post = Posterior.__new__(Posterior)
    post.__dict__.update(state)
    return post


class Posterior(dict[str, Any]):
    """Draws of the parameters from their posterior: a dict of arrays, post["age"] of shape (chains, draws), so that ArviZ takes it as it is.

    labels: the parameters as in the formula; names: as in Stan CSV.
    privacy: the privacy statement as a dict, as in privacy.json; statement: in words.
    end: "complete", "budget" or "interrupted"; path: the directory of the report, or None.
    findings: what tacit diagnose says of the chains: (severity, what, advice).
    """

    formula: str
    family: str
    labels: list[str]
    names: list[str]
    n_chains: int
    n_draws: int
    privacy: dict[str, Any]
    statement: str
    end: str
    path: str | None
    findings: list[tuple[str, str, str]]

    def __init__(self, result: dict[str, Any], formula: str, family: str, path: str | None, schema: bytes | None = None,
                 known_sd: float = 0.0) -> None:
        self.formula = formula
        self.family = family
        self._schema = schema
        self._known_sd = known_sd
        self._program: str | None = result.get("program") or None
        self.path = path
        self.labels, self.names = result["labels"], result["names"]
        self.n_chains, self.n_draws = result["n_chains"], result["n_draws"]
        self.privacy = json.loads(result["privacy"])
        self.statement = result["statement"]
        self.end = self.privacy.get("end", "complete")
        self.findings = result["findings"]
        self._no_intervals: bool = result["no_intervals"]
        self._draws: bytes = result["draws"]
        self._summaries: list[tuple[float, ...]] = result["summaries"]
        self._table: str = result["table"]
        self._stats: bytes = result.get("stats", b"")

    # A dict for those who look for one: what it holds is made of the draws when it is asked for.
    def __getitem__(self, label: str) -> Any:
        places = self.labels if label in self.labels else self._called()
        try:
            return self.draws()[:, :, places.index(label)]
        except ValueError:
            raise KeyError(label) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._called())

    def _called(self) -> list[str]:
        """Parameters as a data set can have them: labels, and names where it takes no such label."""
        return [label if _NETCDF.fullmatch(label) and label not in ("chain", "draw") else name
                for label, name in zip(self.labels, self.names, strict=True)]

    def __len__(self) -> int:
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels or label in self._called()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return KeysView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return ValuesView(self)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return ItemsView(self)

    def get(self, label: str, default: Any = None) -> Any:
        return self[label] if label in self else default

    def __fspath__(self) -> str:
        """The directory that the fit was written to, so that a fit stands where a path is expected."""
        if self.path is None:
            raise ArgumentError("this fit was not written: out= of tacit.fit names a directory, which is what goes on from a fit", "path", "argument")
        return self.path

    if not TYPE_CHECKING:  # a checker of types is to find what is misspelt
        def __getattr__(self, name: str) -> Any:
            instead = _INSTEAD.get(name)
            raise AttributeError(f"a Posterior has no {name!r}" + (f": {instead}" if instead else ""))

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.__dict__,)

    @property
    def is_private(self) -> bool:
        return bool(self.privacy["private"])

    def draws(self) -> numpy.ndarray[Any, Any]:
        """All draws as a numpy array, shape (chains, draws, parameters)."""
        flat = _need("numpy", "draws()").frombuffer(self._draws, dtype="<f8")
        array_: numpy.ndarray[Any, Any] = flat.reshape(self.n_chains, self.n_draws, len(self.labels)).copy()
        return array_

    def summary(self, prob: float = 0.9) -> pandas.DataFrame:
        """Mean, sd, interval, effective draws and R-hat of each parameter.

        prob: of the interval, which leaves as much on both sides: q5 and q95 of 0.9. ArviZ draws the shortest one, of another probability, if not told.
        """
        probability, ends = _interval(prob)
        names = [ends.get(name, name) for name in _SHOWN]
        rows = [[of[_COLUMNS.index(name)] for name in _SHOWN] for of in self._summaries]
        if probability != 0.9:
            numpy_ = _need("numpy", "summary(prob=...)")
            flat = self.draws().reshape(-1, len(self.labels))
            low, high = numpy_.quantile(flat, [(1 - probability) / 2, (1 + probability) / 2], axis=0)
            for j, row in enumerate(rows):
                if row[2] == row[2]:  # NaN where what was released allows no interval
                    row[2], row[4] = float(low[j]), float(high[j])
        return _table(rows, names, self.labels, "parameter")

    def to_pandas(self) -> pandas.DataFrame:
        """One row a draw, indexed by chain and draw (from 0); one column a parameter."""
        pandas_ = _need("pandas", "to_pandas()")
        index = pandas_.MultiIndex.from_product([range(self.n_chains), range(self.n_draws)], names=["chain", "draw"])
        frame: pandas.DataFrame = pandas_.DataFrame(self.draws().reshape(-1, len(self.labels)), index=index, columns=self.labels)
        return frame

    def to_arviz(self, newdata: Any = None, *, schema: Schema | None = None, seed: int = 1) -> Any:
        """An InferenceData of arviz 0.x, or the DataTree of arviz 1.x.

        Variables are called by labels; where a data set takes none such ("I(x/y)", "`a b`", "[ill] age", "draw") by names, "b_I_x_y". "beta[1]", "beta[2]"
        are one variable "beta", whose coordinates count from 1, as the labels do.
        newdata: rows that you bring, as of `predict`: adds posterior_predictive, a response for each draw and row (schema, seed as there).
        sample_stats: what samplers say of their moves (of noise-aware of those given its releases). There is no group of records: they are not kept.
        """
        az = _need("arviz", "to_arviz()")
        draws = self.draws()
        posterior: dict[str, Any] = {}
        dims: dict[str, list[str]] = {}
        coords: dict[str, list[Any]] = {}
        for name, shape, places in _arrays(self._called()):
            posterior[name] = draws[:, :, places].reshape(draws.shape[:2] + shape)
            if shape:
                dims[name] = [f"{name}_dim_{axis}" for axis in range(len(shape))]
                coords |= {dim: list(range(1, n + 1)) for dim, n in zip(dims[name], shape, strict=True)}
        groups = {"posterior": posterior, "sample_stats": self._sample_stats()}
        if newdata is not None:
            drawn, outcomes, index = self._responses(newdata, schema, seed)
            groups["posterior_predictive"] = {"response": drawn}
            dims["response"] = ["row", "class"][:drawn.ndim - 2]
            coords |= {"row": index, "class": outcomes}
        groups = {group: variables for group, variables in groups.items() if variables}
        given = {"dims": dims, "coords": coords}
        # Versions are told apart by number: InferenceData is another name of DataTree in 1.3.
        data = az.from_dict(**groups, **given) if int(az.__version__.partition(".")[0]) < 1 else az.from_dict(groups, **given)
        data["posterior"].attrs.update(self._attributes())
        return data

    def _sample_stats(self) -> dict[str, Any]:
        """By ArviZ's names, of methods that accept moves; computed from releases alone."""
        if not self._stats:
            return {}
        stats = _need("numpy", "to_arviz()").frombuffer(self._stats, dtype="<f8").reshape(self.n_chains, self.n_draws, 3)
        return {name: stats[:, :, k].copy() for k, name in enumerate(("acceptance_rate", "step_size", "n_steps"))}

    def _responses(self, newdata: Any, schema: Schema | None, seed: int) -> tuple[Any, list[str], list[Any]]:
        n_rows, outcomes, flat, *_ = self._predict(newdata, "response", schema, seed, True)
        shape = (self.n_chains, self.n_draws, n_rows, *([len(outcomes)] if len(outcomes) > 1 else []))
        index = list(_index_of(newdata)) if _index_of(newdata) is not None else list(range(n_rows))
        return _need("numpy", "to_arviz()").frombuffer(flat, dtype="<f8").reshape(shape).copy(), outcomes, index

    def _held(self) -> tuple[list[str], list[str], int, int, bytes]:
        """What predictions and contrasts are computed from, where there may be intervals."""
        if self._no_intervals:
            raise DataError("a check of the fit forbids intervals (its .findings), and what is computed from its draws would hide that: nothing is",
                            "fit", "data")
        return self.labels, self.names, self.n_chains, self.n_draws, self._draws

    def contrast(self, *expressions: str, exponentiate: bool = False, prob: float = 0.9) -> pandas.DataFrame:
        """Functions of parameters, evaluated for every draw and summarised: contrast("age - sexM", "2 * age").

        + - * / ^, parentheses, numbers, exp, log, sqrt, inv_logit, and parameters by their labels or names, in backquotes if need be.
        exponentiate: odds ratios (bernoulli, cumulative), rate ratios (poisson, negbinomial), time ratios (weibull), ... p_above: the share of draws above no effect: 0, of ratios 1.
        prob: of the interval, as of `summary`.
        """
        probability, ends = _interval(prob)
        if not expressions:
            raise ArgumentError('nothing to compute: give an expression such as "age - sexM"', "expression", "argument")
        expressions = tuple(_data.text(expression, "expression", "a text such as 'age - sexM'") for expression in expressions)
        is_ratio = _data.flag(exponentiate, "exponentiate")
        return self._contrasts([(f"exp({expression})" if is_ratio else expression, _core.contrast(self._held(), expression, is_ratio, probability))
                                for expression in expressions], ends)

    def effects(self, *columns: str, population: Any, population_is_public: bool = False, schema: Schema | None = None,
                prob: float = 0.9) -> pandas.DataFrame:
        """What changing a column does to the expected response, averaged over rows that the analyst brings: effects("sex", "age", population=rows).

        Of a categorical or binary column each level less the first; of a number its derivative. population: as newdata of `epred`: public, or
        synthetic (`tacit.synthesize`). Rows as of `contrast`; of a categorical response one for each class.
        The averages show what the rows are: given the private records of the fit the result is NOT PRIVATE, and nobody can tell here.
        population_is_public: you answer for it; without it each use warns. prob: of the interval, as of `summary`.
        """
        probability, ends = _interval(prob)
        if not _data.flag(population_is_public, "population_is_public"):
            warnings.warn("effects() averages over the rows of population: where they are private records, what it returns is NOT PRIVATE and charged to no "
                          "budget; population_is_public=True says that they are public or synthetic", PrivacyWarning, stacklevel=2)
        if not columns:
            raise ArgumentError("columns: names of columns of the formula", "columns", "argument")
        names = [_data.text(name, "columns", "the name of a column") for name in columns]
        _need("pandas", "effects()")
        text = self._rows(population, "population", schema)
        rows, n_moved = _core.effects(self._held(), self.formula, self.family, self._program, text, self._known_sd, _data.Once(population), names,
                                      probability)
        _warn_moved(n_moved)
        return self._contrasts(rows, ends)

    @staticmethod
    def _contrasts(rows: list[tuple[str, tuple[float, ...]]], ends: dict[str, str]) -> pandas.DataFrame:
        places = [(*_COLUMNS, "p_above").index(name) for name in _OF_CONTRASTS]
        names = [ends.get(name, name) for name in _OF_CONTRASTS]
        return _table([[numbers[place] for place in places] for _, numbers in rows], names, [name for name, _ in rows], "contrast")

    def _rows(self, newdata: Any, field: str, schema: Schema | None) -> bytes:
        """The schema's text, where there can be predictions for such rows."""
        if self._program is None and self.family not in _FAMILIES:
            raise ArgumentError(f"there are no predictions for family {self.family!r}: they are made of the formula of a regression or of a program that was kept",
                                "family", "argument")
        is_no_frame = isinstance(newdata, (str, os.PathLike)) and (newdata != "grid" or field != "newdata")
        if newdata is None or isinstance(newdata, (list, tuple, int, float)) or is_no_frame:
            raise ArgumentError(f"{field}: rows in a data frame or a dict of columns, {{'x': [1.5]}}" + (', or "grid"' if field == "newdata" else ""), field,
                                "argument")
        text = _data.schema_text(schema)[0] if schema is not None else self._schema
        if text is None:
            raise ArgumentError("give the schema: the directory of this fit does not hold it", "schema", "argument")
        return text

    def _predict(self, newdata: Any, kind: str, schema: Schema | None, seed: int, is_of_draws: bool) \
            -> tuple[int, list[str], bytes, list[tuple[str, list[Any]]], int, str]:
        if not isinstance(kind, str) or kind not in _KINDS:
            raise ArgumentError('kind must be "mean", "linear" or "response"', "kind", "argument")
        text = self._rows(newdata, "newdata", schema)
        found = _core.predict(self._held(), self.formula, self.family, self._program, text, self._known_sd,
                              None if isinstance(newdata, str) else _data.Once(newdata), _KINDS.index(kind),
                              _data.whole(seed, "seed", 0, 2**64 - 1), is_of_draws)
        _warn_moved(found[4])
        if found[5]:
            warnings.warn(found[5].rstrip("\n"), stacklevel=3)
        return found

    def epred(self, newdata: Any, *, schema: Schema | None = None) -> numpy.ndarray[Any, Any]:
        """Expected responses of rows that the analyst brings, one for each draw: shape (chains * draws, rows); of classes, or several outcomes: and those.

        newdata: as the data of `fit`, the response not needed; or "grid". Values are held within the schema's bounds, with a warning.
        schema: needed where the directory that `tacit.read` read holds none.
        """
        numpy_ = _need("numpy", "epred()")
        n_rows, outcomes, flat, *_ = self._predict(newdata, "mean", schema, 0, True)
        shape = (-1, n_rows, len(outcomes)) if len(outcomes) > 1 else (-1, n_rows)
        means: numpy.ndarray[Any, Any] = numpy_.frombuffer(flat, dtype="<f8").reshape(shape).copy()
        return means

    def predict(self, newdata: Any, *, kind: str = "mean", schema: Schema | None = None, seed: int = 1, prob: float = 0.9) -> pandas.DataFrame:
        """Mean, sd and quantiles over the draws, a row for each of newdata; of classes, and of several outcomes, a row for each.

        newdata: as of `epred`; a pandas frame's index is kept; "grid": each column varies over its public range while the others stay at the
            middle, or their first level.
        kind: "mean": the expected response: a probability, a mean, a rate; "linear": the linear predictor; "response": responses
            themselves, simulated by `seed`. Computed from released draws: costs no privacy.
        prob: of the interval, as of `summary`.
        """
        pandas_ = _need("pandas", "predict()")
        probability, ends = _interval(prob)
        is_of_draws = probability != 0.9
        n_rows, outcomes, flat, columns, *_ = self._predict(newdata, kind, schema, seed, is_of_draws)
        numbers, n = memoryview(flat).cast("d"), len(outcomes)
        if is_of_draws:
            numpy_ = _need("numpy", "predict(prob=...)")
            draws = numpy_.frombuffer(flat, dtype="<f8").reshape(-1, n_rows * n)
            spread = draws.std(axis=0, ddof=1) if len(draws) > 1 else numpy_.full(n_rows * n, float("nan"))
            quantiles = numpy_.quantile(draws, [(1 - probability) / 2, 0.5, (1 + probability) / 2], axis=0)
            numbers = memoryview(numpy_.ascontiguousarray(numpy_.stack([draws.mean(axis=0), spread, *quantiles], axis=1)).tobytes()).cast("d")
        table: dict[str, list[Any]] = {name: [value for value in values for _ in range(n)] for name, values in columns}
        if outcomes != [""]:
            table |= {} if columns else {"row": [row for row in range(n_rows) for _ in range(n)]}
            table["class"] = outcomes * n_rows
        frame: pandas.DataFrame = pandas_.DataFrame(table | {name: list(numbers[k::5])
                                                             for k, name in enumerate(("mean", "sd", ends["q5"], "q50", ends["q95"]))})
        if _index_of(newdata) is not None and len(frame) == len(newdata) * n:
            frame.index = newdata.index.repeat(n)
        return frame

    def _attributes(self) -> dict[str, str]:
        return {"inference_library": "tacit", "inference_library_version": _core.version, "privacy": self.privacy_line()}

    def privacy_line(self) -> str:
        """The guarantee in one line."""
        if not self.is_private:
            reason = next((text for text in self.privacy.get("assumptions", []) if text.startswith("NOT PRIVATE")), "NOT PRIVATE")
            return str(reason)
        if self.privacy.get("post_processing"):
            return "computed from a released statistic alone, at no further privacy cost"
        return (f"private: epsilon {self.privacy['epsilon']:.6g} at delta {self.privacy['delta']:g} "
                f"(relation {self.privacy['relation']}, unit {self.privacy['unit']})")

    def _remarks(self) -> list[str]:
        ends = {"budget": "the run ended when the budget was spent", "interrupted": "the run was interrupted: draws so far"}
        remarks = [ends[self.end]] if self.end in ends else []
        return remarks + [f"{severity}: {what}; {advice}" for severity, what, advice in self.findings if severity == "problem"]

    def _size(self) -> str:
        return f"{self.n_chains} chain{'' if self.n_chains == 1 else 's'} of {self.n_draws} draws; {self.privacy_line()}"

    def __repr__(self) -> str:
        return "\n".join([self._table.rstrip("\n"), "", self._size(), *self._remarks()])

    def _repr_html_(self) -> str:
        lines = [line.split() for line in self._table.rstrip("\n").split("\n")]
        width = len(lines[0])
        rows = [[" ".join(line[: len(line) - width + 1]), *line[len(line) - width + 1:]] for line in lines[1:]]
        text = self._size()
        return (_html.table(lines[0], rows) + _html.line(text, not self.is_private)
                + "".join(_html.line(remark, True) for remark in self._remarks()))


def _index_of(newdata: Any) -> Any:
    """The index of a frame of pandas, else None."""
    return newdata.index if type(newdata).__module__.partition(".")[0] == "pandas" else None


def _file(path: str, name: str) -> str:
    with open(os.path.join(path, name), encoding="utf-8") as file:
        return file.read()


def run_settings(path: str) -> dict[str, tuple[str, bool]]:
    """The settings of run.yaml: text, and whether it is a default."""
    found: dict[str, tuple[str, bool]] = {}
    for line in _file(path, "run.yaml").splitlines():
        key, colon, rest = line.partition(": ")
        if colon and not line.startswith("#"):
            text, mark, _ = rest.partition("  # default")
            text = text.strip()
            found[key] = (str(json.loads(text)) if text.startswith('"') else text, bool(mark))
    return found


def read(path: str | os.PathLike[str]) -> Posterior:
    """Read the directory of a fit again: what was paid for once costs nothing more."""
    name = _data.path(path)
    result = _core.read(name)
    try:
        result["privacy"] = _file(name, "privacy.json")
        result["statement"] = _file(name, "privacy.txt")
        result["program"] = _file(name, "program.stan") if os.path.exists(os.path.join(name, "program.stan")) else None
        settings = run_settings(name)
        schema = _file(name, "schema.yaml").encode() if os.path.exists(os.path.join(name, "schema.yaml")) else None
        known_sd = settings.get("sd", ("", True))
        return Posterior(result, settings.get("formula", ("", False))[0], result["family"] or settings.get("family", ("", False))[0], name, schema,
                         0.0 if known_sd[1] else float(known_sd[0]))
    except (OSError, ValueError, KeyError) as error:
        reason = f"{name}: not the whole directory of a fit: {type(error).__name__}: {error}"
    raise FileError(reason, name, "io")
