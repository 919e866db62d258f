"""The commands of the command line, one file each, and what they share.

    preview.py       bat-harness preview
    next_tokens.py   bat-harness next (its table: next_table.py)
    sample.py        bat-harness sample
    plan.py          bat-harness plan
    run.py           bat-harness run
    status.py        bat-harness status (its picture: status_view.py)
    retry.py         bat-harness retry
    query.py         bat-harness query (its table: rows_view.py)
    export.py        bat-harness export
    database.py      bat-harness db migrate, version, check
    doctor.py        bat-harness doctor

    options.py       options that several commands take, described once
    runs.py          which run a command is about
    exits.py         exit codes
    console.py       where results and progress are written
    tables.py        the look of tables
    prompts.py       from a prompt to token ids, and tokens made visible
    document.py      docs/commands.md, from the commands themselves

A command's file imports nothing heavy at the top: `bat-harness --help` reads all of them.
"""
