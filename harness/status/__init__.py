"""The status of runs.

run_status.py   counts, rates, time left, and all of it in a sentence
failures.py     why jobs failed, with equal errors grouped
"""
