"""Driving a sweep: claim jobs from the store, hand them to workers, write down what they answer.

driver.py     the loop
enqueue.py    what a plan puts into the store
requests.py   from a job to the request that does it, from the answer to rows
pool.py       workers behind one small interface
ray_pool.py   Ray actors
cluster.py    finding Ray, or starting it
executor.py   what a worker runs
owners.py     names of drivers, by which one can tell that one is gone
stopping.py   Ctrl-C once and twice
log.py        a file for each start

docs/design/driver.md says why it is so.
"""
