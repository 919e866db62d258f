"""From a sweep to its jobs.

materials.py    what jobs are made of: models' cards, prefixes, human text
specs.py        the specification of each kind of job
resolve.py      parameters that follow from results
planner.py      all jobs that can be named now, and what is still to be found out
"""
