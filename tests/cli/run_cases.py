#!/usr/bin/env python3
"""Run the program as a user would: bad inputs and good paths.

    run_cases.py TACIT SOURCE_ROOT            run the quick cases; ends with "N passed, N failed"
    run_cases.py TACIT SOURCE_ROOT --all      run all cases
    run_cases.py TACIT SOURCE_ROOT --only TEXT  run the cases with TEXT in their names
    run_cases.py TACIT SOURCE_ROOT --table    write docs/errors.md from what the program really prints
"""
import gzip
import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import cases_fit  # noqa: E402
import cases_import  # noqa: E402
import cases_infer  # noqa: E402
import cases_ledger  # noqa: E402
import cases_methods  # noqa: E402
import cases_noise_aware  # noqa: E402
import cases_program  # noqa: E402
from bad_inputs import BAD  # noqa: E402
from case_engine import ONLY, ROOT, check_bad, counts, run, verdict  # noqa: E402
from case_files import FILES, make_columns, make_ledgers  # noqa: E402


def write_table():
    rows = ["# What is said about bad input", "",
            "Printed by the program itself (`tests/cli/run_cases.py --table`); paths are shortened. Every message goes to",
            "standard error; the exit statuses are those of `tacit fit --help`.", "",
            "| what is wrong | what is printed | exit status |", "| --- | --- | --- |"]
    for name, words, status, _ in BAD:
        done = run(words)
        shutil.rmtree("out", ignore_errors=True)
        text = "\n".join(line for line in done.stderr.rstrip("\n").split("\n") if not line.startswith("plan:"))
        text = text.replace(str(ROOT) + "/", "").replace("|", "\\|")
        cell = "<br>".join("`" + line.replace("`", "'") + "`" for line in text.split("\n"))
        rows.append(f"| {name} | {cell} | {done.returncode} |")
    (ROOT / "docs/errors.md").write_text("\n".join(rows) + "\n")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in FILES.items():
            pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        packed = gzip.compress(("y,x,s\n" + "1,1.5,F\n0,0.7,M\n" * 5000).encode())
        pathlib.Path("cut.csv.gz").write_bytes(packed[: len(packed) // 2])
        os.mkdir("exists")
        make_ledgers()
        make_columns()
        if "--table" in sys.argv:
            write_table()
            return
        for name, words, status, pattern in [bad for bad in BAD if ONLY in bad[0]]:
            verdict(name, check_bad(name, words, status, pattern)[0])
        for subject in (cases_fit, cases_noise_aware, cases_ledger, cases_methods, cases_infer, cases_program, cases_import):
            subject.run_all()
        os.chdir("/")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
