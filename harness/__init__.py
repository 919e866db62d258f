"""The top floor: plan experiments, keep their results, talk to people.

The harness holds the command line, the plans, the database and the reports. It drives `workers`, which run
the models, and never computes a sampling decision itself: that is the business of `bat`.
"""
