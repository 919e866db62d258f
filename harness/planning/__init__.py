"""From a sweep to its jobs.

materials.py    what jobs and requests are made from: model cards, prefixes, texts
local_inputs.py local files and folders that a sweep reads, and their revisions
import_sweep.py the sweep that `bat-harness import` runs
resolve.py      parameters that results decide
planner.py      all jobs that can be planned now, and which parameters are unresolved; stores them
older_runs.py   instances of runs from databases that did not store them yet
finished.py     whether a run is done, from the database alone
work.py         the amount of work, including jobs that cannot be planned yet
calibration.py  how fast this machine does the work
"""
