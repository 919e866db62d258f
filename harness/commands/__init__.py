"""The commands of the command line. A command parses its options, calls the harness and prints.

A command NAME is in NAME.py; where it draws more than a few lines, in NAME_view.py:

    demo.py          bat-harness demo
    sample.py        bat-harness sample
    next_tokens.py   bat-harness next (next_view.py)
    preview.py       bat-harness preview
    init.py          bat-harness init
    plan.py          bat-harness plan
    run.py           bat-harness run
    status.py        bat-harness status (status_view.py)
    retry.py         bat-harness retry
    runs.py          bat-harness runs list, rename, tag, untag, delete, diff
    view.py          bat-harness view (the pages: harness/view)
    report.py        bat-harness report (report_view.py)
    judge_make.py    bat-harness judge make
    judge_serve.py   bat-harness judge serve (the pages: harness/view/judging)
    judge_results.py bat-harness judge report, list, export, import
    trace.py         bat-harness trace
    query.py         bat-harness query (query_view.py)
    export.py        bat-harness export
    doctor.py        bat-harness doctor
    database.py      bat-harness db migrate, version, check, merge

    serving.py       web servers as commands
    options.py       options that several commands share, and the runs that they name
    console.py       output, progress, tables, exit codes
    reference.py     writes the reference in docs/commands.md

Command modules import nothing heavy at the top, because `bat-harness --help` imports all of them.
"""
