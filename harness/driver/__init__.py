"""Driving a sweep: claim jobs from the store, hand them to workers, write down what they answer.

pool.py       workers behind one small interface
ray_pool.py   Ray actors
driver.py     the loop
signals.py    Ctrl-C once and twice
"""
