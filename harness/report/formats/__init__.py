"""The formats of a report.

layout.py       checks and layout that all formats share
markdown.py     for a repository's page, or a terminal
latex.py        for a paper
csv_file.py     for a spreadsheet or a data frame
html.py         one self-contained page (page.html.j2, parts.html.j2, style.css.j2, page.js)
samples.py      texts side by side, for a page and for Markdown (samples.html.j2)
"""
