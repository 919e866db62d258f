"""From the rows of a store to tables, figures and a page.

loading.py      rows -> Results                 no model, no human text
tables/         Results -> Table                one file for a table or two
figures/        numbers -> Picture              matplotlib, to SVG
with_model/     what only the model can show    next tokens of the paper's prompts, ranks
paper.py        what the paper has at the same places
building.py     all parts -> Report
formats/        Report -> Markdown, LaTeX, CSV, HTML
writing.py      Report -> files
"""
