#!/usr/bin/env python3
"""Looks at every page that tacit writes in a real browser (headless Chromium; skipped without): no overflow at 360, 800 and 1280 px, no error,
accessible names of figures, contrast of text of at least 4.5, in light and in dark mode.

    check_pages.py TACIT ROOT
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TACIT, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

# Loaded beside the page: measures it from outside, as the pages themselves hold no scripts.
PROBE = """<!DOCTYPE html><iframe id="page" src="%s" style="width:%dpx;height:1000px;border:0"></iframe><pre id="found"></pre><script>
const luminance = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * r + .7152 * g + .0722 * b; };
const opaque = c => c.startsWith("rgb(");
document.getElementById("page").onload = e => {
  const d = e.target.contentDocument, w = e.target.contentWindow, low = [];
  const behind = n => { while (n && !opaque(w.getComputedStyle(n).backgroundColor)) n = n.parentElement;
    return n ? w.getComputedStyle(n).backgroundColor : "rgb(255, 255, 255)"; };
  for (const n of d.querySelectorAll("h1,h2,h3,p,li,td,th,dt,dd,a,summary,footer,strong,svg text")) {
    if (!n.textContent.trim()) continue;
    const s = w.getComputedStyle(n), a = luminance(n.closest("svg") ? s.fill : s.color), b = luminance(behind(n));
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) low.push([n.tagName, n.textContent.trim().slice(0, 40), contrast.toFixed(2)]);
  }
  document.getElementById("found").textContent = JSON.stringify({ overflow: d.documentElement.scrollWidth - d.documentElement.clientWidth, low,
    cut: [...d.querySelectorAll("#summary .scroll")].some(n => n.scrollWidth > n.clientWidth),
    unnamed: [...d.querySelectorAll("svg")].filter(s => s.getAttribute("aria-hidden") !== "true" && !s.getAttribute("aria-label") && !s.querySelector("title")).length,
    title: d.title, language: d.documentElement.lang, texts: d.body.innerText.length });
};
</script>"""


def look(folder, page, width, is_dark):
    probe = folder / "probe.html"
    probe.write_text(PROBE % (page.as_uri(), width))
    flags = ["--blink-settings=preferredColorScheme=0"] if is_dark else ["--blink-settings=preferredColorScheme=1"]
    done = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                           f"--user-data-dir={folder}/profile",
                           "--virtual-time-budget=5000", "--window-size=1400,1100", *flags, "--dump-dom", probe.as_uri()],
                          capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
    assert found and found.group(1), f"{page.name}: not loaded\n{done.stderr[-500:]}"
    return json.loads(html.unescape(found.group(1)))


def main():
    if BROWSER is None:
        return 77
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = ROOT / "data/flchain"
        subprocess.run([TACIT, "fit", "death ~ age + sex + log(flc)", "--family", "bernoulli", "--data", data / "flchain.csv", "--schema",
                        data / "flchain.yaml", "--epsilon", "1", "--delta", "1e-6", "--quiet", "--out", folder / "fit"], check=True,
                       capture_output=True)
        subprocess.run([TACIT, "statement", folder / "fit", "--out", folder / "statement.html"], check=True, capture_output=True)
        ledger = folder / "clinic.ledger"
        subprocess.run([TACIT, "ledger", "init", ledger, "--data-id", "clinic", "--epsilon", "3", "--delta", "1e-6", "--unit", "row"], check=True,
                       capture_output=True)
        subprocess.run([TACIT, "statement", "--ledger", ledger, "--out", folder / "ledger.html"], check=True, capture_output=True)
        subprocess.run([TACIT, "plan", "death ~ age + sex + log(flc)", "--family", "bernoulli", "--schema", data / "flchain.yaml", "--n", "7874",
                        "--delta", "1e-6",
                        "--html", folder / "plan.html"], check=True, capture_output=True)
        subprocess.run([TACIT, "synthesize", folder / "fit", "--rows", "200", "--out", folder / "rows.csv"], check=True, capture_output=True)
        pages = [folder / "rows.csv.html", folder / "plan.html", folder / "fit/report.html", folder / "statement.html", folder / "ledger.html"]
        for page in pages:
            for is_dark in (False, True):
                for width in (360, 800, 1280):
                    found = look(folder, page, width, is_dark)
                    where = f"{page.name} at {width} px{', dark' if is_dark else ''}"
                    failures += [f"{where}: {found['overflow']} px too wide"] if found["overflow"] > 0 else []
                    failures += [f"{where}: the table of answers is cut off"] if found["cut"] and width >= 800 else []
                    failures += [f"{where}: contrast {low}" for low in found["low"][:5]]
                    failures += [f"{where}: {found['unnamed']} figures without a name"] if found["unnamed"] else []
                    failures += [] if found["title"] and found["language"] == "en" and found["texts"] > 1000 else [f"{where}: {found}"]
    for failure in failures:
        print("FAILED", failure)
    print(f"{len(failures)} faults on {len(pages)} pages")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
