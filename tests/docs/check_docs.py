#!/usr/bin/env python3
"""Runs every block of shell commands (```sh) of the README and of the pages under docs/guide, page by page in a directory of its own.

    check_docs.py TACIT ROOT BUILD [PAGE...]

A command that fails fails its page. Blocks marked ```text are output or files; ```console is what needs a fresh machine (installing, building),
which .ci/run does.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def check(page, environment, root):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data", "examples"):
            os.symlink(root / name, pathlib.Path(folder, name))
        for block in blocks(page.read_text(), "sh"):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True)
            if done.returncode:
                return f"{page.relative_to(root)}: exit status {done.returncode} of\n{block}{done.stderr[-2000:]}"
    return None


def check_again(page, environment, root):
    """Private fits draw new noise each time: a right one may be flagged, and then has no intervals that later commands could read."""
    return check(page, environment, root) and check(page, environment, root) and check(page, environment, root)


def links(page, root):
    """Pages, pictures and folders that the page points to and that are not there."""
    targets = re.findall(r"\]\(([^)#\s]+)\)", page.read_text())
    return [f"{page.relative_to(root)}: nothing at {t}" for t in targets if "://" not in t and not (page.parent / t).exists()]


def main():
    tacit, root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    guide = sorted((root / "docs/guide").glob("*.md"))
    pages = [root / word for word in sys.argv[4:]] or [root / "README.md", root / "docs/index.md", *guide]
    environment = {**os.environ, "PATH": f"{tacit.parent}:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{build}/meson-uninstalled",
                   "CPATH": str(root / "include"),
                   "LD_LIBRARY_PATH": f"{build}/src"}
    failures = [found for page in pages if (found := check_again(page, environment, root))]
    failures += [found for page in [*pages, *(root / "docs").glob("*.md")] for found in links(page, root)]
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{len(pages)} pages, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
