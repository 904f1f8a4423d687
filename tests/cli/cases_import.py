"""Columns imported once, and fits and releases from them."""
import os
import pathlib
import shutil
import subprocess

from case_engine import ALL, BASE, CSV, DELTA, YAML, case, common_faults, release, run


def run_all():
    seeded = ["--seed", "5", "--quiet", "--chains", "2", "--delta", "1e-6"]

    def same(a, b):
        names = sorted(os.listdir(a))
        assert names == sorted(os.listdir(b)) and names, (a, b)
        for name in names:
            assert pathlib.Path(a, name).read_bytes() == pathlib.Path(b, name).read_bytes(), f"{a}/{name} differs from {b}/{name}"

    def succeed(words):
        done = run(words)
        assert not common_faults(done) and done.returncode == 0, done.stderr
        return done

    @case("a fit from imported columns, and with records in a file, is the fit from CSV")
    def _():
        succeed(["import", CSV, "--schema", YAML, "--out", "flchain.columns/"])
        os.mkdir("scratch")
        for number, words in enumerate((["--epsilon", "1"], ["--epsilon", "50", "--method", "dp-hmc", "--draws", "20", "--threads", "2"],
                                        ["--epsilon", "20", "--method", "dp-fast-mh", "--draws", "20"],
                                        ["--epsilon", "8", "--method", "dp-sgld", "--draws", "20"],
                                        ["--epsilon", "8", "--method", "dp-mala", "--draws", "5"])[: 5 if ALL else 2]):
            texts = []
            for data, out, more in ((CSV, f"from-csv-{number}", []), ("flchain.columns", f"from-columns-{number}", []),
                                    ("flchain.columns/", f"from-file-{number}", ["--scratch", "scratch"])):
                done = succeed([data if word == CSV else word for word in BASE] + seeded + words + ["--out", out, "--curator-notes"] + more)
                texts.append((done.stdout.replace(out, "OUT"), done.stderr))
            assert texts[0] == texts[1] == texts[2], texts
            same(f"from-csv-{number}", f"from-columns-{number}")
            same(f"from-csv-{number}", f"from-file-{number}")
        assert os.listdir("scratch") == []

    @case("a statement claims no exactness where decisions clip", long=True)
    def _():
        for method, is_exact in (("dp-mala", False), ("dp-barker", True)):
            succeed(BASE + seeded[2:] + ["--epsilon", "8", "--method", method, "--draws", "5", "--yes", "--out", f"claims-{method}"])
            words = " ".join(pathlib.Path(f"claims-{method}", "privacy.txt").read_text().split())
            assert ("wider than the posterior" in words) != is_exact and ("slower, not biased" in words) == is_exact, words

    @case("persons with several rows from imported columns")
    def _():
        done = succeed(["import", "person.csv", "--schema", "person.yaml", "--out", "person.columns", "--curator-notes"])
        assert "person.columns" in done.stdout and "PRIVATE" in done.stdout and "rows" not in done.stdout, done.stdout
        assert "FOR THE CURATOR ONLY" in done.stderr and "rows beyond max_rows 0" in done.stderr, done.stderr
        for data, more in (("person.csv", []), ("person.columns", []), ("person.columns", ["--scratch", "."])):
            shutil.rmtree("person-fit", ignore_errors=True)
            succeed(["fit", "y ~ x", "--family", "bernoulli", "--data", data, "--schema", "person.yaml", "--epsilon", "50", *seeded,
                     "--method", "dp-penalty", "--draws", "5", "--out", "person-fit", *more])
            if os.path.exists("person-fit-0"):
                same("person-fit-0", "person-fit")
            else:
                os.rename("person-fit", "person-fit-0")

    @case("a release from imported columns, on threads and from a file, is the release from CSV")
    def _():
        succeed(["import", "people.csv", "--schema", "people.yaml", "--out", "people.columns"])
        for number, words in enumerate((release("clamped-mean", "hours", *DELTA), release("counts", "sex,smoker", *DELTA),
                                        ["release", "y ~ x + hours", *release("moments", None, *DELTA)[1:]],
                                        ["release", "old ~ x + hours", *release("score", None, *DELTA)[1:]])):
            texts = []
            for data, more in (("people.csv", []), ("people.csv", ["--threads", "2"]), ("people.columns", []),
                               ("people.columns", ["--scratch", "scratch"]), ("people.columns", ["--scratch", "scratch", "--threads", "3"])):
                words[words.index("--data") + 1] = data
                words[words.index("--out") + 1] = f"released-{number}.yaml"
                succeed(words + ["--seed", "3"] + more)
                texts.append(pathlib.Path(f"released-{number}.yaml").read_text())
                os.unlink(f"released-{number}.yaml")
            assert texts == texts[:1] * len(texts)
        assert os.listdir("scratch") == []

    @case("imported columns are their owner's alone, and are checked on request")
    def _():
        assert os.stat("people.columns").st_mode & 0o777 == 0o700
        assert all(os.stat(f"people.columns/{name}").st_mode & 0o777 == 0o600 for name in os.listdir("people.columns"))
        assert "ok: every row" in succeed(["schema", "check", "people.yaml", "--data", "people.columns"]).stdout

    @case("disk full: nothing is left of an import, and no room for records is an error")
    def _():
        if os.geteuid() != 0 or not shutil.which("mount"):
            return
        os.makedirs("tiny", exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "tiny"], stderr=subprocess.DEVNULL).returncode:
            return
        try:
            done = run(["import", CSV, "--schema", YAML, "--out", "tiny/columns"])
            assert done.returncode == 1 and "No space left" in done.stderr and not common_faults(done), done.stderr
            done = run(BASE + ["--epsilon", "1", "--delta", "1e-6", "--out", "full", "--scratch", "tiny"])
            assert done.returncode == 1 and "room that the records need in tiny: No space left" in done.stderr, done.stderr
            done = run(["release", "death ~ age", "--statistic", "score", "--data", CSV, "--schema", YAML, "--epsilon", "1", "--delta", "1e-6",
                        "--out", "full", "--scratch", "tiny"])
            assert done.returncode == 1 and "records need in tiny: No space left" in done.stderr, done.stderr
            assert os.listdir("tiny") == [] and not os.path.exists("full")
        finally:
            subprocess.run(["umount", "tiny"])
