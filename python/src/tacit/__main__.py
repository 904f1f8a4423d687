"""`python -m tacit`: where the program `tacit` is not installed, what stands in its place here."""
from __future__ import annotations

import sys

from . import __version__, families, settings

_INSTEAD = {"fit": "tacit.fit", "plan": "tacit.plan", "summary": "tacit.read(...).summary", "diagnose": "tacit.read(...).findings",
            "schema draft": "tacit.schema_draft", "schema check": "tacit.schema_check", "model write": "tacit.model", "methods": "tacit.plan",
            "refit": "tacit.refit", "combine": "tacit.combine", "check": "tacit.check", "synthesize": "tacit.synthesize",
            "predict": "tacit.read(...).predict", "contrast": "tacit.read(...).contrast", "statement": "tacit.statement", "account": "tacit.account",
            "ledger": "tacit.Ledger", "release": "tacit.release", "infer": "tacit.infer"}


def help_text(of: str) -> str:
    """Settings of "fit", "release" or "infer" with their help; "families"; else what there is."""
    if of == "families":
        return repr(families())
    if of in ("fit", "release", "infer"):
        return repr(settings(of))
    lines = [f"tacit {__version__} for Python: Bayesian inference under differential privacy", "",
             "python -m tacit fit, release or infer: all settings; python -m tacit families: the families of regressions.",
             "The program `tacit` is a package of its own (make deb); in Python its commands are:", ""]
    return "\n".join(lines + [f"  tacit {name:<14} {function}()" if function[-1] != "s" else f"  tacit {name:<14} {function}"
                              for name, function in _INSTEAD.items()])


if __name__ == "__main__":
    print(help_text(sys.argv[1] if len(sys.argv) > 1 else ""))
