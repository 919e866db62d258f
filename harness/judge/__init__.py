"""Human evaluation: people compare two continuations of one prefix. docs/human-evaluation.md is the guide.

design.py       what a study asks; sides.py finds the settings, making.py the prefixes and texts
power.py        what it can show, before anyone is asked
assigning.py    what a judge is shown next, and on which side
votes.py        answers, ready for statistics
shares.py       wins and ties with intervals, the sign test, position bias
agreement.py    of judges with each other and with themselves
strengths.py    three settings or more together: Bradley-Terry with ties
exclusion.py    judges who are left out, and why
results.py      all of it for one study; tables.py: as tables of a report
batch_csv.py    answers as CSV in the batch format; study_files.py: whole studies as JSONL
pair_files.py   studies of texts made elsewhere

Studies are stored by harness/store/judging.py, and judged on the pages of harness/view/judging.
"""
