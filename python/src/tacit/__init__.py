"""Bayesian inference under differential privacy.

    import tacit
    tacit.plan("death ~ age + sex", schema="flchain.yaml", n=7874, family="bernoulli", epsilon=1, delta=1e-6)    # spends nothing
    post = tacit.fit("death ~ age + sex", data=df, schema="flchain.yaml", family="bernoulli", epsilon=1, delta=1e-6, out="fit/")
    post.summary()

What these functions return, print, write and pickle is released: bounded, covered by noise, charged. The records that are given to
`fit` are not in it, and nobody else in the same process is kept from them: see docs/python.md, "The boundary in a notebook".

tacit.families() lists the families, tacit.settings() all settings of a fit; tacit.schema_draft(df) begins a schema, tacit.schema_check() checks it.
"""
from ._account import account, account_count, account_gdp, account_noise, account_profile, account_renyi
from ._core import version as __version__
from ._errors import ArgumentError, BudgetError, DataError, FileError, NumericError, PoorPlan, PrivacyWarning, SchemaError, TacitError
from ._fit import Plan, fit, plan, settings
from ._infer import infer
from ._kept import Check, Synthesis, check, combine, refit, synthesize
from ._ledger import Ledger
from ._pages import Wanted, epsilon_for, model, statement
from ._posterior import Posterior, read
from ._release import Release, release
from ._schema import Families, SchemaCheck, families, schema_check, schema_draft

__all__ = ["ArgumentError", "BudgetError", "Check", "DataError", "Families", "FileError", "Ledger",
           "NumericError", "Plan", "PoorPlan", "Posterior", "PrivacyWarning", "Release", "SchemaCheck",
           "SchemaError", "Synthesis", "TacitError", "Wanted", "__version__", "account", "account_count",
           "account_gdp", "account_noise", "account_profile", "account_renyi", "check", "combine",
           "epsilon_for", "families", "fit", "infer", "model", "plan", "read", "refit", "release",
           "schema_check", "schema_draft", "settings", "statement", "synthesize"]
