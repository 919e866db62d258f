"""The parts of a report that need the model itself.

prompts.py       the seven prompts of the paper's appendix
next_tokens.py   their next tokens, and which methods accept them
rank.py          the rank of log-probabilities, before and after truncation
parts.py         all of these for a run
"""
