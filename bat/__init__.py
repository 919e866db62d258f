"""Basis-aware threshold sampling with certified decisions: distributions in, decisions out.

Basis                 what is kept of a model's output matrix, prepared once
get_rule, rule_names  sampling rules by name, plain and basis-aware
critical_thresholds   certified intervals for the threshold at which a token is rejected
decide                accept, reject or undecided, as soon as that is certain
candidate_set         every token of a context that is accepted, exactly
sample                a next token for each row of a batch
propose, settle       the same in two halves: where the logits are, and on the host
Temperature           a temperature, before or after the rule
explain               why a token was accepted or rejected
Key, uniforms         random numbers addressed by (seed, run, prefix, sample, step)

A name is imported from its module when it is first asked for: whoever wants an error or the names of the
rules should not wait for the compiler of the solvers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bat.acceptance import Acceptance as Acceptance
    from bat.basis import Basis as Basis
    from bat.candidates import CandidateSet as CandidateSet
    from bat.candidates import candidate_set as candidate_set
    from bat.errors import BatError as BatError
    from bat.errors import InvalidInputError as InvalidInputError
    from bat.errors import SolverUnavailableError as SolverUnavailableError
    from bat.explanation import Explanation as Explanation
    from bat.explanation import explain as explain
    from bat.program import Certificate as Certificate
    from bat.program import Status as Status
    from bat.proposals import Proposals as Proposals
    from bat.proposals import propose as propose
    from bat.random import Key as Key
    from bat.random import uniforms as uniforms
    from bat.rules import Rule as Rule
    from bat.rules import get_rule as get_rule
    from bat.rules import rule_names as rule_names
    from bat.sampling import sample as sample
    from bat.settling import Samples as Samples
    from bat.settling import settle as settle
    from bat.temperature import Temperature as Temperature
    from bat.thresholds import CriticalThresholds as CriticalThresholds
    from bat.thresholds import Decisions as Decisions
    from bat.thresholds import Verdict as Verdict
    from bat.thresholds import critical_thresholds as critical_thresholds
    from bat.thresholds import decide as decide
    from bat.validation import softmax as softmax

# No public name is that of a module here: importing that module would put it in the name's place.
_MODULES = {
    "Acceptance": "acceptance",
    "Basis": "basis",
    "BatError": "errors",
    "CandidateSet": "candidates",
    "Certificate": "program",
    "CriticalThresholds": "thresholds",
    "Decisions": "thresholds",
    "Explanation": "explanation",
    "InvalidInputError": "errors",
    "Key": "random",
    "Proposals": "proposals",
    "Rule": "rules",
    "Samples": "settling",
    "SolverUnavailableError": "errors",
    "Status": "program",
    "Temperature": "temperature",
    "Verdict": "thresholds",
    "candidate_set": "candidates",
    "critical_thresholds": "thresholds",
    "decide": "thresholds",
    "explain": "explanation",
    "get_rule": "rules",
    "propose": "proposals",
    "rule_names": "rules",
    "sample": "sampling",
    "settle": "settling",
    "softmax": "validation",
    "uniforms": "random",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'bat' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"bat.{_MODULES[name]}"), name)
    globals()[name] = value  # found from now on without coming here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
