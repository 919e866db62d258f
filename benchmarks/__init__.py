"""Speed and memory, measured with the demo model and human text: ``python -m benchmarks``.

Machines are noisy, so most targets are ratios of two medians from the same run. Benchmarks use one thread
unless their row says otherwise. Libraries read the variables below when they are first imported.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = os.environ.get("BENCHMARK_THREADS", "1")
