"""Speed and memory, measured on the demo model and human text: ``python -m benchmarks``.

Machines are noisy, so what counts is the ratio of two medians taken in the same run. One thread unless a
row says otherwise: the libraries below read these variables when they are first imported.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = os.environ.get("BENCHMARK_THREADS", "1")
