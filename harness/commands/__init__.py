"""The commands of the command line, one file each, and what they share.

    preview.py       bat-harness preview
    next_tokens.py   bat-harness next (its table: next_table.py)
    sample.py        bat-harness sample

    options.py       options that several commands take, described once
    console.py       where results and progress are written
    prompts.py       from a prompt to token ids, and tokens made visible

A command's file imports nothing heavy at the top: `bat-harness --help` reads all of them.
"""
