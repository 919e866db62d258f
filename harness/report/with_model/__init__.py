"""What only the model itself can show, so that a report with it loads one.

prompts.py       the seven prompts of the paper's appendix
next_tokens.py   their next tokens, and which methods accept them
rank.py          the rank of log-probabilities, before and after truncation
parts.py         all of it for a run
"""
