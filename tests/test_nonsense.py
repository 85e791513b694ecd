"""Nonsense in place of each argument of each public function: an error that names the culprit."""

import inspect
import math
import os
import re
import tempfile
from fractions import Fraction
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import equirl as eq
from equirl import theory
from equirl.clustering import approx_equivalence
from equirl.interop import GymSimulator, from_quantecon, from_toolbox, to_quantecon, to_toolbox
from equirl.lab import plots
from equirl.learners import OptimisticPlanner, make_settings
from equirl.model import Pairs, rescale_rewards
from equirl.model.mdp import Picture
from equirl.model.rows import Rows
from equirl.posterior import ClassPosterior, class_posterior
from equirl.simulation.trace import checkpoint_times
from equirl.solving import certified_solution
from equirl.structure import Profiles, misclustering_bias, misclustering_ratio, profile_distance, separation, similar

RIVER = eq.make("riverswim", n_states=4)
M = RIVER.n_pairs
ARRAYS, CLASSES, POLICY = RIVER.to_arrays(), eq.equivalence_classes(RIVER), eq.solve(RIVER).policy
FIGURE, TRACE = plots.draw_policy(RIVER, POLICY), eq.simulate(RIVER, "c-psrl", 20)
TABLE = eq.simulate_many(RIVER, ["random"], 9, seeds=[0])
DRAWN = class_posterior(TRACE.agent, 2)
LAKE, NUMBERS = gymnasium.make("FrozenLake-v1"), eq.Encoder.of([1, 2])
STEPS = [("a", 0, 0.0, "b"), ("b", 0, 1.0, "a")]
COUNTS = {"visits": [3] * M, "profile_ptr": np.arange(M + 1), "profile_counts": [3] * M}


def opened(**given):
    with tempfile.TemporaryDirectory() as folder:
        eq.open_agent(folder, **given).close()


opened.func = eq.open_agent  # whose flags are among the arguments


def from_program(ddp, **given):
    return from_quantecon(to_quantecon(RIVER, 0.5) if ddp is None else ddp, **given)


from_program.func = from_quantecon


def observe(**step):
    agent = eq.make_agent("c-ucrl", 4, 2)
    agent.act(0)
    agent.observe(**step)


def saving(save):
    """Save runs; a text would be a folder, and makes sense."""
    if save is None:
        with tempfile.TemporaryDirectory() as folder:
            eq.simulate_many(RIVER, ["random"], 9, [0], save=folder)
    else:
        eq.simulate_many(RIVER, ["random"], 9, [0], save="\0" if isinstance(save, str) else save)


def reset(**arguments):
    eq.TabularEnv(RIVER).reset(**arguments)


class Environment:
    """One with two states and two actions, which gives back whatever it was told to."""

    observation_space = action_space = spaces.Discrete(2)

    def __init__(self, begin=(0, {}), answer=(1, 0.5, False, False, {})):
        self.unwrapped, self.begin, self.answer = self, begin, answer

    def reset(self, seed=None):
        return self.begin

    def step(self, action):
        return self.answer


def with_picture(**fields):
    eq.TabularMDP(RIVER.pairs, RIVER.rows, RIVER.r_mean, RIVER.initial, picture=Picture(**fields))


def with_rows(**fields):
    eq.TabularMDP(RIVER.pairs, Rows(**fields), RIVER.r_mean, RIVER.initial)


def with_profiles(**fields):
    eq.make_agent("c-psrl-c-sigma", 4, 2, classes=CLASSES, profiles=Profiles(**fields))


def fitted(**settings):
    eq.LogPolicy(**settings).fit(STEPS)


CALLS = {
    "chain_kind everywhere": (eq.chain_kind, {"mdp": RIVER, "everywhere": True}),
    "Policy.kind": (eq.Policy(RIVER, POLICY).kind, {"everywhere": True}),
    "Policy.values": (eq.Policy(RIVER, POLICY).values, {"discount": 0.5}),
    "solve multichain": (eq.solve, {"mdp": RIVER, "multichain": False, "discount": 0.5}),
    "certified_solution": (certified_solution, {"mdp": RIVER, "within": 0.1}),
    "simulate again": (
        eq.simulate,
        {"mdp": RIVER, "agent": "c-ucrl", "horizon": 9, "callback": repr, "world_seed": 1, "epsilon": 0.1}
        | {"checkpoints": 3, "measure_clustering": False, "progress": max},
    ),
    "solve goal": (eq.solve, {"mdp": RIVER, "goal": 0, "maximise": True}),
    "evaluate": (
        eq.evaluate,
        {"policy": POLICY, "env": eq.TabularEnv(RIVER), "steps": 3, "progress": max, "seed": 0, "encoder": None},
    ),
    "Study": (
        eq.Study,
        {"worlds": ["riverswim"], "agents": ["random"], "runs": 1, "horizon": 9, "seed": 0, "checkpoints": 3}
        | {"common_random_numbers": True},
    ),
    "LogPolicy": (fitted, {"costs": False, "draws": 1, "caution": 0.0, "discount": 0.5, "seed": 0}),
    "simulate_many again": (
        eq.simulate_many,
        {"mdp": RIVER, "learners": ["random"], "horizon": 9, "jobs": 1, "common_random_numbers": True, "checkpoints": 3}
        | {"progress": max},
    ),
    "simulate_many saved": (saving, {"save": None}),
    "threads": (make_settings, {"name": "ucrl2-l", "threads": 2, "discount": 0.5, "max_sweeps": 9}),
    "planner": (OptimisticPlanner, {"warm_start": True, "max_sweeps": 9, "threads": 2, "discount": 0.5}),
    "profile": (eq.profiles(RIVER).profile, {"pair": 0}),
    "order": (eq.profiles(RIVER).order, {"pair": 0}),
    "allowed": (RIVER.pairs.allowed, {"state": 0}),
    "describe": (RIVER.pairs.describe, {"pair": 0}),
    "refines": (CLASSES.refines, {"other": CLASSES}),
    "restrict": (CLASSES.restrict, {"pairs": [0, 1]}),
    "members": (CLASSES.members, {"label": 0}),
    "class_posterior": (class_posterior, {"agent": TRACE.agent, "draws": 1, "passes": 1, "seed": 0}),
    "alike": (DRAWN.alike, {"pair": 0, "other": (1, 1)}),
    "matrix": (DRAWN.matrix, {"pairs": [0, 1]}),
    "ClassPosterior": (ClassPosterior, {"pairs": RIVER.pairs, "labels": [[0] * M], "reward_tables": [[0] * M]}),
    "Recipe": (partial(eq.Recipe, "x"), {"build": len, "parts": (), "knows_mdp": False}),
    "quantile": (TRACE.curves.quantile, {"name": "regret", "q": 0.5}),
    "at": (TRACE.curves.at, {"name": "regret", "time": 5}),
    "final": (TABLE.final, {"curve": "regret"}),
    "plot": (TABLE.plot, {"measure": "regret"}),
    "draw_classes": (plots.draw_classes, {"mdp": RIVER, "partition": CLASSES}),
    "draw_policy": (plots.draw_policy, {"mdp": RIVER, "policy": POLICY}),
    "save_figure": (plots.save_figure, {"figure": FIGURE, "dpi": 20, "path": os.devnull + ".png"}),
    "reset": (reset, {"seed": 1}),
    "picture": (with_picture, {"rows": ("....",), "cell": [[0, 0], [0, 1], [0, 2], [0, 3]]}),
    "rows": (with_rows, RIVER.rows._asdict()),
    "profiles given": (with_profiles, eq.profiles(RIVER)._asdict()),
    "from_quantecon": (from_program, {"ddp": None, "rescale": True, "normalize": False}),
    "from_gymnasium": (
        eq.from_gymnasium,
        {"env": eq.TabularEnv(RIVER), "on_terminal": "restart", "drop_unreachable": False, "normalize": False}
        | {"check": False, "reward_law": "beta", "initial": 0, "rescale": True},
    ),
    "equivalence_classes": (eq.equivalence_classes, {"mdp": RIVER, "rewards": True, "tolerance": 1e-9}),
    "separation": (separation, {"mdp": RIVER, "tolerance": 1e-9}),
    "profiles": (eq.profiles, {"mdp": RIVER}),
    "solve": (eq.solve, {"mdp": RIVER, "accuracy": 1e-8, "max_sweeps": 1000}),
    "diameter": (eq.diameter, {"mdp": RIVER, "max_states": 10}),
    "chain_kind": (eq.chain_kind, {"mdp": RIVER}),
    "Policy": (eq.Policy, {"mdp": RIVER, "policy": POLICY}),
    "simulate": (eq.simulate, {"mdp": RIVER, "agent": "c-ucrl", "horizon": 9, "seed": 0, "gain": 0.5}),
    "simulate_many": (eq.simulate_many, {"mdp": RIVER, "learners": ["ucrl2-l"], "horizon": 9, "seeds": range(2)}),
    "make_agent": (eq.make_agent, {"name": "c-ucrl", "n_states": 4, "n_actions": 2, "seed": 0, "reward_range": (0, 1)}),
    "open_agent": (
        opened, {
            "agent": "ucrl2-l", "sync": "os", "snapshot_every": 9, "archive": False, "strict": True,
            "n_states": 4, "n_actions": 2,
        },
    ),
    "agent_for": (eq.agent_for, {"mdp": RIVER, "name": "c-ucrl", "seed": 0}),
    "make_settings": (make_settings, {"name": "c-ucrl", "delta": 0.1, "effort": 9.0, "warm_start": True}),
    "observe": (observe, {"state": 0, "action": 0, "reward": 0.5, "next_state": 1}),
    "approx_equivalence": (
        approx_equivalence,
        {**COUNTS, "n_states": 4, "delta": 0.05, "balance": 4.0, "radius": "pooled", "nearest_by": "law"}
        | {"r_sum": [0.0] * M, "priority": list(range(M))},
    ),
    "misclustering_ratio": (misclustering_ratio, {"partition": CLASSES, "truth": CLASSES, "visits": [3] * M}),
    "misclustering_bias": (
        misclustering_bias, {"partition": CLASSES, "truth": CLASSES, **COUNTS, "successors": [0] * M}
    ),
    "from_arrays": (
        eq.TabularMDP.from_arrays, {"transitions": ARRAYS[0], "rewards": ARRAYS[1], "initial": 0, "normalize": True}
        | {"rescale": False},
    ),
    "from_pairs": (
        eq.TabularMDP.from_pairs,
        {"pairs": [(0, 0, {0: 1.0}, 0.5)], "n_states": 1, "initial": 0, "normalize": True, "rescale": False},
    ),
    "from_rows": (
        eq.TabularMDP.from_rows,
        {"transitions": ARRAYS[0].reshape(M, -1), "rewards": RIVER.r_mean, "actions": 2, "normalize": False}
        | {"rescale": False},
    ),
    "TabularMDP": (
        eq.TabularMDP,
        {"pairs": RIVER.pairs, "rows": RIVER.rows, "r_mean": RIVER.r_mean, "initial": RIVER.initial}
        | {"reward_law": "beta", "concentration": 2.0, "reward_map": (1.0, 0.0)},
    ),
    "from_log": (eq.from_log, {"table": STEPS, "costs": False, "reward_range": (0, 1), "actions": "seen"}),
    "Log.classes": (eq.from_log(STEPS).classes, {"method": "tests", "rewards": True, "draws": 1}),
    "Log.learn": (eq.from_log(STEPS).learn, {"draws": 1, "discount": 0.5, "seed": 0}),
    "Log.check": (eq.from_log(STEPS).check, {"classes": [0, 0], "rewards": True, "delta": 0.1}),
    "learn": (eq.learn, {"log": STEPS, "draws": 1, "discount": 0.5, "seed": 0, "progress": max}),
    "check_structure": (
        eq.check_structure,
        {"problem": STEPS, "classes": [0, 0], "rewards": True, "delta": 0.1, "tolerance": 0.1, "order": [["b"], ["a"]]},
    ),
    "explain": (TRACE.agent.beliefs.explain, {"state": 0, "action": 1}),
    "Log.next_steps": (
        eq.from_log(STEPS).next_steps,
        {"steps": 2, "draws": 1, "learner": "psrl", "discount": 0.5, "seed": 0, "policy": [0, 0]},
    ),
    "play": (
        eq.play,
        {"env": eq.TabularEnv(RIVER), "agent": "c-ucrl", "steps": 3, "callback": repr, "progress": max, "seed": 0}
        | {"reward_range": (0, 1), "checkpoints": 3},
    ),
    "play_many": (
        eq.play_many,
        {"env": partial(eq.TabularEnv, RIVER), "learners": ["random"], "steps": 3, "seeds": [0], "jobs": 1}
        | {"common_random_numbers": True, "progress": max},
    ),
    "Encoder": (eq.Encoder, {"space": spaces.Discrete(2)}),
    "Encoder.from_play": (eq.Encoder.from_play, {"env": LAKE, "steps": 1, "seed": 0}),
    "encode": (NUMBERS.encode, {"value": 1}),
    "decode": (NUMBERS.decode, {"number": 0}),
    "Simulator": (eq.Simulator, {"step": lambda state, action: (0, 0.0), "states": 2, "actions": 2}),
    "GymSimulator": (GymSimulator, {"env": LAKE, "encoder": None}),
    "Log.agent": (eq.from_log(STEPS).agent, {"name": "psrl", "seed": 0}),
    "LogClasses.alike": (eq.from_log(STEPS).classes(draws=1).alike, {"pair": 0, "other": 1}),
    "Table.head": (eq.from_log(STEPS).table().head, {"n": 1}),
    "Pairs.uniform": (Pairs.uniform, {"n_states": 2, "n_actions": 2}),
    "Partition.singletons": (eq.Partition.singletons, {"n_pairs": 3}),
    "profile_distance": (profile_distance, {"mdp": RIVER, "pair": 0, "other": 1, "contrast": "l1"}),
    "similar": (similar, {"mdp": RIVER, "pair": 0, "other": 1, "eps_p": 0.1, "eps_mu": 0.1}),
    "from_toolbox": (
        from_toolbox, {"transitions": ARRAYS[0].transpose(1, 0, 2), "rewards": ARRAYS[1], "rescale": True}
    ),
    "to_toolbox": (to_toolbox, {"mdp": RIVER, "sparse": True}),
    "permute": (RIVER.permute, {"states": [1, 0, 2, 3], "actions": [1, 0]}),
    "shuffled": (RIVER.shuffled, {"seed": 1}),
    "make": (eq.make, {"name": "riverswim", "n_states": 4, "forward": 0.4}),
    "make grid": (eq.make, {"name": "grid", "map": ["S.G"], "walls_are_states": False, "goal_reward": 0.5}),
    "load_world": (eq.load_world, {"text": "riverswim:n_states=4"}),
    "theorem1_bound": (theory.theorem1_bound, {"D": 5.0, "S": 4, "C": 2, "T": 100, "delta": 0.05}),
    "ucrl2_bound": (theory.ucrl2_bound, {"D": 5.0, "S": 4, "A": 2, "T": 100, "delta": 0.05}),
    "azuma_width": (theory.azuma_width, {"T": 10, "delta": 0.05, "c": 1.0}),
    "proposition1_samples": (
        theory.proposition1_samples, {"separation": 0.5, "n_states": 4, "n_pairs": 8, "delta": 0.05}
    ),
}  # fmt: skip
NONSENSE = [math.nan, -1, "nonsense", object(), [[math.nan]], [-1.5] * M, {"a": 1}]

# What a message says where it does not begin with the argument's name; by call and argument, or by argument alone.
DESCRIBED = {
    ("make", "name"): "^unknown world ",
    ("make grid", "name"): "^unknown world ",
    "name": "^unknown learner ",
    "text": "^unknown world 'nonsense'",
    "agent": "^unknown learner 'nonsense'",
    "log": "^table must be |^the log |of the log is |should end in .csv",
    "table": "^the log |of the log is |should end in .csv",
    "learner": "^unknown learner ",
    "learners": r"^a learner to compare is its name or \(name, settings\), not ",
    "seeds": "^a seed must be an integer, not ",
    "next_state": "^(a )?state ",
    ("from_pairs", "pairs"): r" in pairs is not \(state, action, ",
    ("from_rows", "rewards"): "^the mean reward of ",
    ("from_rows", "actions"): "^an action is an integer or a name, not ",
    "r_mean": "^the mean reward of ",
    "map": "^cell 0,0 of the map is '[na]'",
    "pair": "^there is no pair -1",
    "other": "^a pair is its number |^there is no pair -1",
    ("refines", "other"): "^other must be a Partition",
    ("members", "label"): "^there is no class -1",
    ("Log.check", "classes"): "^labels |^classes ",
    ("Study", "worlds"): "^a world is a name or a TabularMDP|unknown world ",
    ("Study", "agents"): r"^learners |^a learner to compare is|^unknown learner ",
    ("Study", "checkpoints"): "^study: checkpoints ",
    ("open_agent", "agent"): "^unknown learner |: only with the name of a learner",
    ("class_posterior", "agent"): " has no posterior of classes",
    ("matrix", "pairs"): "^a pair is its number |^there is no pair -1",
    ("quantile", "name"): "unknown curve ",
    ("at", "name"): "unknown curve ",
    "curve": "unknown column ",
    ("encode", "value"): "is none of the 2 values that the encoder knows",
    ("save_figure", "path"): "^nonsense does not end in a format of figures",
    ("picture", "rows"): "^picture.rows must be |^picture.cell places state . at 0,., outside the . rows",
    ("picture", "cell"): "^picture.cell ",
    ("rows", "ptr"): "^rows.ptr |^rows of shapes ",
    ("check_structure", "problem"): "^table must be |^the log |of the log is |should end in .csv",
    ("check_structure", "classes"): "^labels ",
    ("rows", "succ"): "^rows.succ |^rows of shapes ",
    ("rows", "prob"): r"^rows.prob |^rows of shapes |^p\(",
    ("profiles given", "ptr"): "^profiles.ptr |^the profiles ",
    ("profiles given", "succ"): "^profiles.succ ",
    ("profiles given", "prob"): "^profiles.prob |^the profiles are not whole",
}


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_themselves_make_sense(name):
    call, arguments = CALLS[name]
    call(**arguments)


@pytest.mark.parametrize(("name", "argument"), [(name, argument) for name in CALLS for argument in CALLS[name][1]])
@pytest.mark.filterwarnings("error")
def test_nonsense_is_named(name, argument):
    call, arguments = CALLS[name]
    named = rf"^((an?|the|unknown) )?{argument}\b"
    described = DESCRIBED.get((name, argument), DESCRIBED.get(argument, named))
    for value in NONSENSE:
        with pytest.raises((TypeError, ValueError, KeyError)) as info:
            call(**{**arguments, argument: value})
        assert re.search(f"{named}|{described}", str(info.value)), f"{value!r} is answered by {info.value}"


def flags(function):
    """The parameters of a function that are True or False."""
    return [name for name, p in inspect.signature(function).parameters.items() if "bool" in str(p.annotation)]


RESULTS = {"Log", "LogPolicy"}  # fields are no flags of a user's; settings are checked by fit
MAKERS = {f"TabularMDP.{name}": getattr(eq.TabularMDP, name) for name in ("from_arrays", "from_pairs", "from_rows")}
FUNCTIONS = MAKERS | {name: getattr(eq, name) for name in eq.__all__ if callable(getattr(eq, name))}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in RESULTS])
def test_every_flag_is_among_them(name):
    calls = [given for call, given in CALLS.values() if getattr(call, "func", call) == FUNCTIONS[name]]
    try:
        wanted = set(flags(FUNCTIONS[name]))
    except ValueError:  # an exception's class has no signature
        return
    assert wanted <= {key for given in calls for key in given}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eq.make_agent("ucrl2-l", 2, 2, reward_range=(-1e308, 1e308)), "^reward_range must be"),
        (lambda: eq.make_agent("ucrl2-l", 2, 2, reward_range=(10**400, 1)), "^reward_range must be"),
        (lambda: eq.make_agent("ucrl2-l", 2, 2, reward_range=(False, "3")), "^reward_range must be"),
        (lambda: observe(state=0, action=0, reward=10**400, next_state=1), "^the reward of .s=0, a=0. is 10000"),
        (lambda: eq.simulate(RIVER, "ucrl2-l", 9, threads=2**63 - 1), "^threads must be at most 1024, not 92233"),
        (lambda: eq.make("riverswim", n_states=10**5000), "^n_states must be at most 2147483647, not an integer of"),
        (lambda: eq.solve(10**5000), "^mdp must be a TabularMDP, not an integer of 16610 bits"),
        (lambda: rescale_rewards([10**400]), "^rewards must be an array of numbers"),
        (lambda: eq.Policy(RIVER, [[1, 2], [3]]).evaluate(), "^policy must be an array"),
        (lambda: eq.TabularMDP.from_arrays(*ARRAYS, initial=[[1, 2], [3]]), "^initial must be an array"),
        (lambda: eq.TabularMDP.from_rows(ARRAYS[0].reshape(M, -1), [0] * M, []), "^actions is empty"),
        (lambda: eq.TabularMDP.from_arrays(*ARRAYS, reward_map=[10**400, 1]), "^reward_map must be 2 numbers"),
        (lambda: eq.make("planted", n_states=2**40), "^n_states must be at most 2147483647"),
        (lambda: eq.make("random", n_states=2**30, n_actions=2**30), "^n_actions must be at most 1, not"),
        (lambda: eq.make("two-room", height=2**20, width=2**20), "^width must be at most"),
        (lambda: eq.Partition.from_json("[" * 10**5), "^not a partition"),
        (lambda: eq.Partition.from_json(3), "^text must be a str"),
        (lambda: RIVER.save("a\0b"), "^path holds a null character"),
        (lambda: eq.TabularMDP.load(3), "^path must be a str or a path, not 3"),
        (lambda: eq.make_agent("ucrl2-l", 2, 2).save(b"x"), "^path must be a str or a path, not b'x'"),
        (lambda: TABLE.to_csv(None), "^path must be a str or a path"),
        (lambda: TABLE[["regret"]], "unknown column"),
        (lambda: TRACE.plot(np.zeros(0)), "unknown measure"),
        (lambda: reset(options=1), "^options must be a dict"),
        (lambda: plots.draw_policy(RIVER, POLICY, np.zeros(3)), "^title must be a str"),
        (lambda: eq.simulate_many(RIVER, np.array(0), 9), "^learners must be a list"),
        (lambda: eq.Recipe(3, len), "^description must be a str"),
        (lambda: similar(RIVER, 0, 10**5000), "^there is no pair an integer of 16610 bits"),
        (lambda: eq.TabularMDP.from_pairs([(0, 0, {0: 1.0}, 10**400)], 1), " in pairs is not .state, action,"),
        (
            lambda: eq.TabularMDP.from_pairs([(0, 10**5000, {0: 1.0}, 1)], 1),
            "^pair .s=0, a=an integer of 16610 bits.: ",
        ),
        (lambda: observe(state=0, action=0, reward="0.5", next_state=1), "^the reward of .s=0, a=0. is '0.5', not a"),
        (
            lambda: misclustering_bias(CLASSES, CLASSES, **COUNTS | {"visits": [4] * M}),
            "^pair 0 has 4 visits, and its",
        ),
        (lambda: approx_equivalence(**COUNTS | {"visits": [2] * M}, n_states=4), "^pair 0 has 2 visits, and its"),
        (lambda: misclustering_bias(CLASSES, CLASSES, **COUNTS | {"visits": None}), "^visits must be"),
        (lambda: eq.from_log(STEPS, columns=3), "^columns must be a mapping such as .'state': 's'., not 3"),
        (lambda: eq.from_log(""), "^the log '' should end in .csv"),
        (lambda: eq.from_log(STEPS).table().to_csv(3), "^path must be a str or a path, not 3"),
        (lambda: eq.from_log(STEPS).table()[[]], "unknown column"),
        (lambda: eq.Encoder.of([math.nan]), "^the value nan cannot stand for a state"),
        (lambda: eq.Encoder(spaces.Discrete(2)).encode([[], [1]]), "is none of the 2 values that the encoder knows"),
        (lambda: eq.Encoder(spaces.Discrete(2)).encode(np.array(0.7)), "is none of the 2 values"),
        (lambda: eq.Simulator(min, 10**5000, {0: [0]}), "^states must be at most"),
        (lambda: eq.play(Environment(begin=3), "random", 2), r"^env.reset\(\) returned 3, not \(observation, info\)"),
        (lambda: eq.play(Environment(answer=3), "random", 2), r"^env.step\([01]\) returned 3, not \(observation,"),
        (
            lambda: eq.play(Environment(answer=(0, 0.5, np.zeros(2), False, {})), "random", 2),
            r"^terminated, which env.step\([01]\) returned, must be True or False, not array",
        ),
        (lambda: eq.play(LAKE, "psrl", 1, mean_rewards="x"), "^mean_rewards must be an array of numbers"),
        (lambda: eq.play(LAKE, "psrl", 1, save=1j), "^save must be a str or a path, not 1j"),
        (lambda: TRACE.curves.at("regret", 21), "^time must be between 0 and 20"),
    ],
)
def test_what_once_escaped_is_refused_by_name(call, message):
    with pytest.raises((TypeError, ValueError, KeyError)) as info:
        call()
    assert re.search(message, str(info.value).strip('"')), info.value


def test_a_map_that_is_no_text_is_named(tmp_path):
    (tmp_path / "map.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"map.txt is no text file"):
        eq.load_world(tmp_path / "map.txt")


@pytest.mark.parametrize("table", [[1, 2], [[[]], [[]]], {0: {"a": [(1.0, 0, 0.0, False)]}}, {0: 3}])
def test_a_transition_table_that_is_none_is_named(table):
    class Env:
        P, spec, initial_state_distrib = table, None, [1.0]

        @property
        def unwrapped(self):
            return self

    with pytest.raises((TypeError, ValueError), match=r"P\[0\]"):
        eq.from_gymnasium(Env())


def test_fractions_are_numbers_to_a_learner():
    exact = eq.simulate(RIVER, "c-psrl", 30, hope=0.5)
    assert eq.simulate(RIVER, "c-psrl", 30, hope=Fraction(1, 2)).reward.tolist() == exact.reward.tolist()


def test_checkpoints_of_a_horizon_near_the_largest_integer_rise_to_it():
    times = checkpoint_times(7, 2**63 - 1)
    assert (np.diff(times) > 0).all()
    assert times[-1] == 2**63 - 1


def test_bounds_at_the_edge_of_numbers_are_infinite_and_silent():
    assert theory.azuma_width(10, delta=5e-324) < math.inf
    assert theory.ucrl2_bound(1e308, 2, 2, 1e300) == math.inf
