"""Known MDPs: what kind of chain they are, what policies earn in them, and what is optimal, with a certificate.

In reading order. Tools: ``chains`` (graphs and blocks), ``value_iteration`` (sweeps), ``sweep_engine`` (sweeps of large
problems), ``gth_elimination``, ``renewal`` (chains solved by sparse LU), ``policies`` (what a policy earns),
``quotient`` (end components as nodes). Methods: ``gain_methods`` and ``multichain`` (average reward), ``discounted``,
``goals``. What users call: ``optimal_gain`` (``solve``; the ``Criterion`` that learners and simulation ask) and
``shortest_times`` (``diameter``).
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.solving.chains import chain_kind as chain_kind
    from equirl.solving.discounted import (
        DiscountedSolution as DiscountedSolution,
        solve_discounted as solve_discounted,
    )
    from equirl.solving.goals import GoalSolution as GoalSolution
    from equirl.solving.multichain import NoConstantGain as NoConstantGain
    from equirl.solving.optimal_gain import (
        AVERAGE_REWARD as AVERAGE_REWARD,
        UncertifiedGain as UncertifiedGain,
        certified_solution as certified_solution,
        solve as solve,
    )
    from equirl.solving.policies import (
        Policy as Policy,
        policy_weights as policy_weights,
    )
    from equirl.solving.renewal import IllConditioned as IllConditioned
    from equirl.solving.shortest_times import diameter as diameter
else:
    EXPORTS = {
        "chains": "chain_kind",
        "discounted": "DiscountedSolution solve_discounted",
        "goals": "GoalSolution",
        "multichain": "NoConstantGain",
        "optimal_gain": "AVERAGE_REWARD UncertifiedGain certified_solution solve",
        "policies": "Policy policy_weights",
        "renewal": "IllConditioned",
        "shortest_times": "diameter",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
