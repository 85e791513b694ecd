"""A Bayesian model of equivalence, and draws from its posterior.

Which pairs are alike is itself uncertain: ``class_sampler`` draws classes and which successors correspond to each
other (``class_state`` keeps them), ``reward_sampler`` draws which pairs share their mean reward, ``drawn_mdp`` turns
both into an MDP with sparse rows, a few ``odd_pairs`` aside; ``profile_draws`` does so where classes and profiles are
given. ``drawn_plan`` plans in what was drawn, ``inspection`` opens the posterior to look at. All state lies in plain
arrays. docs/posterior.md has the model.
"""

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.posterior.inspection import ClassPosterior as ClassPosterior, class_posterior as class_posterior
else:
    EXPORTS = {
        "inspection": "ClassPosterior class_posterior",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
