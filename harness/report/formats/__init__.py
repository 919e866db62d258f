"""A report as text, in the formats that people read and that machines do.

layout.py       what all formats ask of a table
markdown.py     for a repository's page, or a terminal
latex.py        for a paper
csv_file.py     for a spreadsheet or a data frame
html.py         one page that holds everything (page.html.j2, parts.html.j2, style.css.j2)
samples.py      texts side by side, for a page and for Markdown (samples.html.j2)
"""
