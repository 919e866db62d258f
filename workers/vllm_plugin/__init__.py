"""The rules of `bat` inside vLLM: as a plug-in of anybody's engine, and as an engine of our own.

    parameters      what a request asks for (`SamplingParams.extra_args`), and what excludes a rule
    choosing        tokens for the rows of a batch that have a rule
    bases           the bases of the model that vLLM runs
    processor       the entry point `vllm.logits_processors`: both interfaces of vLLM
    recording       the traces of texts, kept in the process that samples them
    engine          a shard of prefixes through vLLM, for a worker
    compatibility   what vLLM cannot cope with in a process that has imported `bat`
    installation    whether vLLM is installed, asked without importing it

Only processor and engine import vLLM, which takes seconds and is installed in few environments.
"""
