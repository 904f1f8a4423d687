#!/usr/bin/env python3
"""check_ranks.py TACIT SOURCE MPIRUN: what several processes write is what one writes, byte for byte; and they fail as one."""
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

tacit, source, mpirun = sys.argv[1:4]
data = pathlib.Path(source) / "data" / "flchain"
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
failures = []


def run(n_ranks, *words):
    launcher = [mpirun, "-n", str(n_ranks)] if n_ranks > 0 else []
    return subprocess.run(launcher + [tacit, *words], env=environment, capture_output=True, text=True, timeout=120)


def fit(n_ranks, out, *words, model=("death ~ age + sex + log(flc)", "--family", "bernoulli")):
    return run(n_ranks, "fit", *model, "--data", str(data / "flchain.csv"), "--schema", str(data / "flchain.yaml"), "--out", str(out), *words)


def expect(holds, what):
    if not holds:
        failures.append(what)


def same(a, b):
    names = sorted(p.name for p in a.iterdir())
    if names != sorted(p.name for p in b.iterdir()):
        return False
    return not any(filecmp.cmpfiles(a, b, names, shallow=False)[1:])


def compare(folder, name, most_ranks, *words, **model):
    one = folder / f"{name}-1"
    alone = fit(0, one, *words, **model)
    expect(alone.returncode == 0, f"{name} alone: {alone.stderr}")
    for n in (2, 4)[:1 if most_ranks < 4 else 2]:  # waiting ranks keep a core busy, and there may be but two
        out = folder / f"{name}-{n}"
        several = fit(n, out, *words, **model)
        expect(several.returncode == 0 and several.stdout.replace(str(out), str(one)) == alone.stdout,
               f"{name} on {n} ranks: {several.stderr}{several.stdout}")
        expect(out.exists() and same(one, out), f"{name} on {n} ranks writes other files than alone")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    private = ["--delta", "1e-6", "--seed", "3"]
    compare(folder, "noise-aware", 4, "--epsilon", "1", *private)
    compare(folder, "dp-penalty", 4, "--method", "dp-penalty", "--epsilon", "50", "--draws", "30", *private)
    compare(folder, "dp-hmc", 2, "--method", "dp-hmc", "--epsilon", "50", "--draws", "10", "--threads", "2", *private)
    compare(folder, "dp-fast-mh", 2, "--method", "dp-fast-mh", "--epsilon", "20", "--draws", "20", *private)
    compare(folder, "dp-sgld", 2, "--method", "dp-sgld", "--epsilon", "8", "--draws", "30", *private)
    compare(folder, "hmc", 2, "--method", "hmc", "--exposed", "--draws", "40", "--warmup", "20", "--seed", "3")

    program = folder / "death.stan"
    program.write_text("""data { real<lower=50, upper=105> age; int<lower=0, upper=1> death; }
parameters { real alpha; real beta; }
model { alpha ~ normal(0, 5); beta ~ normal(0, 1); death ~ bernoulli_logit(alpha + beta * (age - 70) / 10); }
""")
    own = (str(program),)
    compare(folder, "program", 4, "--epsilon", "2", *private, model=own)
    compare(folder, "program-dp-penalty", 2, "--method", "dp-penalty", "--clip-ratio", "1", "--epsilon", "50", "--draws", "30", *private, model=own)

    # each rank maps imported columns and packs its share; the files of --scratch are each rank's own
    columns = folder / "columns"
    made = run(0, "import", str(data / "flchain.csv"), "--schema", str(data / "flchain.yaml"), "--out", str(columns))
    expect(made.returncode == 0, f"import: {made.stderr}")
    for name, words in (("columns", []), ("scratch", ["--scratch", str(folder)])):
        out = folder / f"noise-aware-{name}"
        several = run(2, "fit", "death ~ age + sex + log(flc)", "--family", "bernoulli", "--data", str(columns), "--schema",
                      str(data / "flchain.yaml"), "--out", str(out), "--epsilon", "1", *private, *words)
        expect(several.returncode == 0, f"{name} on 2 ranks: {several.stderr}")
        expect(out.exists() and same(folder / "noise-aware-1", out), f"{name} on 2 ranks writes other files than CSV alone")

    secret = fit(2, folder / "secret", "--method", "dp-sgld", "--epsilon", "8", "--draws", "20", "--delta", "1e-6")
    expect(secret.returncode == 0 and "private: epsilon" in secret.stdout, f"without a seed: {secret.stderr}")

    again = fit(3, folder / "hmc-1", "--method", "hmc", "--exposed")
    expect(again.returncode == 1 and again.stderr.count("exists") == 1, f"one message of all ranks: {again.stderr}")
    other = run(2, "methods")
    expect(other.returncode == 2 and "one process" in other.stderr, f"tacit methods on two ranks: {other.stderr}")

    # one rank alone cannot read the data: all stop, and it says why
    odd = folder / "odd.sh"
    odd.write_text(f"""#!/bin/sh
data={data}/flchain.csv
[ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ] && data=/nowhere.csv
exec {tacit} fit 'death ~ age' --family bernoulli --data $data --schema {data}/flchain.yaml --method hmc --exposed --out {folder}/odd
""")
    odd.chmod(0o755)
    parted = subprocess.run([mpirun, "-n", "3", str(odd)], env=environment, capture_output=True, text=True, timeout=60)
    expect(parted.returncode != 0 and "/nowhere.csv" in parted.stderr and not (folder / "odd").exists(),
           f"a rank without data: {parted.stderr}")

    # every rank takes a share of what it reads: those that did not read the same, or were given other settings, are refused
    rows = (data / "flchain.csv").read_text().splitlines()
    texts = {"order": rows[:1] + rows[:0:-1], "shorter": rows[:-1], "swapped": rows[:1] + rows[2:0:-1] + rows[3:],
             "value": rows[:-1] + [rows[-1].replace("M", "F") if "M" in rows[-1] else rows[-1].replace("F", "M")]}
    schema = (data / "flchain.yaml").read_text()
    other_schema = folder / "other.yaml"
    other_schema.write_text(schema.replace("105", "106"))
    expect(schema != other_schema.read_text() and rows[1] != rows[2] and texts["value"] != rows, "the test's own files do not differ")
    tried = [(name, ["--data", folder / f"{name}.csv"], 3, "did not read the records that the first one read") for name in texts]
    tried += [("schema", ["--schema", other_schema], 2, "was not given what the first one was"),
              ("setting", ["--epsilon", "1.5"], 2, "was not given what the first one was")]
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text("\n".join(text) + "\n")
    persons = folder / "persons.yaml"
    persons.write_text("unit: who\nmax_rows: 2\ncolumns:\n  who: {type: id}\n  x: {type: numeric, lower: -1, upper: 1}\n  y: {type: binary}\n")
    (folder / "a.csv").write_text("who,x,y\n" + "".join(f"p{i // 2},0.5,{i % 2}\n" for i in range(4000)))
    (folder / "b.csv").write_text("who,x,y\n" + "".join(f"p{(i + 1) // 2},0.5,{i % 2}\n" for i in range(4000)))  # same rows, of other persons
    plain = ["death ~ age + sex", "--family", "bernoulli", "--data", data / "flchain.csv", "--schema", data / "flchain.yaml", "--epsilon", "1",
             "--delta", "1e-6", "--out", folder / "apart"]
    tried += [("persons", ["--data", folder / "b.csv"], 3, "did not read the records that the first one read")]
    for name, words, status, said in tried:
        common = [*plain] if name != "persons" else ["y ~ x", "--family", "bernoulli", "--data", folder / "a.csv", "--schema", persons, "--epsilon", "5",
                                                     "--delta", "1e-6", "--out", folder / "apart"]
        given = {common[i]: common[i + 1] for i in range(1, len(common), 2)}
        mine = given | {words[0]: words[1]}
        line = lambda of: " ".join(f"{key} '{value}'" for key, value in of.items())
        odd.write_text(f"""#!/bin/sh
if [ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ]; then exec {tacit} fit '{common[0]}' {line(mine)}; fi
exec {tacit} fit '{common[0]}' {line(given)}
""")
        apart = subprocess.run([mpirun, "-n", "2", str(odd)], env=environment, capture_output=True, text=True, timeout=60)
        expect(apart.returncode == status and apart.stderr.count("process 2 " + said) == 1 and not (folder / "apart").exists(),
               f"ranks that differ in {name}: {apart.returncode} {apart.stderr}")

    # each rank reads a part of its own: rows in any parts, persons each in one; who is in two, and a part that is read twice, are refused
    header, body = rows[0], rows[1:]
    of_persons = (folder / "a.csv").read_text().splitlines()

    def write_parts(name, head, parts):
        for i, part in enumerate(parts):
            (folder / f"{name}-{i:03d}.csv").write_text("\n".join([head, *part]) + "\n")

    def own(n, name, out, schema, model, family="bernoulli"):
        return run(n, "fit", model, "--family", family, "--data", f"{folder}/{name}-%3r.csv", "--schema", str(schema), "--out", str(folder / out),
                   "--epsilon", "20", *private)

    def of_all(name, out, schema, model, family="bernoulli"):
        return run(0, "fit", model, "--family", family, "--data", str(folder / name), "--schema", str(schema), "--out", str(folder / out),
                   "--epsilon", "20", *private)

    (folder / "rows.csv").write_text("\n".join(rows) + "\n")
    write_parts("rows", header, [body[:100], body[100:5000], body[5000:]])
    write_parts("persons", of_persons[0], [of_persons[1:1001], of_persons[1001:1003], of_persons[1003:]])
    for name, table, schema, model, family in (("rows", "rows.csv", data / "flchain.yaml", "death ~ age + sex", "bernoulli"),
                                               ("persons", "a.csv", persons, "y ~ x", "bernoulli"), ("persons", "a.csv", persons, "x ~ y", "gaussian")):
        alone, several = of_all(table, f"{name}-alone", schema, model, family), own(3, name, f"{name}-own", schema, model, family)
        expect(alone.returncode == 0 and several.returncode == 0, f"own parts of {name}: {alone.stderr}{several.stderr}")
        expect((folder / f"{name}-own/releases.json").read_bytes() == (folder / f"{name}-alone/releases.json").read_bytes(),
               f"own parts of {name}, {family}, release what all do")
        shutil.rmtree(folder / f"{name}-own")
        shutil.rmtree(folder / f"{name}-alone")
    write_parts("split", of_persons[0], [of_persons[1:1000], of_persons[1000:]])  # p499 is cut in two
    write_parts("twice", header, [body[:100], body[100:], body[:100]])
    for n, name, schema, model, said in ((2, "split", persons, "y ~ x", "in the parts of two processes"),
                                         (3, "twice", data / "flchain.yaml", "death ~ age + sex", "read the same records")):
        refused = own(n, name, "refused", schema, model)
        expect(refused.returncode == 3 and refused.stderr.count(said) == 1 and not (folder / "refused").exists(), f"{name}: {refused.stderr}")
    refused = own(0, "rows", "refused", data / "flchain.yaml", "death ~ age + sex")
    expect(refused.returncode == 2 and "there is but one" in refused.stderr, f"a part, and one process: {refused.stderr}")

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
