"""The benchmarks behind ``equirl bench``: every figure a ratio of things measured side by side, or a count.

Times differ from machine to machine, ratios much less; no test asks for either. See ``running`` for what is measured
at which size, and ``measuring`` for how.
"""
