"""The settings that keep numerical libraries to one thread, where processes are what runs side by side."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")  # a part of the environment; libraries look when they are loaded
