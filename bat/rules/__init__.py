"""Sampling rules: which tokens of a distribution may be sampled, at a parameter, or from which on.

    ancestral, greedy      no parameter                                     fixed.py
    p-less                 no parameter                                     fixed.py
    epsilon, eta, min-p    reject more as the parameter rises, (0, 1)       rising.py
    top-k, nucleus         reject more as it falls, integers >= 1, (0, 1]   falling.py
    top-h                  rejects more as it falls, (0, 1]                 falling.py
    top-n-sigma            rejects more as it falls, above 0                falling.py
    typical                rejects more as it falls, (0, 1); no threshold   typical.py

``ba-epsilon``, ``ba-eta``, ``ba-min-p``, ``ba-top-k``, ``ba-nucleus``, ``ba-top-h``, ``ba-top-n-sigma`` and
``ba-p-less`` are the same rules in their basis-aware form. ``base.py`` states what a rule must answer and the
conventions at ties; ``form.py`` answers what needs no parameter; ``facts.py`` is what is worth keeping of a
distribution so that every rule can still be inverted; ``registry.py`` finds rules by name, those of other
packages too.
"""

from bat.rules.base import Rule, Scale, ThresholdRule, check_rule
from bat.rules.facts import Facts, TokenFacts
from bat.rules.form import RuleForm
from bat.rules.registry import RULES, builtin_rule_names, get_rule, get_rule_form, provenance, rule_names
from bat.rules.summary import Summary

__all__ = [
    "RULES",
    "Facts",
    "Rule",
    "RuleForm",
    "Scale",
    "Summary",
    "ThresholdRule",
    "TokenFacts",
    "builtin_rule_names",
    "check_rule",
    "get_rule",
    "get_rule_form",
    "provenance",
    "rule_names",
]
