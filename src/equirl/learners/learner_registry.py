"""Learners by name. One made of known parts is a row of ``catalogue``; one from outside is registered with one call."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from equirl.estimation.given_knowledge import Classes, Given, Order, checked, partition_of, profiles_of
from equirl.learners.catalogue import ROWS
from equirl.learners.contract import Learner
from equirl.learners.parts import AUTO, NESTED, Known
from equirl.learners.recipes import Blueprint, Recipe, Settings, needs_of_parts
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Pairs, pairs_from
from equirl.model.reward_distributions import reward_map_of
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.structure.equivalence import SeparationError, Tolerance, equivalence_classes, separating_tolerance
from equirl.structure.similarity import TOLERANCE, Profiles, profiles as profiles_of_mdp
from equirl.words.checking import between, choice, real_array, unknown_name
from equirl.words.formatting import shown

EXTRA_MODULES = "EQUIRL_LEARNERS"  # environment variable: modules, by commas, that register learners when imported
GIVEN_KEYWORDS = ("classes", "profiles", "order", "tolerance")  # keywords of agent_for that are no settings


class Registry(Mapping[str, Recipe]):
    """Recipes by name; modules that the environment names are loaded when first asked."""

    def __init__(self, rows: dict[str, Recipe]) -> None:
        self._rows = rows
        self.outside: set[str] = set()  # modules that registered learners of their own
        self._loaded = False

    def add(self, name: str, recipe: Recipe) -> None:
        self._rows[name] = recipe

    def __getitem__(self, name: str) -> Recipe:
        self._load_extra()
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        self._load_extra()
        return iter(self._rows)

    def __len__(self) -> int:
        self._load_extra()
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        self._load_extra()
        return name in self._rows

    def _load_extra(self) -> None:
        if not self._loaded:
            self._loaded = True
            for module in filter(None, os.environ.get(EXTRA_MODULES, "").split(",")):
                importlib.import_module(module.strip())


AGENTS = Registry(dict(ROWS))


def register_learner(name: str, recipe: Recipe) -> None:
    """Add a learner, from anywhere: from then on its name works wherever a learner's name does.

    Processes started for studies import the modules of ``recipe.build`` and of the parts, so a learner should stand
    in a module, not in a script; for the command line, name that module in the environment variable
    ``EQUIRL_LEARNERS``. A name registered again is replaced, but for those of the package.

    Parameters
    ----------
    name : str
        A new name.
    recipe : Recipe
        Description, how it is built, and its parts with their defaults.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"a learner's name must be a string, not {shown(name)}")
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe must be a Recipe, not {shown(recipe)}")
    if name in ROWS:
        raise ValueError(f"there is a learner {name!r} in the package already; choose another name")
    AGENTS.add(name, recipe)
    AGENTS.outside |= {module for module in recipe.modules if not module.startswith("equirl.")}


def outside_modules(name: str) -> tuple[str, ...]:
    """The modules outside the package that hold a learner: what another process must import to know it."""
    return tuple(sorted(module for module in find_learner(name).modules if not module.startswith("equirl.")))


def find_learner(name: str) -> Recipe:
    """The recipe of a learner; a wrong name is answered with the nearest right one."""
    if not isinstance(name, str) or name not in AGENTS:
        raise ValueError(unknown_name("learner", name, AGENTS))
    return AGENTS[name]


def make_settings(name: str, **settings: Any) -> Settings | None:
    """The validated settings of a learner, each an attribute; None for learners that have none.

    Parameters
    ----------
    name : str
        A learner.
    **settings
        Those that differ from the defaults.

    Examples
    --------
    >>> make_settings("c-ucrl", balance=2.0).stopping
    'either'
    """
    recipe = find_learner(name)
    chosen = recipe.settings(name, settings)
    return chosen if recipe.keys else None


def make_agent(
    name: str,
    n_states: int | Sequence[Any],
    n_actions: int | Sequence[Any] | Mapping[Any, Sequence[Any]] | np.ndarray,
    seed: Seed = 0,
    *,
    classes: Classes = None,
    profiles: Profiles | None = None,
    order: Order = None,
    mean_rewards: Sequence[float] | np.ndarray | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    **settings: Any,
) -> Learner:
    """An agent to drive step by step with ``act`` and ``observe``, or to give to ``simulate``.

    Parameters
    ----------
    name : str
        A learner; ``equirl agents`` lists them with their settings.
    n_states : int or sequence of names
        The number of states, or their names: strings, numbers or tuples.
    n_actions : int, sequence or mapping
        How many actions there are, in every state or one by one; their names, the same in every state; or the actions
        that each state allows, by id or name: a list per state in order, or ``{state: actions}``.
    seed : int or SeedSequence
        From which its random choices follow.
    classes : Partition, labels or function, optional
        One label per pair, for a learner that is given the classes; or ``classes(state, action)``, which gives the
        label of a pair, by name where there are names.
    profiles : Profiles, optional
        ``equirl.profiles(mdp)``, for a learner that is given them.
    order : function or list, optional
        In place of profiles: ``order(state, action)`` lists the states that the pair may lead to, by name where there
        are names, such that the i-th corresponds to the i-th of every pair of its class. Or a list of such lists, one
        per pair.
    mean_rewards : sequence of float, optional
        One per pair, for a learner that knows them; on the scale of ``reward_range``.
    reward_range : (float, float)
        The least and the largest reward that ``observe`` may be given.
    **settings
        Settings of the learner.

    Examples
    --------
    >>> agent = make_agent("ucrl2-l", n_states=3, n_actions=2, seed=0)
    >>> action = agent.act(0)
    >>> agent.observe(0, action, 0.5, 1)
    >>> agent.t
    2
    """
    pairs, reward_map = pairs_from(n_states, n_actions), reward_map_of(reward_range)
    remedy = f": use simulate(mdp, {name!r}, ...) or agent_for(mdp, {name!r})"
    return agent_on_pairs(
        name, pairs, reward_map, seed, remedy, classes=classes, profiles=profiles, order=order,
        mean_rewards=mean_rewards, **settings,
    )  # fmt: skip


def agent_on_pairs(
    name: str,
    pairs: Pairs,
    reward_map: tuple[float, float],
    seed: Seed,
    remedy: str,
    *,
    classes: Classes = None,
    profiles: Profiles | None = None,
    order: Order = None,
    mean_rewards: Any = None,
    **settings: Any,
) -> Learner:
    """An agent for a problem of which no more is known; ``remedy`` ends the message where the true MDP is needed."""
    recipe = find_learner(name)
    if recipe.knows_mdp:
        raise ValueError(f"{name!r} needs the true MDP{remedy}")
    scale, shift = reward_map
    means = None if mean_rewards is None else (real_array("mean_rewards", mean_rewards) - shift) / scale
    given = given_by_user(classes, profiles, order, pairs)._replace(mean_rewards=means)
    return build_learner(name, pairs, recipe.settings(name, settings), given, seed, reward_map)


def agent_for(
    mdp: TabularMDP,
    name: str,
    seed: Seed = 0,
    *,
    classes: Classes = None,
    profiles: Profiles | None = None,
    order: Order = None,
    tolerance: float | Literal["auto"] = TOLERANCE,
    **settings: Any,
) -> Learner:
    """An agent for ``mdp``, in its units, given what it is entitled to: classes, profiles or means of the MDP itself.

    Classes are those of transition probabilities and mean rewards where rewards are pooled per class, and those of
    transition probabilities alone where they are kept per pair or known. With ``rewards="auto"`` a learner is given
    both, and decides by how many of each there are.

    Parameters
    ----------
    mdp : TabularMDP
        The problem.
    name : str
        A learner.
    seed : int or SeedSequence
        From which its random choices follow.
    classes, profiles, order : optional
        In place of the MDP's own, for a learner that is given them: see :func:`equirl.make_agent`.
    tolerance : float or "auto", default 1e-9
        What is taken as equal when classes are made: see :func:`equirl.equivalence_classes`.
    **settings
        Settings of the learner.

    Examples
    --------
    >>> from equirl.worlds.world_registry import make
    >>> river = make("riverswim", n_states=6)
    >>> agent_for(river, "c-ucrl-c").given.classes.n_classes
    5
    >>> agent_for(river, "c-ucrl-c", rewards="known").given.classes.n_classes
    4
    """
    check_mdp(mdp)
    recipe = find_learner(name)
    if recipe.knows_mdp:
        chosen = recipe.settings(name, settings)
        return recipe.build(
            Blueprint(name, mdp.pairs, chosen, seed=seed_sequence("seed", seed), reward_map=mdp.reward_map), mdp
        )
    from_user, chosen = given_by_user(classes, profiles, order, mdp.pairs), recipe.settings(name, settings)
    given = given_by(mdp, chosen, from_user, check_tolerance(name, chosen, tolerance))
    return build_learner(name, mdp.pairs, chosen, given, seed, mdp.reward_map)


def given_by(mdp: TabularMDP, settings: Settings, from_user: Given, tolerance: Tolerance) -> Given:
    """What the user gave, and what else the settings need of the MDP."""
    needs, exact = needs_of_parts(settings), TOLERANCE if isinstance(tolerance, str) else tolerance
    given = from_user._replace(tolerance=exact)
    if from_user.classes is None and "classes" in needs:
        decides = settings.as_dict().get("rewards") in (AUTO, NESTED)
        if decides or settings.pools_rewards:
            exact = separating_tolerance(mdp) if isinstance(tolerance, str) else tolerance
            given = given._replace(classes=equivalence_classes(mdp, tolerance=exact), tolerance=exact)
        if not settings.pools_rewards:
            given = _with_transition_classes(mdp, given, tolerance, decides)
    if from_user.profiles is None and "profiles" in needs:
        given = given._replace(profiles=profiles_of_mdp(mdp))
    means = mdp.r_mean.copy() if "mean_rewards" in needs else None  # a read-only one compiles kernels anew
    return given._replace(mean_rewards=means)


def _with_transition_classes(mdp: TabularMDP, given: Given, tolerance: Tolerance, may_lack: bool) -> Given:
    """With classes of transition probabilities alone; where others will do, without if no tolerance separates them."""
    try:
        exact = separating_tolerance(mdp, False) if isinstance(tolerance, str) else tolerance
        coarser = equivalence_classes(mdp, False, exact)
    except SeparationError:
        if may_lack:
            return given
        raise
    return given._replace(transition_classes=coarser, transition_tolerance=exact, classes=given.classes or coarser)


def given_by_user(classes: Classes, profiles: Profiles | None, order: Order, pairs: Pairs) -> Given:
    """Classes and corresponding successors from a user: data may refute them."""
    part, table = partition_of(classes, pairs), profiles_of(profiles, order, pairs)
    return Given(part, table, refutable=part is not None or table is not None)


def check_tolerance(name: str, settings: Settings | None, tolerance: Any) -> Tolerance:
    """What is taken as equal when classes are given to this learner; an error where it is given none."""
    within: Tolerance = "auto"
    if not isinstance(tolerance, str):
        within = between("tolerance", tolerance, most=2)
    else:
        choice("tolerance", tolerance, ("auto",))
    if within != TOLERANCE and (settings is None or "classes" not in needs_of_parts(settings)):
        raise ValueError(f"{name!r} with these settings makes no use of tolerance; leave it out")
    return within


def build_learner(
    name: str,
    pairs: Pairs,
    settings: Settings,
    given: Given,
    seed: Seed = 0,
    reward_map: tuple[float, float] = (1.0, 0.0),
) -> Learner:
    """A learner from its name, its checked settings and what it is given, which is checked here."""
    chosen = settings.resolved(Known(pairs, given))
    given = checked(name, needs_of_parts(chosen), given.in_force(chosen.pools_rewards, chosen.nests_rewards), pairs)
    blueprint = Blueprint(name, pairs, chosen, given, seed_sequence("seed", seed), reward_map)
    return find_learner(name).build(blueprint)
