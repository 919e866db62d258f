"""Driving a sweep: claim jobs from the store, hand them to workers, write down what they answer.

driver.py     the loop
enqueue.py    what a plan puts into the store
inputs.py     what the requests of jobs are made from
pool.py       workers behind one small interface
ray_pool.py   Ray actors
cluster.py    finding Ray, or starting it
stopping.py   Ctrl-C once and twice
log.py        a file for each start

docs/design/driver.md says why it is so.
"""
