"""Figures from numbers: one module per figure, with the records it takes.

style.py        the common style, and rendering to SVG
comparison.py   scores of models and methods side by side
sweep.py        scores against a parameter, or against the number of constraints
rejection.py    parameters against the rejection rate of human text
acceptance.py   next tokens, and which methods accept them
toy.py          the paper's toy model in the triangle of all distributions
rank.py         ranks of log-probabilities against the number of prefixes
"""
