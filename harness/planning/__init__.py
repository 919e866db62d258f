"""From a sweep to its jobs.

materials.py    what jobs are made of: models' cards, prefixes, human text
imported.py     texts made elsewhere, matched to prefixes
import_sweep.py the sweep that `bat-harness import` runs
instances.py    the jobs of one setting, from texts to scores
resolve.py      parameters that follow from results
planner.py      all jobs that can be named now, and what is still to be found out
finished.py     whether a run is done, by a look at the database alone
work.py         how much work all jobs are, those included that cannot be named yet
calibration.py  how fast this machine is at it
"""
