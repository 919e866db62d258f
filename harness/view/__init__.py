"""`bat-harness view`: runs, results and texts of a database in a browser.

app.py         the application: its pages, and what every request passes through
page.py        what a page is; rendering.py: its templates
security.py    who may ask, from where, and what a page may load
problems.py    errors as a page with one sentence
live.py        pages that change while they are open
requests.py    reading addresses and forms
remembering.py what is loaded once; warming.py: what is imported before it is needed
charts.py      positions on an axis
serving.py     the web server around it; settings.py: what it was started with

runs.py        all runs
run.py         one run: stages, workers, parameters, failed jobs
results.py     scores with intervals, differences, the jobs behind a number
texts.py       the same prefix under each method, token by token
rejection.py   parameters against the share of human text that is rejected
distribution.py  one distribution; model.py: the model behind it; answers.py: what it is asked
ask.py         SQL
judging/       a server of its own, for the people who judge a study

A page asks `harness.api` and renders a template. It has no SQL and computes nothing that the API does not
return. Nothing is fetched from other machines: the style sheet and the scripts in static/ are all that a page
loads.
"""
