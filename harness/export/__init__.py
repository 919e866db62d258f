"""Results as files.

row_files.py   rows of any query as CSV, JSON or Parquet
tables.py      the tables of an exported run, with the types of their columns
tokens.py      token traces as columns
run_files.py   a whole run: its tables, its sweep, the versions of the software
"""
