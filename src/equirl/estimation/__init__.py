"""From what was seen to estimates: counts by pair (``counts``), pooled estimates (``pooling``), and every bound once.

``confidence`` holds the radii of the paper; further bounds stand in files of their own (``bernstein``, ``kl_radius``,
``ucrl3_bounds``). Nothing here knows of learners or of planning.
"""
