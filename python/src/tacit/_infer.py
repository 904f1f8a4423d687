"""Parameters from a statistic that was released with noise: `tacit infer`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from . import _core, _data, _progress
from ._data import Schema
from ._fit import _pairs, _tell
from ._posterior import Posterior
from ._release import Release
from ._settings import InferSettings, Path, Setting


def _released(statistic: Schema | Release) -> tuple[bytes, str]:
    return (statistic.yaml.encode(), "statistic") if isinstance(statistic, Release) else _data.yaml_text(statistic, "statistic")


def infer(model: Schema | None, statistic: Schema | Release | Sequence[Schema | Release], *, n: int | None = None, method: str | None = None,
          chains: int | None = None,
          warmup: int | None = None, draws: int | None = None, out: Path | None = None, progress: bool | _progress.Watcher = True,
          seed: int | None = None, **settings: Unpack[InferSettings]) -> Posterior:
    """Draw parameters from their posterior given a privatized statistic of records that nobody here has. Costs no privacy.

    model: the distribution of the records and the prior: a path, YAML text, or a dict such as {"records": "gaussian", "mean": "normal(0, 1)",
        "sd": 0.5}; distributions: gaussian, poisson, regression, logistic, categorical (docs/guide/infer.md).
        Or the program of a record: a path that ends with .stan. None for margins, whose table is the model.
    statistic: what was released: what `tacit.release` returned, or a path, YAML text or a dict; of a program also a list of these.
    n: the number of records it was computed from, where the statistic does not say.
    method: "gibbs", "hmc" or "marginal"; if not said, the one that suits. chains, warmup, draws: 4, 1000 and 1000 of each chain.
    out: a new directory for the report, which `tacit.read` reads. seed: a repeatable run: no privacy hangs on it.
    Everything else by the names of `tacit.settings("infer")`: thin=2, threads=4, no_interweave=True.

    Ctrl-C returns the draws so far, or raises KeyboardInterrupt where there is none yet.
    """
    text = _data.yaml_text({"records": "table"} if model is None else model, "model")
    released = [_released(one) for one in statistic] if isinstance(statistic, Sequence) and not isinstance(statistic, str) else [_released(statistic)]
    given: dict[str, object] = {"n": n, "method": method, "chains": chains, "warmup": warmup, "draws": draws, "out": out, "seed": seed,
                                 **settings}
    file = None if out is None else _data.path(out, "out")
    watch, line = _progress.watcher(progress)
    try:
        result = _core.infer(*text, released, _pairs(given), watch, file is not None)
    finally:
        if line is not None:
            line.close()
    post = Posterior(result, result["statistic"], result["records"], None if result["unwritten"] else file)
    _tell(result, post, "")
    return post
