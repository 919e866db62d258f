"""`bat-harness view`: runs, results and texts of a database in a browser.

app.py         the application: its pages, and what every request passes through
page.py        what a page is; rendering.py: its templates
security.py    who may ask, from where, and what a page may load
problems.py    errors as a page with one sentence
live.py        pages that change while they are open
requests.py    reading addresses and forms

runs.py        all runs
run.py         one run: stages, workers, parameters, failed jobs
ask.py         SQL

A page asks `harness.api` and renders a template. It has no SQL and computes nothing that the API does not
return. Nothing is fetched from other machines: the style sheet and the scripts in static/ are all that a page
loads.
"""
