#!/usr/bin/env python3
"""Build the Python package's wheel as pip does, and test what was built: python3 check_package.py PROGRAM [BUILD]

BUILD is where to build: beside another build of the same sources, ccache finds what that one has compiled.
Needs pip's access to meson-python. What is checked besides python/tests: the wheel holds the extension (meson-python says nothing where it
does not), exports one symbol, keeps assertions; user code passes mypy --strict; numbers are those of the program.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER = '''\
import tacit

plan = tacit.plan("y ~ x", schema={"columns": {}}, n=10, epsilon=1, delta=1e-6)
post = tacit.fit("y ~ x", "data.csv", schema="s.yaml", family="bernoulli", epsilon=1, delta=1e-6, clip_grad="private", prior=["normal(0, 1)"])
mean: float = float(post.summary()["mean"].iloc[0])
ratio: float = float(post.contrast("x - 1", exponentiate=True)["q50"].iloc[0])
effect: float = float(post.effects("x", population={"x": [1.0]})["mean"].iloc[0])
grid: list[float] = list(post.predict("grid", kind="response", seed=2)["mean"])
bins: float = float(tacit.check("fit", "data.csv", epsilon=1, delta=1e-6, by="x").to_pandas()["residual"].sum())
rows: int = len(tacit.synthesize("fit", rows=10, sets=2).to_pandas())
page: str = tacit.statement("fit", out="page.html")
program: str = tacit.model("y ~ x", family="bernoulli", schema="s.yaml")
own = tacit.fit(program="visits.stan", data="data.csv", schema="s.yaml", epsilon=1, delta=1e-6, set=["D=10"])
statistic: str = tacit.release(data="data.csv", statistic="counts", column=["a", "b"], schema="s.yaml", epsilon=1, mechanism="discrete-laplace").yaml
means: list[float] = list(tacit.infer({"records": "gaussian", "mean": "normal(0, 1)", "sd": 0.5}, statistic, n=9, seed=1).to_pandas().mean())
epsilon: float = tacit.account(("gaussian:sigma=20", 1000), delta=1e-6)
spent: float = tacit.Ledger("l.ledger").spent
shared = tacit.fit("y ~ x", "data.csv", schema="s.yaml", family="bernoulli", epsilon=1, delta=1e-6, ledger=tacit.Ledger("l.ledger"))
age: list[float] = list(post["age"].mean(axis=1))
'''

# Each line is wrong, and a checker of types says so.
WRONG = '''\
import tacit
tacit.fit("y ~ x", "data.csv", schema="s.yaml", famly="bernoulli", epsilon=1, delta=1e-6)
tacit.fit("y ~ x", "data.csv", schema="s.yaml", family="bernoulli", epsilon="one", delta=1e-6)
tacit.fit("y ~ x", "data.csv", schema="s.yaml", family="bernoulli", epsilon=1, delta=1e-6, seed=1)
tacit.plan("y ~ x", schema="s.yaml", family="bernoulli", n=10, epsilon=1, delta=1e-6, clip_gard="private")
tacit.release(data="data.csv", statistic="mean", schema="s.yaml", epsilon=1, colunm="age")
tacit.refit("fit/", prior_scael="scaled")
tacit.check("fit/", "data.csv", epsilon=1, delta=1e-6, clip_grad=1)
tacit.infer("model.yaml", "age.yaml", thinning=2)
tacit.read("fit/").sumary()
'''


def run(*command, **more):
    return subprocess.run([str(part) for part in command], check=True, text=True, **more)


def engines(python, name):
    """Spark and Dask, started and stopped on this machine; Spark where there is Java."""
    if shutil.which("java") is None:
        print("skipped: Spark, as there is no Java")
    begun = time.monotonic()
    packages = ["dask[dataframe,distributed]"] + ["pyspark"] * (shutil.which("java") is not None)
    run(python, "-m", "pip", "install", "-q", "--no-compile", *packages)
    installed = time.monotonic()
    end = 1800 if "TACIT_TEST_FULL" in os.environ else 600  # s: a busy machine takes minutes to bring back a worker that was killed
    run(python, "-W", "ignore", "-m", "unittest", "-v", "test_engines", cwd=ROOT / "python/tests", env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}, timeout=end)
    print(f"engines: {installed - begun:.0f} s to install, {time.monotonic() - installed:.0f} s to test")


def main(program, build=None):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv/bin/python"
        run(python, "-m", "pip", "install", "-q", "meson-python", "meson", "ninja")
        bin_path = {"PATH": f"{folder}/venv/bin:/usr/local/bin:/usr/bin:/bin", "HOME": name}
        bin_path |= {key: os.environ[key] for key in ("CCACHE_DIR",) if key in os.environ}
        run(python, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder, f"-Cbuild-dir={build or folder / 'build'}", ROOT, env=bin_path)
        wheel, = folder.glob("*.whl")
        assert "-cp311-abi3-" in wheel.name, wheel.name
        zipfile.ZipFile(wheel).extractall(folder / "wheel")
        extension = folder / "wheel/tacit/_core.abi3.so"
        assert extension.exists(), "the wheel holds no extension"
        symbols = {line.split()[-1] for line in run("nm", "-D", "--defined-only", extension, capture_output=True).stdout.splitlines()}
        assert symbols == {"PyInit__core"}, symbols
        options = json.loads(run(folder / "venv/bin/meson", "introspect", "--buildoptions", build or folder / "build", capture_output=True).stdout)
        assert next(option["value"] for option in options if option["name"] == "b_ndebug") == "false"
        run(python, "-m", "pip", "install", "-q", wheel)
        asked = ("account", "--event", "poisson-gaussian:q=0.01,sigma=1", "--count", "100", "--delta", "1e-6", "--json")
        expected = json.loads(run(program, *asked, capture_output=True).stdout)["epsilon"]
        code = "import tacit; print(repr(float(tacit.account(('poisson-gaussian:q=0.01,sigma=1', 100), delta=1e-6))))"
        assert float(run(python, "-c", code, capture_output=True, cwd=name).stdout) == expected
        quick = {key: value for key, value in os.environ.items() if key != "TACIT_TEST_FULL"}  # in full those of misuse take hours: engines() alone
        bare = [word for case in ("Account", "Plans", "Sources", "Results", "Errors", "Boundary") for word in ("-k", case)] # numpy, pandas, ... are not there
        run(python, "-W", "ignore::FutureWarning", "-m", "unittest", "discover", *bare, "-s", ROOT / "python/tests", cwd=name, env=quick)
        run(python, "-m", "pip", "install", "-q", "--no-compile", "pandas", "polars", "pyarrow", "duckdb", "arviz", "mypy", "pandas-stubs")
        run(python, "-W", "ignore::FutureWarning", "-m", "unittest", "discover", "-s", ROOT / "python/tests", cwd=name, env=quick)
        engines(python, name)
        (folder / "user.py").write_text(USER)
        run(python, "-m", "mypy", "--strict", "user.py", cwd=name)
        (folder / "wrong.py").write_text(WRONG)
        told = subprocess.run([str(python), "-m", "mypy", "--strict", "wrong.py"], text=True, cwd=name, capture_output=True).stdout
        missed = [line for number, line in enumerate(WRONG.splitlines(), 1) if number > 1 and f"wrong.py:{number}: error" not in told]
        assert not missed, (missed, told)
        print(f"ok: {wheel.name}, {wheel.stat().st_size} bytes")


if __name__ == "__main__":
    main(*(pathlib.Path(word).resolve() for word in sys.argv[1:]))
