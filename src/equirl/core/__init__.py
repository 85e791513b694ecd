"""What every folder may use: compiled kernels, checked arguments, owned arrays, names, seeds, files and locks.

Nothing here knows what a Markov decision process is. Modules are imported one by one, so that ``import equirl`` loads
no compiler: only :mod:`equirl.core.compiling` and :mod:`equirl.core.random_draws` need Numba.
"""
