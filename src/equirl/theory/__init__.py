"""What theory promises, as functions: the paper's bounds on regret, episodes and samples."""

from equirl.theory.bounds import azuma_width, n_episodes_bound, proposition1_samples, theorem1_bound, ucrl2_bound

__all__ = ["azuma_width", "n_episodes_bound", "proposition1_samples", "theorem1_bound", "ucrl2_bound"]
