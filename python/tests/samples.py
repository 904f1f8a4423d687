"""What tests of the package share: records that anybody can make again, a fit of them, a folder; other libraries where they are there."""
import math
import os
import pathlib
import signal
import tempfile
import unittest
import warnings

import tacit

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

FORMULA = "y ~ x + s"
SCHEMA = {"columns": {"x": {"type": "numeric", "lower": -3, "upper": 3}, "s": {"type": "categorical", "levels": ["a", "b"]},
                      "y": {"type": "binary"}, "k": {"type": "integer", "lower": 0, "upper": 9, "missing": 4}}}
N = 3000


def records(n=N):
    """A data set that anybody can make again: no random numbers of a library."""
    state, columns = 12345, {"x": [], "s": [], "y": [], "k": []}
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        x = round(((state >> 20) % 6001) / 1000 - 3, 3)
        s = "b" if state >> 60 & 1 else "a"
        p = 1 / (1 + math.exp(-(0.3 + 0.8 * x - 0.6 * (s == "b"))))
        columns["x"].append(x)
        columns["s"].append(s)
        columns["y"].append(int((state >> 33) % 10000 < 10000 * p))
        columns["k"].append(None if state >> 50 & 15 == 0 else state >> 40 & 7)
    return columns


def fit(data, formula=FORMULA, **more):
    given = {"schema": SCHEMA, "family": "bernoulli", "epsilon": 2, "delta": 1e-6, "progress": False, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tacit.PrivacyWarning)
        return tacit.fit(formula, data, **given)


class Folder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()


class Interrupter:
    """Sends SIGINT at the k-th call, as Ctrl-C does; a progress function."""

    def __init__(self, k):
        self.left = k

    def __call__(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
