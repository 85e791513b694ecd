"""The learners of the package: a grid of families by what they are given of classes, and a few outside it.

A family is a row of :data:`FAMILIES`; the names of its learners, lists of learners and the leaderboard follow from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from equirl.learners.baselines import FixedLearner
from equirl.learners.contract import Learner
from equirl.learners.estimates import EmpiricalPool, GivenProfilePool, OwnEstimate
from equirl.learners.imed import ClassIndices, ImedLearner, OwnIndices
from equirl.learners.model_sets import BernsteinIntervals, JakschBalls, KLBalls, LaplaceBalls, Ucrl3Intervals
from equirl.learners.optimistic import OptimisticLearner, OptimisticParts
from equirl.learners.parts import AUTO, Models, Part, Planner, RewardPrior, RowPrior, Stopping
from equirl.learners.planners import OptimisticPlanner, SupportPlanner
from equirl.learners.posterior_sampling import DrawnPlanner, EpisodeLengths, PosteriorLearner, PosteriorParts
from equirl.learners.published_learner import PublishedClasses, PublishedPool
from equirl.learners.q_learning import OwnSteps, QLearner, SharedSteps
from equirl.learners.recipes import COLUMNS, Recipe
from equirl.learners.stopping import ClassDoubling, Doubling, PairDoubling, VanishingRule
from equirl.learners.structures import EstimatedClasses, GivenClasses, GivenProfiles, NoStructure
from equirl.posterior.reward_priors import ClassRewards, DrawnRewards
from equirl.posterior.row_priors import ClassRows, DirichletRows, GivenClassRows, GivenProfileRows, PublishedRows

THRIFTY = 1e5  # effort of learners that cluster: on small problems nothing changes, on large ones they plan less
RECOMMENDED = "c-psrl"  # what to take where nothing is given
SUFFIXES = dict(zip(COLUMNS, ("", "", "-c", "-c-sigma"), strict=True))

USUAL_WORDS = ("{} over estimated classes", "{}, given the classes", "{}, given the classes and the profiles")

Parts = tuple[Part, ...]


@dataclass(frozen=True)
class Family:
    """One way of learning, by what is given of classes: a row of the grid whose columns are ``COLUMNS``."""

    name: str  # of the learner that treats every pair on its own
    about: str  # what that one is
    build: Callable[..., Learner]
    parts: tuple[Parts | None, ...]  # by column; None, or fewer: there is no such learner
    others: str = ""  # what names of learners with classes begin with, where it is not "c-" and the name
    words: tuple[str, ...] = USUAL_WORDS
    ergodic_only: bool = False  # for worlds in which every policy visits every state

    def learners(self) -> dict[str, str]:
        """The name of each learner, by column."""
        begin = self.others or f"c-{self.name}"
        found = {}
        for column, parts in zip(COLUMNS, self.parts, strict=False):
            if parts is not None:
                found[column] = self.name if column == COLUMNS[0] else begin + SUFFIXES[column]
        return found

    def recipes(self) -> dict[str, Recipe]:
        title = self.about.partition(":")[0]
        words = dict(zip(COLUMNS, (self.about, *(text.format(title) for text in self.words)), strict=True))
        parts = dict(zip(COLUMNS, self.parts, strict=False))
        return {name: Recipe(words[c], self.build, parts[c] or ()) for c, name in self.learners().items()}

    @property
    def discounted(self) -> bool:
        """Whether rewards to come are discounted by default."""
        return Recipe("", self.build, self.parts[0] or ()).defaults().get("discount", 1.0) < 1.0


def own(models: Models, planner: Planner, stopping: Stopping) -> Parts:
    return OptimisticParts(NoStructure(), OwnEstimate(), models, planner, stopping)


def optimistic(
    models: Models, planner: Planner, rewards: str = "per_pair", last: Stopping | None = None
) -> tuple[Parts, ...]:
    thrifty = Doubling(effort=THRIFTY)
    return (
        own(models, planner, PairDoubling()),
        OptimisticParts(EstimatedClasses(), EmpiricalPool(rewards), models, planner, thrifty),
        OptimisticParts(GivenClasses(), EmpiricalPool(AUTO), models, planner, thrifty),
        OptimisticParts(GivenProfiles(), GivenProfilePool(), models, planner, last or ClassDoubling()),
    )


def drawn(rows: RowPrior, rewards: RewardPrior) -> Parts:
    return PosteriorParts(rows, rewards, DrawnPlanner(), EpisodeLengths())


PLAIN = OptimisticPlanner()
WARM = OptimisticPlanner(warm_start=True)  # where a sweep is dear
DISCOUNTED = OptimisticPlanner(discount=0.95)
BY_VARIANCE = LaplaceBalls(reward_bound="variance")

FAMILIES = (
    Family("ucrl2", "UCRL2 (Jaksch et al. 2010)", OptimisticLearner, (own(JakschBalls(), PLAIN, PairDoubling()),)),
    Family(
        "ucrl2-l",
        "UCRL2 with Laplace bounds; knows nothing of classes",
        OptimisticLearner,
        optimistic(LaplaceBalls(), PLAIN),
        "c-ucrl",
        (
            "C-UCRL: given nothing, estimates classes and profiles",
            "C-UCRL(C): given the classes, estimates the profiles",
            "C-UCRL(C,sigma): given the classes and the profiles",
        ),
    ),
    Family(
        "ucrl2-l-vm",
        "UCRL2-L that plans ever more often: the vanishing multiplicative rule",
        OptimisticLearner,
        (own(LaplaceBalls(), PLAIN, VanishingRule()),),
    ),
    Family(
        "ucrl2-b",
        "UCRL2-B: element-wise Bernstein intervals",
        OptimisticLearner,
        optimistic(BernsteinIntervals(), PLAIN),
    ),
    Family("kl-ucrl", "KL-UCRL: Kullback-Leibler balls", OptimisticLearner, optimistic(KLBalls(), WARM)),
    Family(
        "ucrl3",
        "UCRL3: tighter intervals on growing supports",
        OptimisticLearner,
        optimistic(Ucrl3Intervals(), SupportPlanner()),
    ),
    Family(
        "imed-rl",
        "IMED-RL: an index decides every step; for ergodic worlds",
        ImedLearner,
        ((OwnIndices(),), None, None, (ClassIndices(),)),
        ergodic_only=True,
    ),
    Family(
        "psrl",
        "PSRL: draws an MDP, each pair on its own",
        PosteriorLearner,
        (
            drawn(DirichletRows(), DrawnRewards(rewards="per_pair")),
            drawn(ClassRows(), DrawnRewards()),
            drawn(GivenClassRows(), ClassRewards()),
            drawn(GivenProfileRows(), ClassRewards()),
        ),
        words=(
            "C-PSRL: given nothing, draws classes and an MDP; take this",
            "C-PSRL(C): given the classes, draws an MDP",
            "C-PSRL(C,sigma): given the classes and the profiles, draws an MDP",
        ),
    ),
    Family(
        "psrl-published",
        "PSRL as published: takes all rewards for coins, and any state for reachable",
        PosteriorLearner,
        (drawn(PublishedRows(), DrawnRewards(rewards="per_pair", reward_noise="coin")),),
    ),
    Family(
        "mbie",
        "MBIE: model-based interval estimation, for discounted rewards",
        OptimisticLearner,
        optimistic(BY_VARIANCE, DISCOUNTED, "shared", Doubling()),  # late classes double slowly
    ),
    Family(
        "q-learning",
        "Q-learning, for discounted rewards",
        QLearner,
        ((OwnSteps(),), None, None, (SharedSteps(),)),
        words=("", "", "Q-learning, given the classes and the profiles: a step teaches its whole class"),
    ),
)

REFERENCES = {  # what the others are compared with
    "c-ucrl-published": Recipe(
        "C-UCRL with the unstated choices of the published program",
        OptimisticLearner,
        OptimisticParts(
            PublishedClasses(priority="index"),
            PublishedPool("per_class", "index"),
            LaplaceBalls(),
            OptimisticPlanner(action_ties="first"),
            Doubling("class"),
        ),
    ),
    "random": Recipe("plays uniformly at random", FixedLearner),
    "optimal": Recipe("plays an optimal policy of the true MDP", FixedLearner, knows_mdp=True),
}

ROWS = {name: recipe for family in FAMILIES for name, recipe in family.recipes().items()} | REFERENCES
