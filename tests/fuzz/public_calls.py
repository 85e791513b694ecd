"""Every public function and constructor, and the methods of the main objects, each with arguments that make sense."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy, just, sampled_from
from scipy import sparse

import equirl as eq
from equirl import theory
from equirl.clustering import approx_equivalence
from equirl.interop import from_quantecon, from_toolbox, to_quantecon, to_toolbox
from equirl.lab import plots
from equirl.learners import make_settings
from equirl.model import Pairs, rescale_rewards
from equirl.model.mdp import Picture
from equirl.model.rows import Rows
from equirl.posterior import ClassPosterior, class_posterior
from equirl.solving import certified_solution
from equirl.structure import Profiles, misclustering_bias, misclustering_ratio, profile_distance, separation, similar
from equirl.theory import regret_lower_bound
from equirl.words.formatting import shown

FOLDER = Path(tempfile.mkdtemp(prefix="equirl-fuzz-"))
DEEP = FOLDER / "a/b/c/d"  # where a child works: what it is told to write stays inside the folder
LAMP = [("off", "press", {"on": 0.9, "off": 0.1}, 0.0), ("on", "wait", {"on": 1.0}, 1.0)]


@cache
def river() -> eq.TabularMDP:
    return eq.make("riverswim", n_states=4)


@cache
def problems() -> list[eq.TabularMDP]:
    """Small MDPs of every kind: with and without maps, names, uneven actions, random rewards, several chains."""
    lamp = eq.TabularMDP.from_pairs(LAMP, 2, state_names=["off", "on"], action_names=["press", "wait"])
    apart = eq.TabularMDP.from_pairs(
        [(0, 0, {1: 0.5, 2: 0.5}, 0.0), (1, 0, {1: 1.0}, 1.0), (2, 3, {2: 1.0}, 0.2)], 3, reward_law="bernoulli"
    )
    one = eq.TabularMDP.from_arrays([[[1.0]]], [[0.5]], reward_law="beta")
    return [
        river(),
        eq.make("ergodic-riverswim", n_states=3, reward_law="beta"),
        eq.make("grid", map="S.G"),
        lamp,
        apart,
        one,
        eq.make("random", n_states=5, n_actions=2, seed=1),
        eq.make("cycle", n_states=3, reward_law="bernoulli"),
    ]


@cache
def trace() -> Any:
    return eq.simulate(river(), "c-ucrl", 50, checkpoints=5)


@cache
def table() -> Any:
    return eq.simulate_many(river(), ["random", "ucrl2-l"], 30, seeds=[0, 1], checkpoints=3)


@cache
def sampler() -> Any:
    return eq.simulate(river(), "c-psrl", 60).agent


def _opened(**given: Any) -> None:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        eq.open_agent(folder, **given).close()


@dataclass(frozen=True)
class Call:
    """A function, strategies of arguments that make sense, and words by which it may name a culprit."""

    function: Callable[..., Any]
    arguments: dict[str, SearchStrategy] = field(default_factory=dict)
    words: tuple[str, ...] = ()


def optional(*values: Any) -> SearchStrategy:
    return st.one_of(st.none(), *map(just, values))


def of(thing: Callable[[], Any], method: str) -> Callable[..., Any]:
    """A method of something that is made when first needed."""
    return lambda **arguments: getattr(thing(), method)(**arguments)


def one_observation(name: str, state: Any, action: Any, reward: Any, next_state: Any, terminated: Any) -> None:
    agent = eq.make_agent(name, 4, 2, reward_range=(-1, 2))
    agent.act(0)
    agent.observe(state, action, reward, next_state, terminated)


def policy(mdp: Any, policy: Any, discount: Any, everywhere: Any) -> None:
    found = eq.Policy(mdp, policy)
    repr(found), found.gain, found.evaluate(), found.values(discount), found.kind(everywhere=everywhere)
    found.stationary_distribution(), eq.Policy(mdp, found.named_policy() if found.weights.max() == 1 else found.weights)


policy.__name__ = "Policy"


def studied(**given: Any) -> None:
    repr(eq.Study(**given))


studied.__name__ = "Study"


def explained(name: str, state: Any, action: Any) -> None:
    found = eq.agent_for(river(), name).beliefs.explain(state, action)
    str(found), found._repr_html_(), found.table()


def table_of(held: Any, initial: Any) -> Any:
    """An MDP from an environment whose transition table is whatever."""

    class Env:
        P, initial_state_distrib, spec = held, initial, None

        @property
        def unwrapped(self) -> Any:
            return self

    return eq.from_gymnasium(Env())


def program(R: Any, Q: Any, beta: Any, num_states: Any, s_indices: Any, a_indices: Any) -> Any:
    """An MDP from what has the parts of a DiscreteDP."""
    held = dict(locals())
    return from_quantecon(type("DDP", (), held)())


def one_pair(state: Any, action: Any, successor: Any, probability: Any, mean: Any) -> Any:
    rest = [(0, 1, {0: 1.0}, 0.0), (1, 0, {0: 1.0}, 1.0)]
    law = {successor: probability} if isinstance(successor, Hashable) else successor
    return eq.TabularMDP.from_pairs([(state, action, law, mean), *rest], 2)


def given_profiles(ptr: Any, succ: Any, prob: Any, classes: Any) -> Any:
    return eq.make_agent("c-psrl-c-sigma", 2, 1, classes=classes, profiles=Profiles(ptr, succ, prob))


def environment(mdp: Any, render_mode: Any, seed: Any, options: Any, action: Any) -> None:
    env = eq.TabularEnv(mdp, render_mode)
    env.reset(seed=seed, options=options)
    env.step(action)
    env.render()


MDP, PAIR = (
    st.deferred(lambda: sampled_from(problems())),
    st.one_of(st.integers(0, 7), st.tuples(st.integers(0, 3), st.integers(0, 1))),
)
RIVER = st.deferred(lambda: just(river()))
POLICY = st.one_of(
    st.lists(st.integers(0, 1), min_size=4, max_size=4), just(np.full(8, 0.5)), just(dict.fromkeys(range(4), 0))
)
TOLERANCE, RISK, FLAG, SEED = (
    sampled_from([0.0, 1e-9, 0.1, 2.0]),
    sampled_from([0.05, 0.5]),
    st.booleans(),
    st.integers(0, 5),
)
FRACTION = st.floats(0, 1)
LEARNER = st.deferred(lambda: sampled_from(sorted(eq.AGENTS)))
LABELS = st.lists(st.integers(0, 3), min_size=8, max_size=8)
PARTITION = LABELS.map(eq.Partition.from_labels)
COUNTS = {"visits": just([3] * 8), "profile_ptr": just(list(range(9))), "profile_counts": just([3] * 8)}
PATHS = sampled_from([FOLDER / "x.npz", str(FOLDER / "y.png"), FOLDER / "z" / "w.csv", FOLDER / "t.svg"])
NAMES = {"state_names": optional(["a", "b", "c", "d"]), "action_names": optional(["l", "r"])}
EXTRAS = {
    "reward_law": sampled_from(["deterministic", "bernoulli", "beta"]),
    "concentration": sampled_from([0.1, 4.0]),
    "reward_map": just((2.0, -1.0)),
    "name": sampled_from(["", "x"]),
    "discount": optional(0.9),
}
P, R = np.full((4, 2, 4), 0.25), np.full((4, 2), 0.5)
INITIAL = st.one_of(just(0), just([0.25] * 4), just([1, 0, 0, 0]))
T = st.one_of(st.integers(8, 1000), just([10, 100]))
PAIR_WORDS, MDP_WORDS = (
    ("pair", "state", "action"),
    ("state", "action", "mean reward", "initial distribution", "p", "sparse"),
)
LEARNER_WORDS = (
    "learner",
    "setting",
    "settings",
    "classes",
    "profiles",
    "order",
    "with these settings",
    "mean reward",
    "labels",
    "label",
)
GAIN_WORDS = ("gain", "kind", "tolerance", "ergodic")

OUTCOMES = [[(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]]
CALLS: dict[str, Call] = {
    "from_gymnasium table": Call(
        table_of,
        {
            "held": sampled_from(
                [{0: dict(enumerate(OUTCOMES)), 1: dict(enumerate(OUTCOMES))}, [OUTCOMES, OUTCOMES], [[[]], [[]]]]
            ),
            "initial": just([0.5, 0.5]),
        },
        (*MDP_WORDS, "P", "table", "env", "transition table"),
    ),
    "from_quantecon parts": Call(
        program,
        {
            "R": just(np.full((2, 2), 0.5)),
            "Q": just(np.full((2, 2, 2), 0.5)),
            "beta": sampled_from([0.9, 1]),
            "num_states": just(2),
            "s_indices": st.none(),
            "a_indices": st.none(),
        },
        (*MDP_WORDS, "ddp", "discount", "rewards", "transitions", "ptr"),
    ),
    "from_pairs entry": Call(
        one_pair,
        {
            "state": just(0),
            "action": just(0),
            "successor": sampled_from([0, 1]),
            "probability": just(1.0),
            "mean": FRACTION,
        },
        (*MDP_WORDS, "pairs", "pair"),
    ),
    "profiles given": Call(
        given_profiles,
        {
            "ptr": just([0, 1, 2]),
            "succ": just([0, 0]),
            "prob": just([1.0, 1.0]),
            "classes": sampled_from([[0, 0], [0, 1]]),
        },
        ("profile", "profiles", *LEARNER_WORDS, *MDP_WORDS),
    ),
    "trace name": Call(
        lambda name: getattr(trace(), shown(name)),
        {"name": sampled_from(["regret", "n_classes", "nonsense"])},
        ("trace", "attribute"),
    ),
    "equivalence_classes": Call(eq.equivalence_classes, {"mdp": MDP, "rewards": FLAG, "tolerance": TOLERANCE}),
    "separation": Call(separation, {"mdp": MDP, "tolerance": TOLERANCE}),
    "profiles": Call(eq.profiles, {"mdp": MDP}),
    "profile": Call(of(lambda: eq.profiles(river()), "profile"), {"pair": st.integers(0, 7)}),
    "profile order": Call(of(lambda: eq.profiles(river()), "order"), {"pair": st.integers(0, 7)}),
    "profile_distance": Call(
        profile_distance,
        {"mdp": RIVER, "pair": PAIR, "other": PAIR, "contrast": sampled_from(["l1", "squared", "kl"])},
        PAIR_WORDS,
    ),
    "similar": Call(
        similar, {"mdp": RIVER, "pair": PAIR, "other": PAIR, "eps_p": FRACTION, "eps_mu": FRACTION}, PAIR_WORDS
    ),
    "solve": Call(
        eq.solve,
        {
            "mdp": MDP,
            "accuracy": sampled_from([1e-8, 0.1]),
            "method": sampled_from(["auto", "policy", "value"]),
            "max_sweeps": st.integers(1, 500),
            "multichain": FLAG,
            "discount": optional(0.5, 0.0),
        },
        GAIN_WORDS,
    ),
    "certified_solution": Call(certified_solution, {"mdp": MDP, "within": sampled_from([1e-6, 0.5])}, GAIN_WORDS),
    "diameter": Call(eq.diameter, {"mdp": MDP, "max_states": st.integers(1, 10)}),
    "chain_kind": Call(eq.chain_kind, {"mdp": MDP, "everywhere": FLAG}),
    "Policy": Call(policy, {"mdp": RIVER, "policy": POLICY, "discount": sampled_from([0.5]), "everywhere": FLAG}),
    "regret_lower_bound": Call(
        regret_lower_bound,
        {"mdp": MDP, "classes": st.none() | PARTITION, "tolerance": sampled_from([1e-8, 0.1])},
        GAIN_WORDS,
    ),
    "rescale_rewards": Call(rescale_rewards, {"rewards": st.lists(st.floats(-9, 9), min_size=1)}),
    "misclustering_ratio": Call(
        misclustering_ratio,
        {"partition": PARTITION, "truth": PARTITION, "visits": just([3] * 8), "priority": optional(list(range(8)))},
    ),
    "misclustering_bias": Call(
        misclustering_bias,
        {"partition": PARTITION, "truth": PARTITION, **COUNTS, "successors": optional([0] * 8)},
        ("pair", "counts"),
    ),
    "approx_equivalence": Call(
        approx_equivalence,
        {
            **COUNTS,
            "n_states": st.integers(1, 9),
            "r_sum": optional([1.0] * 8),
            "priority": optional(list(range(8))),
            "given": optional([0] * 8),
            "delta": RISK,
            "balance": sampled_from([1.5, 4.0]),
            "radius": sampled_from(["pooled", "theory"]),
            "merge_rule": sampled_from(["balanced", "nearest"]),
            "nearest_by": sampled_from(["law", "law_and_mean"]),
        },
        ("pair", "labels", "label"),
    ),
    "make": Call(
        eq.make,
        {
            "name": sampled_from(["riverswim", "ergodic-riverswim"]),
            "n_states": st.integers(2, 9),
            "forward": sampled_from([0.3, 0.4]),
            "reward_law": sampled_from(["beta", "bernoulli"]),
            "concentration": sampled_from([1.0, 4.0]),
            "shuffle": optional(3),
            "preset": sampled_from(["figures", "drawing"]),
        },
        ("world",),
    ),
    "make grid": Call(
        eq.make,
        {
            "name": just("grid"),
            "map": sampled_from(["S.G", ["S.", ".G"]]),
            "walls_are_states": FLAG,
            "goal_reward": FRACTION,
            "kernel": sampled_from(["main", "appendix", (0.8, 0.05, 0.1)]),
        },
        ("world", "cell", "row"),
    ),
    "make random": Call(
        eq.make,
        {"name": sampled_from(["random"]), "n_states": st.integers(2, 9), "n_actions": st.integers(1, 3), "seed": SEED},
        ("world", "branching"),
    ),
    "make planted": Call(
        eq.make,
        {
            "name": just("planted"),
            "n_states": st.integers(2, 9),
            "n_actions": st.integers(1, 3),
            "n_classes": st.integers(1, 4),
            "seed": SEED,
        },
        ("world", "separation", "classes", "support"),
    ),
    "make rooms": Call(
        eq.make,
        {
            "name": sampled_from(["four-room", "two-room", "random-walls"]),
            "height": st.integers(5, 9),
            "width": st.integers(5, 9),
        },
        ("world",),
    ),
    "make others": Call(
        eq.make,
        {"name": sampled_from(["frozen-lake", "cliff-walking", "two-kinds-river", "access-control", "cycle"])},
        ("world",),
    ),
    "load_world": Call(
        eq.load_world,
        {"text": sampled_from(["riverswim:n_states=4", "grid:map=S.G", "two-room", str(FOLDER / "no.npz")])},
        ("world", "parameter", "not parameter=value", "map", "n_states"),
    ),
    "load_agent": Call(eq.load_agent, {"path": sampled_from([str(FOLDER / "no.npz"), FOLDER])}, ("directory",)),
    "from_arrays": Call(
        eq.TabularMDP.from_arrays,
        {
            "transitions": st.one_of(just(P), just([sparse.csr_array(np.eye(4))] * 2)),
            "rewards": st.one_of(just(R), just([0.5] * 4)),
            "initial": INITIAL,
            "normalize": FLAG,
            **NAMES,
            **EXTRAS,
        },
        MDP_WORDS,
    ),
    "from_pairs": Call(
        eq.TabularMDP.from_pairs,
        {
            "pairs": just([(0, 0, {0: 0.5, 1: 0.5}, 0.5), (1, 3, {0: 1.0}, 1.0)]),
            "n_states": just(2),
            "initial": sampled_from([0, 1]),
            "normalize": FLAG,
            **EXTRAS,
        },
        MDP_WORDS,
    ),
    "from_rows": Call(
        eq.TabularMDP.from_rows,
        {
            "transitions": sampled_from(
                [P.reshape(8, 4), sparse.csr_array(P.reshape(8, 4)), (list(range(9)), [0] * 8, [1.0] * 8)]
            ),
            "rewards": just([0.5] * 8),
            "actions": sampled_from([2, [2, 2, 2, 2]]),
            "initial": INITIAL,
            "normalize": FLAG,
            **EXTRAS,
        },
        (*MDP_WORDS, "ptr", "succ", "prob"),
    ),
    "TabularMDP": Call(
        eq.TabularMDP,
        {
            "pairs": just(Pairs.uniform(4, 2)),
            "rows": just(Rows(np.arange(9), np.zeros(8, int), np.ones(8))),
            "r_mean": just([0.5] * 8),
            "initial": just([1.0, 0, 0, 0]),
            "picture": optional(Picture(("....",), np.zeros((4, 2), int))),
            **EXTRAS,
        },
        MDP_WORDS,
    ),
    "Rows": Call(
        lambda ptr, succ, prob: eq.TabularMDP(Pairs.uniform(4, 2), Rows(ptr, succ, prob), [0.5] * 8, [1.0, 0, 0, 0]),
        {"ptr": just(np.arange(9)), "succ": just([0] * 8), "prob": just([1.0] * 8)},
        (*MDP_WORDS, "rows", "successors"),
    ),
    "Picture": Call(
        lambda rows, cell: plots.draw_policy(
            eq.TabularMDP(
                Pairs.uniform(4, 2),
                Rows(np.arange(9), np.zeros(8, int), np.ones(8)),
                [0.5] * 8,
                [1.0, 0, 0, 0],
                picture=Picture(rows, cell),
            ),
            [0] * 4,
        ),
        {"rows": just(("S..G",)), "cell": just([[0, 0], [0, 1], [0, 2], [0, 3]])},
        ("picture",),
    ),
    "Pairs": Call(
        Pairs,
        {
            "ptr": just([0, 2, 3]),
            "action": just([0, 1, 5]),
            "state_names": optional(("a", "b")),
            "action_names": optional(tuple("abcdef")),
        },
        ("state", "action", "pairs"),
    ),
    "Pairs.uniform": Call(Pairs.uniform, {"n_states": st.integers(1, 4), "n_actions": sampled_from([2, [1, 2]])}),
    "Pairs.index": Call(
        of(lambda: river().pairs, "index"), {"state": st.integers(0, 3), "action": sampled_from([0, 1])}
    ),
    "Pairs.allowed": Call(of(lambda: river().pairs, "allowed"), {"state": st.integers(0, 3)}),
    "Pairs.describe": Call(of(lambda: river().pairs, "describe"), {"pair": st.integers(0, 7)}),
    "transition_probabilities": Call(
        of(river, "transition_probabilities"), {"state": st.integers(0, 3), "action": sampled_from([0, 1])}
    ),
    "mean_reward": Call(of(river, "mean_reward"), {"state": st.integers(0, 3), "action": sampled_from([0, 1])}),
    "permute": Call(
        of(river, "permute"),
        {"states": optional([1, 0, 3, 2]), "actions": optional([1, 0], [[0, 1], [1, 0], [0, 1], [1, 0]])},
        ("state", "action"),
    ),
    "shuffled": Call(of(river, "shuffled"), {"seed": SEED}),
    "mdp.save": Call(of(river, "save"), {"path": PATHS}),
    "TabularMDP.load": Call(eq.TabularMDP.load, {"path": PATHS}),
    "Partition": Call(eq.Partition, {"label": just([0, 1, 0, 2])}),
    "Partition.from_labels": Call(eq.Partition.from_labels, {"labels": st.one_of(LABELS, just("abca"))}),
    "Partition.singletons": Call(eq.Partition.singletons, {"n_pairs": st.integers(0, 9)}),
    "Partition.from_json": Call(
        eq.Partition.from_json,
        {"text": sampled_from(['{"kind": "partition", "label": [0, 1]}', "{}"])},
        ("partition", "label"),
    ),
    "Partition.members": Call(
        of(lambda: eq.Partition.from_labels("aab"), "members"), {"label": sampled_from([0, 1])}, ("class",)
    ),
    "Partition.restrict": Call(
        of(lambda: eq.Partition.from_labels("aab"), "restrict"),
        {"pairs": sampled_from([[0, 2], [True, False, True]])},
        ("pair",),
    ),
    "Partition.refines": Call(
        of(lambda: eq.Partition.from_labels("aab"), "refines"),
        {"other": just(eq.Partition.from_labels("abb"))},
        ("partition",),
    ),
    "simulate": Call(
        eq.simulate,
        {
            "mdp": MDP,
            "agent": sampled_from(["c-ucrl", "ucrl2-l", "random", "psrl"]),
            "horizon": st.integers(1, 40),
            "seed": SEED,
            "checkpoints": sampled_from([3, "log", 200]),
            "measure_clustering": FLAG,
            "callback": optional(lambda agent: None),
            "world_seed": optional(1),
            "gain": optional(0.5),
            "epsilon": sampled_from([0.01]),
        },
        (*LEARNER_WORDS, *GAIN_WORDS, "initial"),
    ),
    "simulate discounted": Call(
        eq.simulate,
        {
            "mdp": RIVER,
            "agent": sampled_from(["mbie", "q-learning"]),
            "horizon": st.integers(1, 40),
            "epsilon": sampled_from([0.01, 0.5]),
        },
        (*LEARNER_WORDS, *GAIN_WORDS),
    ),
    "evaluate": Call(
        eq.evaluate,
        {
            "policy": POLICY,
            "env": RIVER,
            "steps": st.integers(1, 20),
            "seed": SEED,
            "encoder": st.none(),
            "progress": sampled_from([False, lambda done, total: None]),
        },
        (*PAIR_WORDS, "policy", "a policy"),
    ),
    "Study": Call(
        studied,
        {
            "worlds": sampled_from([["riverswim:n_states=4"], "cycle", {"one": "riverswim"}]),
            "agents": sampled_from([["random"], "psrl", {"mine": ("psrl", {})}]),
            "runs": st.integers(1, 3),
            "horizon": st.integers(5, 20),
            "seed": SEED,
            "checkpoints": sampled_from([1, 5, "log"]),
            "common_random_numbers": FLAG,
        },
        ("world", "worlds", "study", "label", "learners", *LEARNER_WORDS),
    ),
    "simulate_many": Call(
        eq.simulate_many,
        {
            "mdp": RIVER,
            "learners": sampled_from([["random"], ["random", ("ucrl2-l", {"delta": 0.1})], {"a": "optimal"}]),
            "horizon": st.integers(1, 20),
            "seeds": sampled_from([range(2), [5]]),
            "jobs": just(1),
            "checkpoints": sampled_from([2, "log"]),
            "common_random_numbers": FLAG,
            "progress": sampled_from([False, lambda done, total: None]),
        },
        (*LEARNER_WORDS, "seed", *GAIN_WORDS),
    ),
    "make_agent": Call(
        eq.make_agent,
        {
            "name": sampled_from(["c-ucrl", "ucrl2-l", "c-ucrl-c", "c-psrl-c-sigma"]),
            "n_states": just(4),
            "n_actions": sampled_from([2, [2] * 4]),
            "seed": SEED,
            "classes": optional([0] * 8),
            "profiles": st.deferred(lambda: sampled_from([None, eq.profiles(river())])),
            "order": optional([[0, 1]] * 8, lambda state, action: [state]),
            "mean_rewards": optional([0.5] * 8),
            "reward_range": sampled_from([(0, 1), (-5.0, 9.0)]),
        },
        LEARNER_WORDS,
    ),
    "open_agent": Call(
        _opened,
        {
            "agent": sampled_from(["c-ucrl", "q-learning"]),
            "sync": sampled_from(["os", "second", 5]),
            "snapshot_every": st.integers(1, 50),
            "archive": FLAG,
            "strict": FLAG,
            "n_states": just(4),
            "n_actions": just(2),
        },
        LEARNER_WORDS,
    ),
    "agent_for": Call(
        eq.agent_for,
        {
            "mdp": MDP,
            "name": LEARNER,
            "seed": SEED,
            "classes": optional([0] * 8),
            "order": optional([[0, 1]] * 8, lambda state, action: [state]),
            "tolerance": sampled_from([1e-9, "auto", 0.1]),
        },
        LEARNER_WORDS,
    ),
    "make_settings": Call(
        make_settings,
        {
            "name": sampled_from(["c-ucrl", "ucrl2-l"]),
            "delta": RISK,
            "warm_start": FLAG,
            "threads": sampled_from([1, 2]),
            "max_sweeps": sampled_from([10]),
            "effort": sampled_from([1.0, float("inf")]),
            "action_ties": sampled_from(["first", "random"]),
        },
        LEARNER_WORDS,
    ),
    "register_learner": Call(
        eq.register_learner,
        {"name": sampled_from(["fuzzed"]), "recipe": just(eq.Recipe("nothing", lambda blueprint: None))},
        LEARNER_WORDS,
    ),
    "Recipe": Call(
        eq.Recipe,
        {"description": just("x"), "build": just(len), "parts": just(()), "knows_mdp": FLAG},
        ("recipe", "part", "parts"),
    ),
    "observe": Call(
        one_observation,
        {
            "name": LEARNER,
            "state": st.integers(0, 3),
            "action": sampled_from([0, 1]),
            "reward": st.floats(-1, 2),
            "next_state": st.integers(0, 3),
            "terminated": FLAG,
        },
        (*LEARNER_WORDS, "true MDP"),
    ),
    "class_posterior": Call(
        class_posterior,
        {
            "agent": st.deferred(lambda: just(sampler())),
            "draws": st.integers(1, 3),
            "passes": st.integers(1, 2),
            "seed": SEED,
        },
        ("posterior",),
    ),
    "explain": Call(
        explained,
        {"name": LEARNER, "state": st.integers(0, 3), "action": optional(0, 1)},
        (*PAIR_WORDS, *LEARNER_WORDS),
    ),
    "ClassPosterior.alike": Call(
        of(lambda: class_posterior(sampler(), 2), "alike"), {"pair": PAIR, "other": PAIR}, PAIR_WORDS
    ),
    "ClassPosterior.matrix": Call(
        of(lambda: class_posterior(sampler(), 2), "matrix"), {"pairs": optional([0, (1, 1)])}, PAIR_WORDS
    ),
    "ClassPosterior": Call(
        lambda pairs, labels, reward_tables: repr(ClassPosterior(pairs, labels, reward_tables)),
        {
            "pairs": just(Pairs.uniform(2, 2)),
            "labels": just([[0, 1, 1, -1]]),
            "reward_tables": optional([[0, 0, 0, 0]]),
        },
    ),
    "trace.plot": Call(of(trace, "plot"), {"measure": sampled_from(["regret", "n_classes"])}),
    "table.final": Call(of(table, "final"), {"curve": sampled_from(["regret", "reward"])}, ("column",)),
    "table.plot": Call(of(table, "plot"), {"measure": sampled_from(["regret", "reward"])}),
    "table.to_csv": Call(of(table, "to_csv"), {"path": PATHS}),
    "table[...]": Call(lambda name: table()[name], {"name": sampled_from(["regret", "t"])}, ("column",)),
    "curves.at": Call(
        lambda name, t: trace().curves.at(name, t),
        {"name": just("regret"), "t": sampled_from([5, 50])},
        ("curve", "time", "measure"),
    ),
    "curves.quantile": Call(
        lambda name, q: trace().curves.quantile(name, q),
        {"name": just("regret"), "q": FRACTION},
        ("curve", "measure", "quantile"),
    ),
    "curves[...]": Call(
        lambda name: trace().curves[name], {"name": sampled_from(["regret", "t"])}, ("curve", "measure")
    ),
    "draw_classes": Call(plots.draw_classes, {"mdp": RIVER, "partition": PARTITION, "title": optional("x")}, ("MDP",)),
    "draw_policy": Call(plots.draw_policy, {"mdp": RIVER, "policy": POLICY, "title": optional("x")}),
    "save_figure": Call(
        plots.save_figure,
        {
            "figure": st.deferred(lambda: just(plots.draw_policy(river(), [0] * 4))),
            "path": PATHS,
            "dpi": sampled_from([20, 40]),
        },
        ("format",),
    ),
    "theorem1_bound": Call(
        theory.theorem1_bound,
        {"D": st.floats(1, 99), "S": st.integers(1, 9), "C": st.integers(1, 8), "T": T, "delta": RISK},
    ),
    "ucrl2_bound": Call(
        theory.ucrl2_bound,
        {"D": st.floats(1, 99), "S": st.integers(1, 9), "A": st.integers(1, 8), "T": T, "delta": RISK},
    ),
    "n_episodes_bound": Call(theory.n_episodes_bound, {"C": st.integers(1, 8), "T": T}),
    "azuma_width": Call(theory.azuma_width, {"T": T, "delta": RISK, "c": st.floats(0.1, 9)}),
    "proposition1_samples": Call(
        theory.proposition1_samples,
        {"separation": st.floats(0.01, 2), "n_states": st.integers(1, 9), "n_pairs": st.integers(1, 9), "delta": RISK},
    ),
    "from_toolbox": Call(
        from_toolbox,
        {
            "transitions": sampled_from([np.full((2, 4, 4), 0.25), [sparse.csr_array(np.eye(4))] * 2]),
            "rewards": sampled_from([R, np.full((2, 4, 4), 3.0), [1.0] * 4]),
            "initial": INITIAL,
            "rescale": FLAG,
        },
        MDP_WORDS,
    ),
    "to_toolbox": Call(to_toolbox, {"mdp": MDP, "sparse": FLAG}, ("states",)),
    "to_quantecon": Call(to_quantecon, {"mdp": MDP, "discount": optional(0.5)}),
    "from_quantecon": Call(
        from_quantecon,
        {
            "ddp": st.deferred(lambda: just(to_quantecon(river(), 0.9))),
            "initial": INITIAL,
            "rescale": FLAG,
            "normalize": FLAG,
            "reward_law": EXTRAS["reward_law"],
            "name": EXTRAS["name"],
        },
        MDP_WORDS,
    ),
    "from_gymnasium": Call(
        eq.from_gymnasium,
        {
            "env": st.deferred(
                lambda: sampled_from([gymnasium.make("equirl/RiverSwim-v0"), gymnasium.make("CliffWalking-v1")])
            ),
            "on_terminal": sampled_from(["restart", "absorb", "error"]),
            "initial": optional(0),
            "drop_unreachable": optional(True, False),
            "normalize": FLAG,
            "seed": SEED,
            "reward_law": optional("beta"),
            "name": optional("x"),
        },
        (*MDP_WORDS, "episode"),
    ),
    "TabularEnv": Call(
        environment,
        {
            "mdp": st.one_of(MDP, just("riverswim:n_states=4")),
            "render_mode": optional("ansi"),
            "seed": optional(1),
            "options": optional({}, {"state": 0}),
            "action": just(0),
        },
        ("render mode", "world", "state", "action", "parameter"),
    ),
}
