"""The middle floor: run a language model over text.

Workers load models and corpora, generate text, measure which human tokens a rule would reject and extract
features. They hand plain arrays down to `bat`, which decides, and plain messages up to `harness`, which
plans, stores and reports. They know nothing of databases, and import only `bat` and the libraries that run
models.
"""
