"""Basis-aware threshold sampling with certified decisions: distributions in, decisions out.

Basis                 what is kept of a model's output matrix, prepared once
get_rule, rule_names  sampling rules by name, plain and basis-aware
critical_thresholds   certified intervals for the threshold at which a token is refused
decide                accept, reject or undecided, as soon as that is certain
candidate_set         every token of a context that is accepted, exactly
sample                a next token for each row of a batch
explain               why a token was accepted or refused
Key, uniforms         random numbers addressed by (seed, run, prefix, sample, step)
"""

from bat.basis import Basis
from bat.candidates import CandidateSet, candidate_set
from bat.errors import BatError, InvalidInputError, SolverUnavailableError
from bat.explain import Explanation, explain
from bat.program import Certificate, Status
from bat.random import Key, uniforms
from bat.rules import Rule, get_rule, rule_names
from bat.sampling import Acceptance, Samples, sample
from bat.thresholds import CriticalThresholds, Decisions, Verdict, critical_thresholds, decide
from bat.validation import softmax

__all__ = [
    "Acceptance",
    "Basis",
    "BatError",
    "CandidateSet",
    "Certificate",
    "CriticalThresholds",
    "Decisions",
    "Explanation",
    "InvalidInputError",
    "Key",
    "Rule",
    "Samples",
    "SolverUnavailableError",
    "Status",
    "Verdict",
    "candidate_set",
    "critical_thresholds",
    "decide",
    "explain",
    "get_rule",
    "rule_names",
    "sample",
    "softmax",
    "uniforms",
]
