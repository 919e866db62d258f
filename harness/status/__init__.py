"""The status of runs.

run_status.py   counts, rates, drivers and workers, and all of it in a sentence
time_left.py    how long a run will take
failures.py     why jobs failed, with equal errors grouped
"""
