#!/usr/bin/env python3
"""Records from databases: a real PostgreSQL, started here on loopback, not as root, with scram; and SQLite. 77 where neither can be had.

    check_databases.py TACIT
"""
import glob
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from counted import Cases

TACIT = os.path.abspath(sys.argv[1])
PASSWORD = "pw-k3Qz-secret"
SCHEMA = """dataset: visits
columns:
  age: {type: numeric, lower: 0, upper: 100, missing: 50}
  sex: {type: categorical, levels: [F, M, Ü]}
  ill: {type: binary}
  day: {type: numeric, since: 2000-01-01, lower: 0, upper: 5000}
  dose: {type: numeric, lower: 0, upper: 10}
  kids: {type: integer, lower: 0, upper: 9}
"""
N = 9000
case = Cases()
outer = tempfile.TemporaryDirectory()
folder = pathlib.Path(outer.name)
folder.chmod(0o755)
os.chdir(folder)
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # the drivers of PostgreSQL and SQLite leak a few hundred bytes


def run(words, **more):
    return subprocess.run([TACIT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **more)


def succeed(words):
    done = run(words)
    assert done.returncode == 0, done.stderr
    return done


def refuse(words, status, *texts):
    done = run(words)
    lines = [line for line in done.stderr.strip().split("\n") if not line.startswith("plan:")]
    assert done.returncode == status and len(lines) == 1 and all(text in lines[0] for text in texts), (words, done.returncode, done.stderr)
    assert PASSWORD not in done.stderr and "clinic_reader" not in done.stderr and "127.0.0.1" not in done.stderr, done.stderr
    assert not os.path.exists("out")


def contents(path):
    return {p.name: p.read_bytes() for p in sorted(pathlib.Path(path).iterdir())}


# ---- the servers ----

def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def driver(*names):
    found = [path for name in names for path in glob.glob(f"/usr/lib/*/odbc/{name}") + glob.glob(f"/usr/lib/odbc/{name}")]
    return found[0] if found else None


class Postgres:
    """A cluster of its own in the folder; stopped with the test."""

    def __init__(self):
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.data, self.port = folder / "cluster", port()
        self.data.mkdir()
        self.as_user = []
        (folder / "password").write_text(PASSWORD + "\n")
        if os.geteuid() == 0:
            self.as_user = ["runuser", "-u", "nobody", "--"]
            shutil.chown(self.data, "nobody")
            shutil.chown(folder / "password", "nobody")
        self.call("initdb", "-D", str(self.data), "-U", "owner", "--pwfile", str(folder / "password"), "-A", "scram-sha-256", "-E", "UTF8",
                  "--locale=C", "-N")
        self.process = None
        self.start()

    def call(self, program, *words):
        done = subprocess.run([*self.as_user, f"{self.bin}/{program}", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
        assert done.returncode == 0, done.stdout

    def start(self):
        self.process = subprocess.Popen([*self.as_user, f"{self.bin}/postgres", "-D", str(self.data), "-p", str(self.port), "-h", "127.0.0.1",
                                         "-k", "", "-c", "fsync=off", "-c", "log_statement=all"], stdout=subprocess.DEVNULL, stderr=open(folder / "log", "a"),
                                         cwd="/")
        for _ in range(200):
            if self.psql("select 1", check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(open(folder / "log").read())

    def psql(self, *commands, check=True):
        words = ["psql", "-X", "-q", "-At", "-h", "127.0.0.1", "-p", str(self.port), "-U", "owner", "-d", "postgres", "-v", "ON_ERROR_STOP=1"]
        for command in commands:
            words += ["-c", command]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PGPASSWORD": PASSWORD})
        assert not check or done.returncode == 0, done.stderr
        return done

    def stop(self):
        """To be called once; the server is our own child, or runuser's."""
        is_seen = os.geteuid() == 0 or os.access(self.data, os.R_OK)
        pid = int((self.data / "postmaster.pid").read_text().split("\n")[0]) if is_seen else self.process.pid
        os.kill(pid, 3)
        self.process.wait(timeout=30)


VISITS = f"""create table visits as select i as no, case when i % 19 = 3 then null else (i * 7919 % 9000) / 64.0::double precision end as age,
  (case i % 47 % 3 when 0 then 'F' when 1 then 'M' else 'Ü' end)::char(4) as sex, (i * 17 % 29 % 2) = 1 as ill,
  date '2000-01-01' + (i * 13 % 5000)::int as day, (i * 31 % 1000)::numeric(6,2) / 100 as dose, (i % 7)::smallint as kids,
  timestamptz '2001-02-03 12:00:00+00' as at, '\\x00'::bytea as raw, (i % 700)::text as who, 0 as written from generate_series(1, {N}) i;
create role clinic_reader login password '{PASSWORD}'; grant all on visits to clinic_reader; grant create on schema public to clinic_reader;
create table hidden(x int); create function writes() returns int language sql as 'update visits set written = 1; select 1';
grant execute on function writes() to clinic_reader"""
QUERY = "select age, sex, ill, day, dose, kids from visits order by no"
FIT = ["--family", "bernoulli", "--schema", "s.yaml", "--epsilon", "5", "--delta", "1e-6", "--method", "dp-penalty", "--draws", "5", "--chains", "1",
       "--quiet", "--yes"]
FORMULA = "ill ~ age + sex + day + dose + kids"


def write_csv():
    def row(i):
        age = "" if i % 19 == 3 else repr(i * 7919 % 9000 / 64)
        day = time.strftime("%Y-%m-%d", time.gmtime((10957 + i * 13 % 5000) * 86400))
        return f"{age},{'FMÜ'[i % 47 % 3]},{i * 17 % 29 % 2},{day},{i * 31 % 1000 / 100},{i % 7},{i % 700}"
    pathlib.Path("visits.csv").write_text("age,sex,ill,day,dose,kids,who\n" + "\n".join(row(i) for i in range(1, N + 1)) + "\n")


def write_sources(server):
    lines = []
    if server:
        dsn = f"Driver={driver('psqlodbcw.so')}\nServername=127.0.0.1\nPort={server.port}\nDatabase=postgres\n"
        lines += ["[clinic]", dsn + f"Username=clinic_reader\nPassword={PASSWORD}\n", "[wrong]", dsn + "Username=clinic_reader\nPassword=pw-other\n",
                  "[closed]", dsn.replace(f"Port={server.port}", f"Port={port()}") + f"Username=clinic_reader\nPassword={PASSWORD}\n"]
    lines += ["[nodriver]", "Driver=/nowhere/driver.so"]
    if driver("libsqlite3odbc.so"):
        lines += ["[lite]", f"Driver={driver('libsqlite3odbc.so')}\nDatabase={folder}/lite.db\n", "[nofile]",
                  f"Driver={driver('libsqlite3odbc.so')}\nDatabase={folder}/nofile.db\n"]
    pathlib.Path("odbc.ini").write_text("\n".join(lines) + "\n")
    os.environ.update(ODBCINI=str(folder / "odbc.ini"), ODBCSYSINI=str(folder))


pathlib.Path("s.yaml").write_text(SCHEMA)
pathlib.Path("persons.yaml").write_text("unit: who\nmax_rows: 2\n" + SCHEMA + "  who: {type: id}\n")
pathlib.Path("private.yaml").write_text("relation: add-remove\n" + SCHEMA)
write_csv()
has_postgres = driver("psqlodbcw.so") and glob.glob("/usr/lib/postgresql/*/bin") and shutil.which("psql")
has_sqlite = driver("libsqlite3odbc.so") is not None
if not has_postgres and not has_sqlite:
    print("neither PostgreSQL nor SQLite with an ODBC driver: scripts/install-deps databases")
    sys.exit(77)
server = Postgres() if has_postgres else None
if server:
    server.psql(*VISITS.split(";\n"), "analyze visits")
write_sources(server)


def in_database(words, source, n, query=QUERY):
    return [*words, "--data", f"odbc:{source}", "--query", query, *(["--n-public", str(n)] if n else [])]


def same_as_csv(source, query, sex=True):
    formula = FORMULA if sex else "ill ~ age + kids"
    for schema, n in (("s.yaml", N), ("persons.yaml", 700), ("private.yaml", 5000)):
        words = ["fit", formula, *[schema if word == "s.yaml" else word for word in FIT], "--seed", "1", "--out"]
        for out in ("a", "b", "c", "imported"):
            shutil.rmtree(out, ignore_errors=True)
        who = query.replace("kids", "kids, who", 1)
        succeed([*words, "a", "--data", "visits.csv", "--n-public", str(n)])
        succeed(in_database([*words, "b"], source, n, who))
        assert contents("a") == contents("b"), schema
        succeed(["import", f"odbc:{source}", "--query", who, "--schema", schema, "--out", "imported"])
        succeed([*words, "c", "--data", "imported", "--n-public", str(n)])
        assert contents("a") == contents("c"), schema
    words = ["release", "--statistic", "clamped-mean", "--column", "age", "--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "--seed", "1",
             "--out"]
    succeed([*words, "r1", "--data", "visits.csv"])
    succeed(in_database([*words, "r2"], source, N, query))
    assert pathlib.Path("r1").read_bytes() == pathlib.Path("r2").read_bytes()
    os.unlink("r1"), os.unlink("r2")


def refusals(source, other):
    words = ["fit", "ill ~ age", *FIT, "--out", "out"]
    for query, status, text in (("", 2, "the query is empty"), ("delete from visits", 2, "expected a query that reads"),
                                ("select 1; drop table visits", 2, "must be one statement"), ("-- all\n/* of */", 2, "the query is empty"),
                                ("{call writes()}", 2, "expected a query that reads"), ("selected", 2, "expected a query that reads"),
                                ("@nowhere.sql", 1, "cannot open nowhere.sql"), ("select age, sex from nowhere", 1, "the query"),
                                ("select ill, ill, age from visits", 3, "names column 1 and column 2 alike"),
                                ("select age from visits", 3, "no column 'ill'"),
                                ("select from where", 1, "the query"),
                                ("select age, ill from visits where kids > 10", 3, "the query has no records")):
        refuse(in_database(words, source, 10, query), status, text)
    refuse(in_database(words, source, None), 2, "is private: say how many there are", "--n-public N")
    refuse(in_database(words, source, N - 1), 3, "another number of persons (rows) than --n-public says")
    refuse([*words, "--data", f"odbc:{source}", "--n-public", "9"], 2, "a database needs a query")
    refuse([*words, "--data", "visits.csv", "--query", QUERY], 2, "--query only goes with a database")
    refuse(in_database(words, "nowhere", 10), 1, "no data source of this name")
    refuse(in_database(words, "nodriver", 10), 1, "its ODBC driver cannot be loaded")
    refuse(in_database(words, "", 10), 2, "no data source is named")
    refuse(["import", f"odbc:{source}", "--query", QUERY.replace("kids", "9.5 as kids"), "--schema", "s.yaml", "--out", "out"], 3,
           "row 1, column 'kids'",
           "expected a whole number")
    for name in other:
        refuse(in_database(words, name, 10), 1, "cannot connect to the database")


if server:
    @case
    def postgres_gives_the_fit_of_the_csv_file():
        same_as_csv("clinic", QUERY)
        pathlib.Path("q.sql").write_text("-- the visits\n" + QUERY + " ;\n")
        shutil.rmtree("b")
        succeed(in_database(["fit", FORMULA, *FIT, "--seed", "1", "--out", "b"], "DSN=clinic", N, "@q.sql"))

    @case
    def postgres_cannot_be_written():
        """By a user who may: nothing without result columns runs, and what has them runs in a transaction that reads, and is rolled back."""
        words = ["fit", "ill ~ age", *FIT, "--out", "out"]
        before = server.psql("select count(*), sum(written) from visits").stdout
        mark = len(open(folder / "log").read())
        for query, state in (("with d as (delete from visits returning *) select * from d", "0A000"),
                             ("select *, writes() as w from visits", "25006"),
                             ("select d.age, ill from (values (writes())) as d(age), visits", "25006"),
                             ("select set_config('transaction_read_only', 'off', false) as age, writes() as ill", "25001")):
            refuse(in_database(words, "clinic", 10, query), 1, f"(SQLSTATE {state})")
        for query in ("select ill, age into copied from visits", "with d as (select 1) delete from visits",
                      "with d as (select 1) insert into hidden select 1"):
            refuse(in_database(words, "clinic", 10, query), 2, "no result columns: it was not run")
        log = open(folder / "log").read()[mark:]
        assert "execute" not in "".join(line for line in log.split("\n") if "into copied" in line or "insert into hidden" in line), log
        assert server.psql("select count(*), sum(written) from visits").stdout == before
        assert server.psql("select count(*) from pg_tables where tablename = 'copied'").stdout.strip() == "0"
        assert "BEGIN" in log and "SET TRANSACTION READ ONLY" in log and "ROLLBACK" in log and "COMMIT" not in log

    @case
    def postgres_refusals_are_one_line():
        refusals("clinic", ["wrong", "closed"])
        words = ["fit", "ill ~ age", *FIT, "--out", "out"]
        refuse(in_database(words, "clinic", 10, "select x as ill, x as age from hidden"), 1, "may not read what it asks for (SQLSTATE 42501)")
        refuse(in_database(words, "clinic", 10, "select ill, raw as age from visits"), 3, "column 'age': bytes are not read")
        refuse(in_database(words, "clinic", 10, "select ill as age, ill from visits"), 3, "column 'age': true and false")
        refuse(in_database(words, "clinic", 10, "select day as age, ill from visits"), 3, "row 1, column 'age': expected a number, found a date")
        refuse(in_database(words, "clinic", 10, "select ill, who || 'secret-value' as age from visits"), 3, "row 1, column 'age': expected a number")
        refuse(in_database(words, "clinic", N, f"select ill, 1 / (no - 8000) as age from visits order by no"), 1, "a value cannot be computed",
               "22012")
        refuse(in_database(words, "clinic", N, "select ill, sex as age from visits where sex = ?"), 1, "the query")
        refuse(in_database(words, f"DSN=clinic;PWD=pw-wrong", 10), 1, "cannot connect to the database", "does not accept user and password")

    @case
    def types_of_postgres_are_read():
        query = ("select null::int as i, 9007199254740991 as big, 1.5::real as r, 'NaN'::float8 as nan, '12.50'::numeric as n, 7.00::numeric as seven, "
                 "timestamptz '2001-02-03 12:00+02' as at, 'x'::varchar as v, repeat('ü', 3000) as long, true as t, 'Ü'::char(9) as c, "
                 "'11111111-2222-3333-4444-555555555555'::uuid as u")
        pathlib.Path("t.yaml").write_text(
            "unit: u\nmax_rows: 1\ncolumns:\n  i: {type: integer, lower: 0, upper: 5, missing: 3}\n  big: {type: numeric, lower: 0, upper: 1e17}\n"
            "  r: {type: numeric, lower: 0, upper: 5}\n  nan: {type: numeric, lower: 0, upper: 5, missing: 2}\n  n: {type: numeric, lower: 0, upper: 50}\n"
            "  seven: {type: categorical, levels: ['7']}\n  at: {type: numeric, since: 2001-02-03, lower: 0, upper: 5}\n  v: {type: categorical, levels: [x]}\n"
            f"  long: {{type: categorical, levels: [{'ü' * 3000}]}}\n  t: {{type: binary}}\n  c: {{type: categorical, levels: [Ü]}}\n  u: {{type: id}}\n")
        shutil.rmtree("types", ignore_errors=True)
        succeed(["import", "odbc:clinic", "--query", query, "--schema", "t.yaml", "--out", "types"])
        import struct
        values = [struct.unpack("d", pathlib.Path(f"types/column-{i + 1:04d}.f64").read_bytes())[0] for i in range(11)]
        expected = [3, 9007199254740991, 1.5, 2, 12.5, 0, 10 / 24, 0, 0, 1, 0]
        assert all(abs(a - b) < 1e-11 for a, b in zip(values, expected)), values

    @case
    def a_connection_that_breaks_spends_nothing():
        """The server ends our session while rows are read: the ledger is as it was, and no directory is left."""
        succeed(["ledger", "init", "break.ledger", "--data-id", "clinic", "--query", "select age, ill from visits, generate_series(1, 200)",
                 "--epsilon", "5",
                 "--delta", "1e-6"])
        before = pathlib.Path("break.ledger").read_bytes()

        def end():
            for _ in range(400):
                done = server.psql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'clinic_reader' and query ~* 'fetch'",
                                   check=False)
                if "t" in done.stdout:
                    return
                time.sleep(0.02)

        for words in (["fit", "ill ~ age", *FIT, "--ledger", "break.ledger", "--data", "odbc:clinic", "--n-public", str(N * 200), "--out", "out"],
                      ["import", "odbc:clinic", "--schema", "two.yaml", "--out", "out"]):
            pathlib.Path("two.yaml").write_text("columns:\n  age: {type: numeric, lower: 0, upper: 100, missing: 50}\n  ill: {type: binary}\n")
            ender = threading.Thread(target=end)
            ender.start()
            refuse([*words, "--query", "select age, ill from visits, generate_series(1, 200)"], 1, "and nothing was spent or written: ")
            ender.join()
        assert pathlib.Path("break.ledger").read_bytes() == before and not [name for name in os.listdir() if ".tmp" in name]

    @case
    def a_ledger_keeps_to_its_query():
        words = ["fit", "ill ~ age", "--family", "bernoulli", "--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "--quiet", "--yes"]
        succeed(["ledger", "init", "q.ledger", "--data-id", "clinic", "--query", QUERY, "--epsilon", "9", "--delta", "1e-6", "--unit", "row"])
        succeed(["ledger", "init", "plain.ledger", "--data-id", "clinic", "--epsilon", "9", "--delta", "1e-6", "--unit", "row"])
        succeed(in_database([*words, "--ledger", "q.ledger", "--data-id", "clinic", "--out", "l1"], "clinic", N))
        state = json.loads(succeed(["ledger", "export", "q.ledger"]).stdout)
        assert re.fullmatch(r"clinic \(query sha256:[0-9a-f]{64}\)", state["data_id"]) and len(state["spends"]) == 1, state
        other = QUERY.replace("order", "where no > 0 order")
        refuse(in_database([*words, "--ledger", "q.ledger", "--out", "out"], "clinic", 10, other), 3, "the ledger is of another query")
        refuse(in_database([*words, "--ledger", "plain.ledger", "--out", "out"], "clinic", N), 3, "the ledger is of no query")
        refuse([*words, "--ledger", "q.ledger", "--data", "visits.csv", "--out", "out"], 3, "these records are from none")
        refuse(in_database([*words, "--ledger", "q.ledger", "--data-id", "ward", "--out", "out"], "clinic", N), 3, "another data set than 'ward'")
        shutil.rmtree("imported", ignore_errors=True)
        succeed(["import", "odbc:clinic", "--query", QUERY + " ;", "--schema", "s.yaml", "--out", "imported"])
        refuse([*words, "--data", "imported", "--ledger", "q.ledger", "--out", "out"], 2, "is private: say how many there are")
        refuse([*words, "--data", "imported", "--ledger", "plain.ledger", "--n-public", str(N), "--out", "out"], 3, "the ledger is of no query")
        succeed([*words, "--data", "imported", "--ledger", "q.ledger", "--n-public", str(N), "--out", "l2"])
        check = ["check", "l1", "--epsilon", "0.5", "--delta", "1e-7", "--ledger", "q.ledger", "--n-public", str(N), "--out"]
        succeed(in_database([*check, "l4"], "clinic", None))
        refuse(in_database([*check, "out"], "clinic", None, other), 3, "the ledger is of another query")
        release = ["release", "--statistic", "clamped-mean", "--column", "age", "--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6"]
        succeed(in_database([*release, "--ledger", "q.ledger", "--out", "l3"], "clinic", N))
        refuse(in_database([*release, "--ledger", "q.ledger", "--out", "out"], "clinic", N, other), 3, "the ledger is of another query")
        assert len(json.loads(succeed(["ledger", "export", "q.ledger"]).stdout)["spends"]) == 4

    @case
    def a_refused_release_tells_no_private_number_of_rows():
        margins = ["release", "--statistic", "margins", "--margin", "sex,ill", "--epsilon", "1", "--delta", "1e-6", "--schema"]
        refuse(in_database([*margins, "s.yaml", "--out", "out"], "clinic", N + 1), 3, "another number of rows than --n-public says")
        for n in (None, N, N + 1):
            succeed(in_database([*margins, "private.yaml", "--out", f"m{n}"], "clinic", n))
            assert "\nn:" not in pathlib.Path(f"m{n}").read_text()

    @case
    def nothing_that_is_written_names_the_connection():
        names = [p for p in folder.rglob("*") if p.is_file() and "cluster" not in p.parts and p.name not in ("log", "odbc.ini", "password")]
        assert len(names) > 20
        for name in names:
            text = name.read_bytes()
            assert PASSWORD.encode() not in text and b"clinic_reader" not in text and b"generate_series" not in text, name
        started = os.stat("s.yaml").st_mtime
        logs = [p for pattern in ("/tmp/psqlodbc_*", "/tmp/mylog_*") for p in glob.glob(pattern) if os.stat(p).st_mtime >= started]
        assert not logs, logs

    @case
    def templates_hold_names():
        done = succeed(["schema", "draft", "odbc:clinic", "--query", "select age, sex as \"größe\" from visits"])
        assert done.stdout.split("\ncolumns:\n")[1] == '  age: {type: "?"}\n  "größe": {type: "?"}\n', done.stdout

if has_sqlite:
    connection = sqlite3.connect("lite.db")
    connection.execute("create table visits(no integer, age double, sex text, ill integer, day date, dose double, kids integer, who text)")
    connection.executemany("insert into visits values (?, ?, ?, ?, ?, ?, ?, ?)", [
        (i, None if i % 19 == 3 else i * 7919 % 9000 / 64, "FMÜ"[i % 47 % 3], i * 17 % 29 % 2,
         time.strftime("%Y-%m-%d", time.gmtime((10957 + i * 13 % 5000) * 86400)), i * 31 % 1000 / 100, i % 7, str(i % 700)) for i in range(1, N + 1)])
    connection.commit()
    connection.close()

    @case
    def sqlite_gives_the_fit_of_the_csv_file():
        before = pathlib.Path("lite.db").read_bytes()
        same_as_csv("lite", QUERY)
        assert pathlib.Path("lite.db").read_bytes() == before

    @case
    def sqlite_refusals_are_one_line():
        before = pathlib.Path("lite.db").read_bytes()
        refusals("lite", ["nofile"])
        assert not os.path.exists("nofile.db")
        refuse(in_database(["fit", "ill ~ age", *FIT, "--out", "out"], "lite", 10, "with d as (select 1) delete from visits"), 2, "no result columns")
        refuse(in_database(["fit", "ill ~ age", *FIT, "--out", "out"], "lite", 1,
                           "with d as (select 1) insert into visits(no) select 1 from d where true returning 50.0 as age, 1 as ill"), 1,
                           "nothing was spent or written")
        assert pathlib.Path("lite.db").read_bytes() == before

if server:
    server.stop()
os.chdir("/")
print(case)
sys.exit(case.failed > 0)
