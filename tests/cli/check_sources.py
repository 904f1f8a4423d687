#!/usr/bin/env python3
"""Records from the standard input, pipes and files of several kinds give the same artefacts, byte for byte, as the CSV file of the same values.

    check_sources.py TACIT [WRITER of SAS, SPSS and Stata files]
"""
import gzip
import os
import pathlib
import pty
import random
import shutil
import subprocess
import sys
import tempfile
import threading

from counted import Cases

TACIT = os.path.abspath(sys.argv[1])
WRITER = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
SCHEMA = """dataset: visits
unit: patient_id
max_rows: 3
columns:
  patient_id: {type: id}
  age: {type: numeric, lower: 0, upper: 100, missing: 50}
  sex: {type: categorical, levels: [F, M]}
  ill: {type: binary}
"""
FIT = ["--family", "bernoulli", "--schema", "visits.yaml", "--epsilon", "5", "--delta", "1e-6", "--method", "dp-penalty", "--draws", "5",
       "--chains", "1", "--seed", "1", "--quiet", "--yes"]

case = Cases()
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
pathlib.Path("visits.yaml").write_text(SCHEMA)
pathlib.Path("rows.yaml").write_text("\n".join(line for line in SCHEMA.split("\n") if "patient" not in line and "max_rows" not in line))


def run(words, data=None):
    return subprocess.run([TACIT, *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)


def succeed(words, data=None):
    done = run(words, data)
    assert done.returncode == 0, done.stderr
    return done


def refuse(words, status, *texts, data=None):
    done = run(words, data)
    message = done.stderr.decode()
    assert done.returncode == status and len(message.strip().split("\n")) == 1 and all(text in message for text in texts), (done.returncode, message)
    assert not os.path.exists("out"), "something was left behind"


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}


def fit(data, out, stdin=None, *more):
    shutil.rmtree(out, ignore_errors=True)
    succeed(["fit", "ill ~ age + sex", *FIT, "--data", data, "--out", out, *more], stdin)
    return contents(out)


def visits(n, persons, seed):
    """Rows of persons in any order; what is kept by the stated rule: the first three rows of each, in the order of the file."""
    draw = random.Random(seed)
    rows = [(draw.randrange(persons), draw.choice(["", f"{draw.uniform(-5, 99):.2f}"]), draw.choice("FM"), draw.randrange(2)) for _ in range(n)]
    seen = {}
    kept = [row for row in rows if seen.setdefault(row[0], []).append(row) or len(seen[row[0]]) <= 3]
    return rows, kept


def table(rows, identifier=str, separator=","):
    lines = ["age,patient_id,sex,ill"] + [f"{age},{identifier(who)},{sex},{ill}" for who, age, sex, ill in rows]
    return "\n".join(line.replace(",", separator) for line in lines) + "\n"


@case
def standard_input_and_pipes_are_files():
    rows, _ = visits(20000, 6000, 1)  # more than a buffer
    text = table(rows).encode()
    pathlib.Path("visits.csv").write_bytes(text)
    expected = fit("visits.csv", "f0")
    assert fit("-", "f1", text) == expected and fit("/dev/stdin", "f2", text) == expected
    assert fit("-", "f3", gzip.compress(text)) == expected
    os.mkfifo("fifo")

    def feed():
        with open("fifo", "wb") as out:
            for at in range(0, len(text), 1000):
                out.write(text[at:at + 1000])

    writer = threading.Thread(target=feed)
    writer.start()
    assert fit("fifo", "f4") == expected
    writer.join()
    succeed(["import", "visits.csv", "--schema", "visits.yaml", "--out", "i0"])
    succeed(["import", "-", "--schema", "visits.yaml", "--out", "i1"], text)
    assert contents("i0") == contents("i1") and fit("i1", "f5") == expected
    done = succeed(["schema", "check", "visits.yaml", "--data", "-", "--curator-notes"], text)
    assert b"rows used" in done.stderr and done.stderr == succeed(["schema", "check", "visits.yaml", "--data", "visits.csv",
                                                                   "--curator-notes"]).stderr
    words = ["release", "--statistic", "counts", "--column", "sex,ill", "--schema", "rows.yaml", "--epsilon", "1", "--delta", "1e-6", "--seed", "1"]
    succeed([*words, "--data", "visits.csv", "--out", "r0"])
    succeed([*words, "--data", "-", "--out", "r1"], text)
    assert pathlib.Path("r0").read_bytes() == pathlib.Path("r1").read_bytes()
    assert succeed(["schema", "draft", "-"], text).stdout == succeed(["schema", "draft", "visits.csv"]).stdout


@case
def other_encodings_are_the_same_fit():
    text = "größe;who;ort\n" + "".join(f"{i % 90},5;{i};{('Köln', 'Ulm')[i % 7 % 2]}\n" for i in range(3000))
    pathlib.Path("places.yaml").write_text("columns:\n  größe: {type: numeric, lower: 0, upper: 100}\n  ort: {type: categorical, levels: [Ulm, Köln]}\n")
    words = [word if word != "visits.yaml" else "places.yaml" for word in FIT]
    expected = None
    for encoding, said in (("utf-8", []), ("latin-1", ["--encoding", "latin1"]), ("utf-16", []), ("utf-16-le", ["--encoding", "utf-16le"])):
        pathlib.Path("places.csv").write_bytes(text.encode(encoding))
        shutil.rmtree("q", ignore_errors=True)
        succeed(["fit", "ort ~ größe", *words, "--data", "places.csv", *said, "--out", "q"])
        expected = expected or contents("q")
        assert contents("q") == expected, encoding


@case
def what_stands_between_fields():
    """By the header row, quoted names aside, or as it is said; what databases write of booleans and of char(n) is what others write."""
    rows, _ = visits(4000, 900, 7)
    text = table(rows)
    pathlib.Path("visits.csv").write_text(text)
    expected = fit("visits.csv", "s0")
    for k, separator in enumerate("\t;|"):
        assert fit("-", f"s1{k}", table(rows, separator=separator).encode()) == expected, separator
    assert fit("-", "s2", table(rows, separator=":").encode(), "--delimiter", ":") == expected
    assert fit("-", "s3", table(rows, separator="\t").encode(), "--delimiter", "tab") == expected
    header, *others = text.splitlines()
    quoted = "\n".join([f'"a;b;c;d;e;f",{header}', *(f"x,{line}" for line in others)]) + "\n"
    assert fit("-", "s4", quoted.encode()) == expected
    lines = [header] + [f"{age},{who}, {sex}  ,{'ft'[ill]}" for who, age, sex, ill in rows]
    assert fit("-", "s5", "\n".join(lines).encode() + b"\n") == expected


@case
def files_that_are_no_text_are_named():
    words = ["schema", "draft", "-"]
    for begin, said in ((b"PAR1\x15\x04", "a Parquet file"), (b"ARROW1\0\0", "a Feather or Arrow file"), (b"PK\x03\x04", "Excel's .xlsx"),
                        (b"\x28\xb5\x2f\xfd\x04", "zstd -dc"), (b"\xfd7zXZ\0", "xz -dc"), (b"BZh91AY&SY\0", "bzip2 -dc"), (b"SQLite format 3\0", "odbc:NAME"),
                        (gzip.compress(b"RDX3\nX\n\0"), "load(FILE)"), (b"$FL2@(#) SPSS", ".sav")):
        refuse(words, 3, said, data=begin + bytes(range(256)))
    assert b"PAR1" in succeed(words, b"PAR1,b\n1,2\n").stdout


@case
def a_question_about_persons_needs_no_second_look():
    done = succeed(["schema", "check", "rows.yaml", "--data", "-"], table(visits(50, 9, 2)[0]).encode())
    assert b"column 'patient_id' seems to say whose record it is" in done.stderr


@case
def persons_keep_their_first_rows():
    """Identifiers of any kind, rows in any order: as if only the rows that the rule keeps had been there, by CSV, pipe and import."""
    rows, kept = visits(3000, 700, 3)
    assert len(kept) < len(rows)
    kinds = {"text": lambda who: f'"Müller, {who}"', "number": str, "zeros": lambda who: f"{who:06d}", "half": lambda who: f"{who / 2}",
             "uuid": lambda who: f"{who:08x}-0000-4000-8000-{who:012x}", "date": lambda who: f"2001-02-03T{who:06d}"}
    expected = None
    for name, identifier in kinds.items():
        pathlib.Path("all.csv").write_text(table(rows, identifier))
        got = fit("all.csv", "p0")
        assert got == fit("-", "p1", table(kept, identifier).encode()), name
        shutil.rmtree("p2", ignore_errors=True)
        succeed(["import", "-", "--schema", "visits.yaml", "--out", "p2"], table(rows, identifier).encode())
        assert got == fit("p2", "p3"), name
        assert expected in (None, got), name  # who somebody is does not matter, only which rows are theirs
        expected = got
    grouped = sorted(rows, key=lambda row: row[0])  # persons in another order, the rows of each in theirs
    assert sum(row[3] for row in grouped) == sum(row[3] for row in rows)
    pathlib.Path("grouped.csv").write_text(table(grouped))
    units = []
    for data in ("all.csv", "grouped.csv"):
        done = succeed(["schema", "check", "visits.yaml", "--data", data, "--curator-notes"])
        units.append(done.stderr)
    assert units[0] == units[1], units
    semicolons = table(rows, separator=";").replace(".", ",").encode()
    assert fit("-", "p4", semicolons) == expected


@case
def a_file_has_one_decimal_mark():
    """In a file with semicolons 1.234 may be 1234, where other numbers have commas."""
    pathlib.Path("marks.yaml").write_text("columns:\n  x: {type: numeric, lower: 0, upper: 2000}\n  y: {type: numeric, lower: 0, upper: 9}\n")
    for text, line in ((b"x;y\n1,5;2\n7;3\n1.234;3\n", b":4:1: column 'x'"), (b"x;y\n1.234;2\n3;2,5\n", b":3:3: column 'y'")):
        refused = run(["schema", "check", "marks.yaml", "--data", "-"], text)
        assert refused.returncode == 3 and line in refused.stderr and b"same mark" in refused.stderr, refused
    for text in (b"x;y\n1,5;2\n3;2,5\n", b"x;y\n1.5;2\n3;2.5\n", b"x,y\n1.5,2\n3,2.5\n", b"x;y\n1;2\n"):
        succeed(["schema", "check", "marks.yaml", "--data", "-"], text)


@case
def seven_and_07_are_two_persons():
    text = b"age,patient_id,sex,ill\n" + b"1,7,F,0\n" * 3 + b"2,07,F,1\n" * 4
    done = succeed(["schema", "check", "visits.yaml", "--data", "-", "--curator-notes"], text)
    assert b"rows used 6, units 2" in done.stderr and b"rows beyond max_rows 1" in done.stderr, done.stderr


@case
def a_question_cannot_be_answered_where_the_records_come_from():
    """On a terminal, where the forecast is bad: said, not asked, and nothing is spent; scripts go on."""
    words = [TACIT, "fit", "ill ~ age + sex", "--family", "bernoulli", "--schema", "rows.yaml", "--epsilon", "0.1", "--delta", "1e-6",
             "--data", "-", "--out", "out"]
    text = table(visits(200, 100, 4)[0]).encode()
    terminal, other = pty.openpty()
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=other)
    os.close(other)
    process.stdin.write(text)
    process.stdin.close()
    said = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        said += piece
    assert process.wait() == 4 and b"cannot be answered there: say --yes" in said and not os.path.exists("out"), said
    terminal, other = pty.openpty()
    done = subprocess.run(words, stdin=other, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"standard input is a terminal" in done.stderr, done.stderr


@case
def bad_streams_are_told_by_place():
    words = ["fit", "ill ~ age", *FIT, "--out", "out", "--data", "-"]
    refuse(words, 3, "standard input is empty: expected a header row", data=b"")
    refuse(words, 3, "standard input:3:1: column 'age': expected a number", data=b"age,patient_id,sex,ill\n1,a,F,0\nold,b,F,1\n")
    refuse(words, 3, "standard input has no column 'patient_id' in its header", data=b"age,sex,ill\n1,F,0\n")
    refuse(words, 3, "standard input:2:1: a row of 2 fields", data=b"age,patient_id,sex,ill\n1,2\n")
    refuse(words, 3, "standard input has no records", data=b"age,patient_id,sex,ill\n")
    refuse(words, 3, "a row without its unit of privacy", data=b"age,patient_id,sex,ill\n1,,F,0\n")
    refuse(words, 1, "cannot read standard input: the compressed file is truncated",
           data=gzip.compress(b"age,patient_id,sex,ill\n" + b"1,2,F,0\n" * 9999)[:60])
    refuse(words, 3, "a NUL byte", data=b"age,patient_id,sex,ill\n1,\0,F,0\n")


@case
def files_of_sas_spss_and_stata_give_the_same_fit():
    if WRITER is None:
        return
    columns = {"age": "{type: numeric, lower: 0, upper: 100, missing: 50}", "sex": '{type: categorical, levels: ["1", "2"]}', "ill": "{type: binary}",
               "day": "{type: numeric, since: 2000-01-01, lower: 0, upper: 5000}", "no": "{type: id}"}
    expected = None
    for kind in ("sas7bdat", "xpt", "sav", "dta"):
        subprocess.run([WRITER, kind, f"d.{kind}", "500"], check=True)
        pathlib.Path("s.yaml").write_text('unit: "no"\nmax_rows: 2\ncolumns:\n' + "".join(f'  "{name}": {rule}\n' for name, rule in columns.items()))
        got = {}
        for source in (f"d.{kind}", "imported"):
            shutil.rmtree("d", ignore_errors=True)
            succeed(["fit", "ill ~ age + sex + day", *[word if word != "visits.yaml" else "s.yaml" for word in FIT], "--data", source, "--out", "d"])
            got[source] = contents("d")
            assert got[source] == (expected or got[source]), kind
            expected = got[source]
            if source != "imported":
                shutil.rmtree("imported", ignore_errors=True)
                succeed(["import", source, "--schema", "s.yaml", "--out", "imported"])
    subprocess.run([WRITER, "sas7bcat", "formats.sas7bcat", "0"], check=True)
    pathlib.Path("s.yaml").write_text(pathlib.Path("s.yaml").read_text().replace('levels: ["1", "2"]', "levels: [F, M], labels: true"))
    labelled = {}
    for source, more in (("d.dta", []), ("d.sas7bdat", ["--catalog", "formats.sas7bcat"]),
                         ("d.xpt", ["--catalog", "formats.sas7bcat", "--encoding", "latin1"])):
        shutil.rmtree("d", ignore_errors=True)
        succeed(["fit", "ill ~ age + sex + day", *[word if word != "visits.yaml" else "s.yaml" for word in FIT], "--data", source, *more,
                 "--out", "d"])
        labelled[source] = contents("d")
        assert labelled[source] == labelled["d.dta"], source
    refuse(["fit", "ill ~ sex", *[word if word != "visits.yaml" else "s.yaml" for word in FIT], "--data", "d.sas7bdat", "--out", "out"], 3,
           "which --catalog FILE.sas7bcat names")
    pathlib.Path("cut.dta").write_bytes(pathlib.Path("d.dta").read_bytes()[:5000])
    pathlib.Path("text.sav").write_text("age,sex\n1,2\n")
    pathlib.Path("empty.sas7bdat").write_text("")
    words = ["fit", "ill ~ age", *[word if word != "visits.yaml" else "s.yaml" for word in FIT], "--out", "out", "--data"]
    refuse([*words, "cut.dta"], 3, "cut.dta is cut short or damaged: export it again")
    refuse([*words, "text.sav"], 3, "text.sav is")
    refuse([*words, "empty.sas7bdat"], 3, "empty.sas7bdat is")
    refuse([*words, "nowhere.sav"], 1, "cannot open nowhere.sav")
    refuse(["fit", "ill ~ age", *FIT, "--out", "out", "--data", "d.dta"], 3, "d.dta has no column 'patient_id'")


if __name__ == "__main__":
    os.chdir("/")
    print(case)
    sys.exit(case.failed > 0)
