"""The public Python API: sweeps, runs and results. The command line prints what it returns.

sweeps.py       load a sweep, plan it
running.py      run it
runs.py         runs of a database: status, retrying
managing.py     runs renamed, tagged, deleted, compared
merging.py      the results of one database brought into another
reports.py      a report as files
tables.py       scores as tables of cells, with the jobs behind each
texts.py        texts, a few prefixes at a time; text_search.py finds prefixes by what was written after them
asking.py       any SQL, within limits of time and rows
results.py      results as DataFrames
queries.py      the SQL behind them
frames.py       from rows to DataFrames
estimates.py    scores averaged over seeds
human_text.py   measured human text, and the share of it that rules reject
"""
