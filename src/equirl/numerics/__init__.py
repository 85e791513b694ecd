"""Numbers: compiled kernels and their cache, random draws and seeds, owned arrays, quantiles of Beta distributions."""
