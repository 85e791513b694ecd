"""A Bayesian model of equivalence, and draws from its posterior.

Which pairs are alike is itself uncertain. In the order of one draw: ``row_priors`` (what is drawn of the transition
probabilities, and by which sampler), ``class_sampler`` (classes, and which successors correspond; kept in
``class_state``, with what ``neighbouring_classes`` say), ``hope`` (pairs that differ, states never entered) and
``hope_record`` (how often it came true), ``drawn_rows`` (sparse rows of an MDP), ``reward_priors`` (mean rewards).
``drawn_plan`` plans in what was drawn, ``deployment`` without hope, ``bootstrap`` draws again what was seen,
``successor_rewards`` has rewards that come with where a pair leads, ``inspection`` opens the posterior to look at. All
state lies in plain arrays. docs/posterior.md has the model.
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.posterior.inspection import ClassPosterior as ClassPosterior, class_posterior as class_posterior
else:
    EXPORTS = {
        "inspection": "ClassPosterior class_posterior",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
