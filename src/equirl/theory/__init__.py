"""What theory promises, as functions: the paper's bounds on regret, episodes and samples; what no learner can beat."""

from equirl.theory.bounds import azuma_width, n_episodes_bound, proposition1_samples, theorem1_bound, ucrl2_bound
from equirl.theory.lower_bounds import regret_lower_bound

__all__ = [
    "azuma_width", "n_episodes_bound", "proposition1_samples", "regret_lower_bound", "theorem1_bound", "ucrl2_bound",
]  # fmt: skip
