"""Look at a model by hand, without a sweep or a database.

preview.py      match basis-aware rules to plain ones by how much human text they reject
next_token.py   which methods accept which next tokens after a prompt
sample.py       continue a prompt, with what was rejected on the way and why
prompts.py      from a prompt to token ids, and from tokens to visible text
"""
