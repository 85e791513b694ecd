"""Planning with uncertain models: the best policy in the best model of a set.

A set of models brings its own inner maximum, ``max q.u`` over the plausible transition probabilities q of a pair. In
reading order: ``l1_ball`` (the paper's set), ``optimistic_planning`` (``extended_value_iteration``, the loop that all
sets share: a ``Plan``); further sets are ``intervals`` and ``kl_ball``; for one MDP ``exact_model``, and ``wary_model``
for policies that are to be deployed.
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.planning.exact_model import ExactModel as ExactModel
    from equirl.planning.l1_ball import ConfidenceSet as ConfidenceSet
    from equirl.planning.optimistic_planning import (
        ModelSet as ModelSet,
        Plan as Plan,
        Solver as Solver,
        extended_value_iteration as extended_value_iteration,
        iterate as iterate,
        single_sweep as single_sweep,
        sweep_states as sweep_states,
    )
else:
    EXPORTS = {
        "exact_model": "ExactModel",
        "l1_ball": "ConfidenceSet",
        "optimistic_planning": "ModelSet Plan Solver extended_value_iteration iterate single_sweep sweep_states",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
