"""Driving a sweep: claim jobs from the store, send them to workers, store the answers.

driver.py     the loop
pool.py       the interface of a pool of workers
ray_pool.py   a pool of Ray actors
cluster.py    connecting to Ray, or starting it
stopping.py   Ctrl-C once and twice
log.py        a log file for each start of a run

docs/design/driver.md explains the design.
"""
