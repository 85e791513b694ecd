"""Numbers: compiled kernels and their cache, random draws and seeds, owned arrays, quantiles of Beta distributions."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")  # for an environment in which processes run side by side
