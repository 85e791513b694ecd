"""Known MDPs: what kind of chain they are, what policies earn in them, and what is optimal, with a certificate.

- :mod:`~equirl.solving.optimal_gain`: ``solve`` (average reward, or with a ``discount``), ``Solution``,
  ``certified_gain`` to measure regret against; :mod:`~equirl.solving.discounted`: ``DiscountedSolution``.
- :mod:`~equirl.solving.policies`: ``evaluate_policy``, ``policy_gain``, ``stationary_law``, ``policy_kind``.
- :mod:`~equirl.solving.chains`: ``chain_kind``; :mod:`~equirl.solving.shortest_times`: ``diameter``.

In reading order. Tools: ``bellman`` (one sweep), ``chains`` and ``end_components`` (graphs), ``approach`` (policies
that head for some states), ``factorization`` (sparse LU and its cost), ``gth_elimination`` (without subtraction),
``renewal`` (a chain solved), ``policies``. Methods: ``value_iteration``, ``policy_iteration``,
``elimination_policy_iteration``, and ``gain_methods``, which chooses among them. Answers: ``multichain``,
``discounted``, ``optimal_gain``, ``diameter``; ``criterion`` is what learners and simulation ask.
"""

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.solving.chains import chain_kind as chain_kind
    from equirl.solving.criterion import AVERAGE_REWARD as AVERAGE_REWARD
    from equirl.solving.discounted import (
        DiscountedSolution as DiscountedSolution,
        original_values as original_values,
        solve_discounted as solve_discounted,
    )
    from equirl.solving.optimal_gain import (
        NoConstantGain as NoConstantGain,
        UncertifiedGain as UncertifiedGain,
        certified_gain as certified_gain,
        solve as solve,
    )
    from equirl.solving.policies import (
        IllConditioned as IllConditioned,
        evaluate_policy as evaluate_policy,
        policy_gain as policy_gain,
        policy_kind as policy_kind,
        policy_weights as policy_weights,
        stationary_law as stationary_law,
    )
    from equirl.solving.shortest_times import diameter as diameter
else:
    EXPORTS = {
        "chains": "chain_kind",
        "criterion": "AVERAGE_REWARD",
        "discounted": "DiscountedSolution original_values solve_discounted",
        "optimal_gain": "NoConstantGain UncertifiedGain certified_gain solve",
        "policies": "IllConditioned evaluate_policy policy_gain policy_kind policy_weights stationary_law",
        "shortest_times": "diameter",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
