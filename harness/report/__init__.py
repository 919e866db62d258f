"""Reports: tables, figures and a page from the results in a store.

loading.py      rows -> Results                 without models and human text
tables/         Results -> Table                a module for a table or two
figures/        numbers -> Picture              matplotlib, to SVG
with_model/     parts that need the model       next tokens of the paper's prompts, ranks
paper.py        the paper's numbers             to show beside ours, where a sweep repeats an experiment
building.py     all parts -> Report             in the order of sections.py, below summary.py
formats/        Report -> Markdown, LaTeX, CSV, HTML
writing.py      Report -> files
"""
