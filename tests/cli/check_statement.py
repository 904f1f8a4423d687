#!/usr/bin/env python3
"""tacit statement, of a fit and of a ledger: the command it prints gives the number it says, its chances are those of mechanisms that attain them, and bad
folders are refused.

    check_statement.py TACIT SOURCE_ROOT
"""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser

TACIT = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(sys.argv[2]).resolve()
FLCHAIN = ROOT / "data" / "flchain"


def run(*words, status=0):
    done = subprocess.run([TACIT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    if status:
        assert done.stdout == "" and done.stderr.count("\n") == 1 and done.stderr.startswith("tacit statement: "), done.stderr
    return done.stderr if status else done.stdout


def fit(out, relation, *more):
    schema = pathlib.Path(f"{relation}.yaml")
    schema.write_text((FLCHAIN / "flchain.yaml").read_text().replace("substitute", relation))
    n = ["--n-public", "8000"] if relation == "add-remove" and "--exposed" not in more else []
    done = subprocess.run([TACIT, "fit", "death ~ age + sex", "--family", "bernoulli", "--data", FLCHAIN / "flchain.csv", "--schema", schema,
                           "--out", out,
                           "--draws", "20", "--warmup", "20", "--chains", "1", "--quiet", "--yes", *n, *more], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


def one_line(text):
    return re.sub(r"\s+", " ", text)


def chances(text):
    return [float(x) for x in re.findall(r"of at most ([0-9.e+]+) in 100", one_line(text))]


def account(text):
    """Run the command as the officer would, and compare with what the page says it prints."""
    command = re.search(r"^    (tacit account (?:.*\\\n)*.*)", text, re.M).group(1)
    printed = subprocess.run(["bash", "-c", command.replace("tacit ", f"'{TACIT}' ", 1)], stdout=subprocess.PIPE, text=True, check=True).stdout
    said = re.search(r"It prints epsilon (\S+) ", one_line(text)).group(1)
    assert printed.startswith(f"epsilon {said} at delta "), (printed, said)
    return float(said)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.words += data


os.chdir(tempfile.mkdtemp())
DELTA = ["--delta", "1e-6"]
fit("sub", "substitute", "--epsilon", "1", *DELTA)
fit("add", "add-remove", "--epsilon", "1", *DELTA)
fit("bits", "add-remove", "--method", "dp-barker", "--epsilon", "8", *DELTA)
fit("open", "substitute", "--method", "hmc", "--exposed")


def reported(folder):
    return json.loads(pathlib.Path(folder, "privacy.json").read_text())


# The number, computed again by the printed command: of a filter at most the budget, of a schedule the claim itself.
text = {name: run("statement", name) for name in ("sub", "add", "bits", "open")}
for name in ("sub", "add"):
    assert 0.99 < account(text[name]) <= 1
    assert "epsilon = 1, delta = 1e-06" in text[name] and "it is no guarantee" in one_line(text[name])
assert "schedule" in reported("bits")
assert abs(account(text["bits"]) / reported("bits")["epsilon"] - 1) < 1e-9

# Chances: randomized response over 100 contents attains the guess under substitution; under add-remove, content a answering a with chance
# e^eps / 100 and the absent unit answering uniformly. The test's power is e^eps times its level. delta adds 1e-4 in 100, the page three digits.
e = math.e
for got, exact in zip(chances(text["sub"]) + chances(text["add"]), [100 * e / (99 + e), e, e, e]):
    assert exact <= got <= exact * 1.006, (got, exact)
assert len(chances(text["sub"])) == len(chances(text["add"])) == 2
assert "How many units there are is private" in text["add"] and "How many units there are is public" in text["sub"]
assert "in the data at all" in one_line(text["add"]) and "not a given other in its place" in one_line(text["sub"])
assert "entered in no ledger" in text["sub"] and "age:         {type: integer, lower: 50, upper: 105, units: years}" in text["sub"]

# What is not private says so and claims nothing.
assert text["open"].startswith("NOT PRIVATE\n") and "epsilon" not in text["open"] and "in 100" not in text["open"]


def variant(name, change, base="sub"):
    shutil.copytree(base, name)
    said = reported(base)
    change(said)
    pathlib.Path(name, "privacy.json").write_text(json.dumps(said))
    return name


# A budget so large that it rules out nothing; units with several rows; a ledger's position.
huge = run("statement", variant("huge", lambda said: said.update(epsilon=1e6, epsilon_budget=1e6)))
assert chances(huge) == [100, 100] and "next to nothing is ruled out" in one_line(huge)
commit = subprocess.run([TACIT, "--version"], capture_output=True, text=True).stdout.split("\ncommit ")[1].split("\n")[0]
assert "(commit 0123abcd); this page was written by tacit" in one_line(run("statement",
                                                                           variant("built", lambda said: said.update(commit="0123abcd"))))
assert f"(commit {commit}) from the folder" in one_line(run("statement", "built"))
person = one_line(run("statement", variant("person", lambda said: said.update(unit="patient", max_rows=5, ledger={"data_id": "clinic", "spend": 3}))))
assert 'all rows that share a value of the column "patient", of which there are at most 5' in person
assert 'Spend 3 in the ledger of the data set "clinic"' in person and "in no ledger" not in person
released = run("statement", variant("released", lambda said: said.update(post_processing=True, epsilon=None, delta=None, statistic="mean of 5",
                                                                         noise="laplace")))
assert released.startswith("No privacy cost beyond a release made before\n") and "mean of 5" in released and "does not say" in one_line(released)

# HTML: the same words, self-contained, whatever the labels hold.
evil = "<script>alert(1)</script><img src=x onerror=y>\n# Forged: epsilon = 0\n"


def plant(said):
    for event in said["events"]:
        event["label"] = "</li><script>"
    said.update(unit=evil, method=evil, version=evil, commit=evil, delta_meaning=evil, end=evil, assumptions=[evil],
                ledger={"data_id": evil, "spend": 1})


variant("evil", plant)
with open("evil/schema.yaml", "a") as schema:
    schema.write("# </pre><script>\x1b[31m\n")
assert "\x1b" not in run("statement", "evil") and "\n# Forged" not in run("statement", "evil") and "\nForged" not in run("statement", "evil")
for name in ("sub", "evil", "open"):
    assert run("statement", name, "--out", f"{name}.html") == ""
    html = pathlib.Path(f"{name}.html").read_text()
    page = Page(html)
    assert set(page.tags) <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "main", "p", "ul", "li", "pre"}, set(page.tags)
    assert set(page.attributes) <= {"lang", "charset", "name", "content", "class"} and "url(" not in html and "@import" not in html
    if name != "evil":
        assert one_line(text[name]).replace("=", "").replace("-", "").split()[-40:] == one_line(page.words).replace("=", "").replace("-", "").split()[-40:]
run("statement", "sub", "--out", "sub.txt")
assert pathlib.Path("sub.txt").read_text() == text["sub"]

# Of a data set: all runs of its ledger, the command that composes them, the same as a registry's entry, and no names in that.
def ledger(name, relation, *more):
    subprocess.run([TACIT, "ledger", "init", name, "--data-id", "clinic-2026", "--epsilon", "3", *DELTA, "--relation", relation, *more], check=True,
                   stdout=subprocess.PIPE)


ledger("clinic.ledger", "add-remove")
assert "does not say yet whom it protects" in run("statement", "--ledger", "clinic.ledger", status=2)
for name, purpose in (("r1", evil), ("r2", "age")):
    fit(name, "add-remove", "--epsilon", ".5", "--delta", "1e-7", "--ledger", "clinic.ledger", "--purpose", purpose)
pages = {kind: run("statement", "--ledger", "clinic.ledger", "--out", f"clinic.{kind}") or pathlib.Path(f"clinic.{kind}").read_text()
         for kind in ("txt", "html", "json")}
assert pages["txt"] == run("statement", "--ledger", "clinic.ledger") and "\nForged" not in pages["txt"]
of_all = account(pages["txt"])
exported = json.loads(run("ledger", "export", "clinic.ledger"))
entry = json.loads(pages["json"])
assert abs(of_all / exported["epsilon_spent"] - 1) < 2e-3 and 0 <= entry["epsilon_charged"] / exported["epsilon_spent"] - 1 < 1e-4
assert (entry["epsilon"], entry["delta"], entry["unit"], entry["max_rows"], entry["relation"]) == (3, 1e-6, "row", 1, "add-remove")
assert entry["ledger"]["head"] == exported["head"] and exported["head"] in pages["txt"] and exported["head"] in pages["html"]
assert [r["purpose"] for r in entry["runs"]] == [evil, "age"] and "who" not in pages["json"] and exported["spends"][0]["host"] not in pages["json"]
assert [sum(m["count"] for m in r["mechanisms"]) for r in entry["runs"]] == [sum(e["count"] for e in s["events"]) for s in exported["spends"]]
assert all(.3 < r["epsilon_by_itself"] < .5 for r in entry["runs"]) and re.fullmatch(r"\d{4}-\d\d-\d\d", entry["runs"][0]["date"])
got = chances(pages["txt"])
assert all(exact <= x <= exact * 1.006 for x, exact in zip(got, [100 * .01 * e ** 3, e ** 3])) and len(got) == 2
assert abs(100 * entry["chances"]["guess_of_100_contents"] / got[0] - 1) < .006
page = Page(pages["html"])
assert "script" not in page.tags and "img" not in page.tags and "url(" not in pages["html"]
ledger("empty.ledger", "substitute", "--unit", "patient", "--max-rows", "4")
empty = one_line(run("statement", "--ledger", "empty.ledger"))
assert "No run yet" in empty and 'column "patient", of which there are at most 4' in empty and "tacit account" not in empty
broken = pathlib.Path("broken.ledger")
broken.write_bytes(pathlib.Path("clinic.ledger").read_bytes().replace(b"age", b"agf"))
assert "broken.ledger" in run("statement", "--ledger", broken, status=3)

# Bad input: one line each.
assert "Give a fit's directory" in run("statement", status=2)
assert "not both" in run("statement", "sub", "--ledger", "clinic.ledger", status=2)
assert "give --ledger" in run("statement", "sub", "--out", "sub.json", status=2)
assert "privacy.json" in run("statement", "--ledger", "sub/privacy.json", status=3)
assert "must end in .html or .txt" in run("statement", "sub", "--out", "page.pdf", status=2)
assert "sub.html" in run("statement", "sub", "--out", "sub.html", status=1)
assert "nowhere" in run("statement", "nowhere", status=1)
os.mkdir("empty")
assert "privacy.json" in run("statement", "empty", status=1)
cases = {"relation": ({"relation": "neighbour"}, '"relation" must be'), "unit": ({"unit": ""}, '"unit" must be'),
         "rows": ({"max_rows": 0}, '"max_rows" must be'),
         "delta": ({"delta": 0}, '"delta" must be'), "list": ({"events": 3}, '"events" must be a list'),
         "file": ({"events": [{"event": "pair:/etc/passwd", "count": 1}]}, "without a file"),
         "spec": ({"events": [{"event": "gaussian:sigma=-1", "count": 1}]}, "events, item 1: "),
         "count": ({"events": [{"event": "gaussian:sigma=20", "count": 0}]}, '"count" from 1'),
         "epsilon": ({"epsilon": 0.5}, "compose to")} # less than its releases cost: altered
for name, (change, expected) in cases.items():
    message = run("statement", variant("bad-" + name, lambda said: said.update(change)), status=3)
    assert expected in message and "privacy.json" in message, message
pathlib.Path("bad-list/privacy.json").write_text("{")
assert "not valid JSON" in run("statement", "bad-list", status=3)
os.remove("open/draws-1.csv")
assert "draws-1.csv" in run("statement", "open", status=1)
