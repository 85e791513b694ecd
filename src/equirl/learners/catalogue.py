"""The learners of the package, each a row: what it is called, what it is, and the parts it is made of."""

from __future__ import annotations

from typing import Any

from equirl.learners.baselines import FixedLearner
from equirl.learners.estimates import EmpiricalPool, GivenProfilePool, OwnEstimate
from equirl.learners.imed import ClassIndices, ImedLearner, OwnIndices
from equirl.learners.model_sets import BernsteinIntervals, JakschBalls, KLBalls, LaplaceBalls, Ucrl3Intervals
from equirl.learners.optimistic import OptimisticLearner
from equirl.learners.planners import OptimisticPlanner, SupportPlanner
from equirl.learners.posterior_sampling import DrawnPlanner, EpisodeLengths, PosteriorLearner
from equirl.learners.q_learning import OwnSteps, QLearner, SharedSteps
from equirl.learners.recipes import Recipe
from equirl.learners.reward_priors import ClassRewards, DrawnRewards
from equirl.learners.row_priors import ClassRows, DirichletRows, GivenClassRows, GivenProfileRows
from equirl.learners.stopping import ClassDoubling, Doubling, PairDoubling
from equirl.learners.structures import EstimatedClasses, GivenClasses, GivenProfiles, NoStructure
from equirl.learners.vanishing_rule import VanishingRule

THRIFTY = 1e5  # effort of learners that cluster: on small problems nothing changes, on large ones they plan less
WARM = OptimisticPlanner(warm_start=True)  # where a sweep is dear


def oblivious(description: str, models: Any, planner: Any = None) -> Recipe:
    """An optimistic learner that knows nothing of classes."""
    parts = NoStructure(), OwnEstimate(), models, planner or OptimisticPlanner(), PairDoubling()
    return Recipe(description, OptimisticLearner, parts)


def given_both(description: str, models: Any, planner: Any = None, stopping: Any = None) -> Recipe:
    """An optimistic learner that is given the classes and the profiles."""
    parts = GivenProfiles(), GivenProfilePool(), models, planner or OptimisticPlanner(), stopping or ClassDoubling()
    return Recipe(description, OptimisticLearner, parts)


def given_classes(description: str, models: Any, planner: Any = None) -> Recipe:
    """An optimistic learner that is given the classes."""
    parts = GivenClasses(), EmpiricalPool("per_class"), models, planner or OptimisticPlanner(), Doubling(effort=THRIFTY)
    return Recipe(description, OptimisticLearner, parts)


def estimated(description: str, models: Any, planner: Any = None, rewards: str = "per_pair") -> Recipe:
    """An optimistic learner that estimates the classes."""
    parts = EstimatedClasses(), EmpiricalPool(rewards), models, planner or OptimisticPlanner(), Doubling(effort=THRIFTY)
    return Recipe(description, OptimisticLearner, parts)


def posterior(description: str, rows: Any, rewards: Any) -> Recipe:
    """A learner that draws its MDP."""
    return Recipe(description, PosteriorLearner, (rows, rewards, DrawnPlanner(), EpisodeLengths()))


DISCOUNTED = OptimisticPlanner(discount=0.95)
INTERVALS = LaplaceBalls(reward_bound="variance")  # of MBIE
RECOMMENDED = "c-psrl"  # what to take where nothing is given

ROWS: dict[str, Recipe | None] = {
    "c-psrl": posterior("C-PSRL: given nothing, draws classes and an MDP; take this", ClassRows(), DrawnRewards()),
    "c-psrl-c": posterior("C-PSRL(C): given the classes, draws an MDP", GivenClassRows(), ClassRewards()),
    "c-psrl-c-sigma": posterior(
        "C-PSRL(C,sigma): given the classes and the profiles, draws an MDP", GivenProfileRows(), ClassRewards()
    ),
    "psrl": posterior(
        "PSRL: draws an MDP, each pair on its own",
        DirichletRows(),
        DrawnRewards(rewards="per_pair", reward_noise="coin"),
    ),
    "ucrl2": oblivious("UCRL2 (Jaksch et al. 2010)", JakschBalls()),
    "ucrl2-l": oblivious("UCRL2 with Laplace bounds; knows nothing of classes", LaplaceBalls()),
    "ucrl2-l-vm": Recipe(
        "UCRL2-L that plans ever more often: the vanishing multiplicative rule",
        OptimisticLearner,
        (NoStructure(), OwnEstimate(), LaplaceBalls(), OptimisticPlanner(), VanishingRule()),
    ),
    "c-ucrl-c-sigma": given_both("C-UCRL(C,sigma): given the classes and the profiles", LaplaceBalls()),
    "c-ucrl-c": given_classes("C-UCRL(C): given the classes, estimates the profiles", LaplaceBalls()),
    "c-ucrl": estimated("C-UCRL: given nothing, estimates classes and profiles", LaplaceBalls()),
    "ucrl2-b": oblivious("UCRL2-B: element-wise Bernstein intervals", BernsteinIntervals()),
    "c-ucrl2-b-c-sigma": given_both("UCRL2-B, given the classes and the profiles", BernsteinIntervals()),
    "c-ucrl2-b-c": given_classes("UCRL2-B, given the classes", BernsteinIntervals()),
    "c-ucrl2-b": estimated("UCRL2-B over estimated classes", BernsteinIntervals()),
    "kl-ucrl": oblivious("KL-UCRL: Kullback-Leibler balls", KLBalls(), WARM),
    "c-kl-ucrl-c-sigma": given_both("KL-UCRL, given the classes and the profiles", KLBalls(), WARM),
    "c-kl-ucrl-c": given_classes("KL-UCRL, given the classes", KLBalls(), WARM),
    "c-kl-ucrl": estimated("KL-UCRL over estimated classes", KLBalls(), WARM),
    "ucrl3": oblivious("UCRL3: tighter intervals on growing supports", Ucrl3Intervals(), SupportPlanner()),
    "c-ucrl3-c-sigma": given_both("UCRL3, given the classes and the profiles", Ucrl3Intervals(), SupportPlanner()),
    "c-ucrl3-c": given_classes("UCRL3, given the classes", Ucrl3Intervals(), SupportPlanner()),
    "c-ucrl3": estimated("UCRL3 over estimated classes", Ucrl3Intervals(), SupportPlanner()),
    "imed-rl": Recipe("IMED-RL: an index decides every step; for ergodic worlds", ImedLearner, (OwnIndices(),)),
    "c-imed-rl-c-sigma": Recipe("IMED-RL, given the classes and the profiles", ImedLearner, (ClassIndices(),)),
    "mbie": oblivious("MBIE: model-based interval estimation, for discounted rewards", INTERVALS, DISCOUNTED),
    "c-mbie-c-sigma": given_both(
        "MBIE, given the classes and the profiles",
        INTERVALS,
        DISCOUNTED,
        Doubling(),  # late classes double slowly
    ),
    "c-mbie-c": given_classes("MBIE, given the classes", INTERVALS, DISCOUNTED),
    "c-mbie": estimated("MBIE over estimated classes", INTERVALS, DISCOUNTED, "shared"),
    "q-learning": Recipe("Q-learning, for discounted rewards", QLearner, (OwnSteps(),)),
    "c-q-learning-c-sigma": Recipe(
        "Q-learning, given the classes and the profiles: a step teaches its whole class", QLearner, (SharedSteps(),)
    ),
    "random": Recipe("plays uniformly at random", FixedLearner),
    "optimal": Recipe("plays an optimal policy of the true MDP", FixedLearner, knows_mdp=True),
}
