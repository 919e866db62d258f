"""`bat-harness judge serve`: the pages of the people who judge.

A server of its own. It has the pages of one study's judges and nothing else: no results, no runs, no other
judge's items. It shares the templates' environment, the headers and the checks of hosts with the view.

app.py        the application; settings.py: what it was started with
pages.py      what a judge sees and sends
limits.py     how often a judge may ask
"""
