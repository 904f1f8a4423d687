"""Simulated runs that are kept as they come, so that an interrupted experiment goes on where it was."""
import argparse
import concurrent.futures
import json
import pathlib
import tempfile


def arguments(doc, n_runs):
    """A parser of what all such experiments take: the program, --out, --runs, --jobs."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("tacit")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=n_runs)
    parser.add_argument("--jobs", type=int, default=1)
    return parser


def results(args, one):
    """one(seed, folder), a dictionary, for seeds 1 to args.runs, in order; each is a line of runs.jsonl in args.out as soon as it is there."""
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "runs.jsonl"
    done = {run["seed"]: run for run in map(json.loads, open(kept))} if kept.exists() else {}

    def make(seed):
        with tempfile.TemporaryDirectory() as folder:
            return {"seed": seed, **one(seed, pathlib.Path(folder))}

    missing = [seed for seed in range(1, args.runs + 1) if seed not in done]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, open(kept, "a") as file:
        for run in concurrent.futures.as_completed([pool.submit(make, seed) for seed in missing]):
            done[run.result()["seed"]] = run.result()
            file.write(json.dumps(run.result()) + "\n")
            file.flush()
    return [done[seed] for seed in range(1, args.runs + 1)]


def write_table(args, lines):
    (args.out / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
