"""Look at a model by hand, without a sweep or a database.

preview.py      match basis-aware rules to plain ones by how much human text they reject
next_token.py   which methods accept which next tokens after a prompt
distribution.py at which parameter each method rejects each of them
sample.py       continue a prompt, with what was rejected on the way and why
prompts.py      from a prompt to token ids, and from tokens to visible text
"""

# Three of the paper's choices with similar rejection rates (12 to 13% of human text), and the parameters at
# which their basis-aware forms reject as much: `bat-harness preview --tokens 2000`.
DEFAULT_METHODS = (
    "epsilon=0.0009",
    "ba-epsilon=0.0042",
    "eta=0.002",
    "ba-eta=0.048",
    "nucleus=0.89",
    "ba-nucleus=0.76",
)
