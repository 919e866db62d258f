"""Results as files.

row_files.py   rows of any query, as CSV, JSON or Parquet
tables.py      which tables a run is exported as, with the types of their columns
run_files.py   a whole run: its tables, its configuration, what it was made with
"""
