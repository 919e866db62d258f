"""Sampling rules: which tokens of a distribution may be sampled, at a parameter, or from which on.

    ancestral, greedy                    no parameter                                     fixed.py
    epsilon, eta, min-p                  reject more as the parameter rises, (0, 1)       rising.py
    top-k, nucleus                       reject more as it falls, integers >= 1, (0, 1]   falling.py
    typical                              reject more as it falls, (0, 1); no threshold    typical.py
    ba-epsilon, ba-eta, ba-min-p,
    ba-top-k, ba-nucleus                 the same thresholds, basis-aware

``base.py`` states what a rule must answer and the conventions at ties; ``facts.py`` what is worth keeping of
a distribution so that every rule can still be inverted.
"""

from bat.rules.base import Rule, ThresholdRule
from bat.rules.facts import TokenFacts
from bat.rules.registry import get_rule, get_rule_class, rule_names
from bat.rules.summary import Summary

__all__ = ["Rule", "Summary", "ThresholdRule", "TokenFacts", "get_rule", "get_rule_class", "rule_names"]
