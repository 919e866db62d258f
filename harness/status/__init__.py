"""How runs stand.

run_status.py   counts, rates, time left
verdict.py      all of it in a sentence
failures.py     why jobs were set aside, alike errors together
"""
