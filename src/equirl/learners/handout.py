"""What a learner made for a known MDP is handed: its classes, profiles and mean rewards, as the settings ask.

Which classes depends on the rewards. Where a class shares its mean reward, pairs of one class must agree in law and in
reward. Where rewards are kept by pair or known, laws alone are pooled, and classes of laws alone are handed out:
splitting them by reward would only scatter the samples.
"""

from __future__ import annotations

from typing import Any

from equirl.estimation.given_knowledge import Given
from equirl.learners.recipes import Recipe, Settings, needs_of_parts
from equirl.model.mdp import TabularMDP
from equirl.structure.equivalence import SeparationError, Tolerance, equivalence_classes, separating_tolerance
from equirl.structure.partition import Partition
from equirl.structure.similarity import TOLERANCE, Profiles, profiles

MUCH_FINER = 4  # times as many classes of laws and rewards as of laws
SOON = 6  # largest S C / M at which pooled laws are soon learned
OWN = 0.9  # share of classes of laws and rewards among pairs from which rewards are what takes time


def pools_rewards(settings: Settings) -> bool:
    """Whether pairs of one class share their mean reward."""
    return settings.as_dict().get("rewards", "per_class") == "per_class"


def settings_for(
    mdp: TabularMDP, name: str, recipe: Recipe, chosen: dict[str, Any], classes: Partition | None, tolerance: Tolerance
) -> Settings:
    """The settings of a learner for this MDP, where ``rewards`` and ``pooling``, if not chosen, may differ from usual.

    An optimistic learner keeps rewards by pair where they tell apart what the laws do not (:func:`prefers_laws`),
    unless classes are stated. With machines of twelve types that wear alike and earn differently, classes of laws and
    rewards pool nearly nothing, and that is what the learner needs least; it would do worse than one that is given
    nothing.

    Where the learner would pool balanced parts of classes, it pools whole ones instead in two cases. Classes of laws
    alone are large and their pairs soon unlike in visits, so that parts of them stay small: in a queue, with machines
    or perishable stock the learner would else do worse than one that treats every pair on its own. And where every
    class is a single pair there is nothing to balance, and no confidence is spent on it.
    """
    settings = recipe.settings(name, chosen)
    by_law = any(getattr(part, "by_law", False) for part in settings.parts)
    is_open = classes is None and "rewards" not in chosen and pools_rewards(settings)
    by_variance = settings.as_dict().get("reward_bound") == "variance"
    quick = by_variance or any(getattr(part, "quick_rewards", False) for part in settings.parts)
    if by_law and is_open and prefers_laws(mdp, tolerance, quick):
        chosen = {**chosen, "rewards": "shared" if by_variance else "per_pair"}
        settings = recipe.settings(name, chosen)
    if "pooling" in settings.as_dict() and "pooling" not in chosen and _whole(mdp, settings, classes, tolerance):
        settings = recipe.settings(name, {**chosen, "pooling": "class"})
    return settings


def _whole(mdp: TabularMDP, settings: Settings, classes: Partition | None, tolerance: Tolerance) -> bool:
    """Whether classes are better pooled whole: see :func:`settings_for`."""
    if classes is None and not pools_rewards(settings):
        return True
    handed = hand_out(mdp, settings, classes, None, tolerance).classes
    return handed is not None and handed.n_classes == mdp.n_pairs


def prefers_laws(mdp: TabularMDP, tolerance: Tolerance, quick_rewards: bool = False) -> bool:
    """Whether to hand out classes of laws and keep rewards by pair, rather than classes of laws and rewards.

    Three conditions. There are at least :data:`MUCH_FINER` times as many classes with rewards as without. Laws are
    soon learned once pooled: the radius of a class with n samples is about sqrt(2 S log 2 / n), so under 1 after eight
    visits to each pair where S C <= :data:`SOON` M. Where classes of laws are small against the states, what is pooled
    stays vague for as long as rewards are unknown, and pays late. And not nearly every pair has a reward of its own
    (:data:`OWN`): there all depends on trying every pair, and a learner that knows the laws goes and does so at once.

    ``quick_rewards``: sure rewards are known within some visits (``reward_bound="variance"``, or where nothing bounds
    them), so that laws are what takes time. Then classes of laws are better wherever those with rewards are more and
    not soon learned themselves.
    """
    try:
        laws = equivalence_classes(mdp, rewards=False, tolerance=tolerance).n_classes
    except SeparationError:
        return False
    both = equivalence_classes(mdp, tolerance=tolerance).n_classes
    if quick_rewards:
        return laws < both and mdp.n_states * both > SOON * mdp.n_pairs
    if mdp.n_states * laws > SOON * mdp.n_pairs:
        return False
    return MUCH_FINER * laws <= both < OWN * mdp.n_pairs


def hand_out(
    mdp: TabularMDP, settings: Settings, classes: Partition | None, table: Profiles | None, tolerance: Tolerance
) -> Given:
    """What the settings need of the MDP; classes and profiles that are stated take the place of the MDP's own."""
    needs, rewards = needs_of_parts(settings), pools_rewards(settings)
    exact = TOLERANCE if isinstance(tolerance, str) else tolerance
    if classes is None and "classes" in needs:
        exact = separating_tolerance(mdp, rewards) if isinstance(tolerance, str) else tolerance
        classes = equivalence_classes(mdp, rewards, exact)
    if table is None and "profiles" in needs:
        table = profiles(mdp)
    means = mdp.r_mean.copy() if "mean_rewards" in needs else None  # a read-only one compiles kernels anew
    return Given(classes, table, means, exact)
