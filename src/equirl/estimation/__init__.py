"""From what was seen to estimates, and every bound once.

``counts`` holds what was seen, by pair; ``class_counts`` adds it up over classes; ``pooling`` makes estimates of both,
with ``placements`` for mass that a pair has not seen yet.

``confidence`` holds the radii of the paper; further bounds stand in files of their own (``bernstein``, ``kl_radius``,
``ucrl3_bounds``, ``kl_inf``). ``refutation`` tests whether pairs are alike as stated.
Nothing here knows of learners or of planning.
"""
