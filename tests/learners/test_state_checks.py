"""Saved learners that make no sense are refused, whatever wrote them; those that make sense go on."""

import json
import math

import numpy as np
import pytest

import equirl as eq
from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.keeping.saving import KIND, VERSION
from equirl.learners.catalogue import ROWS

RIVER = eq.make("riverswim", n_states=4)
LEARNERS = list(ROWS)
NONSENSE = [-1, -0.5, math.nan, math.inf, 2**62, 10**30, True, None, "text", [], {}]
ODD = {"<i4": [-1, 2**30], "<i8": [-1, 2**62], "<f8": [-1.0, math.nan, math.inf, 1e300], "<u8": [0, 2**63]}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A learner's arrays and values, saved once each."""
    made = {}

    def of(name):
        if name not in made:
            path = tmp_path_factory.mktemp("saved") / "agent.npz"
            eq.simulate(RIVER, name, 120, seed=2).agent.save(path)
            made[name] = load_npz(path, KIND, VERSION)
        return made[name]

    return of


def load(tmp_path, arrays, meta):
    save_npz(tmp_path / "agent.npz", KIND, VERSION, arrays, meta)
    return eq.load_agent(tmp_path / "agent.npz")


def with_value(meta, place, value):
    """The values with one of them, anywhere inside, replaced."""
    meta = json.loads(json.dumps(meta))
    inner = meta
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return meta


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("c-ucrl", ("t",), value) for value in (0, -1, 1.5, math.inf, True, "9", None)]
    + [("c-ucrl", ("t",), 100), ("c-ucrl", ("n_unconverged",), -1), ("c-ucrl", ("n_unconverged",), 10**6)]
    + [("c-ucrl", ("reward_map",), value) for value in ([0, 0], [-1, 0], [math.inf, 0], [1, math.nan], [1], 3)]
    + [("c-ucrl", ("pending",), value) for value in ([-1, 0.5], [8, 0.5], [0, 1.5], [0, math.nan], [0.5, 0.5], 3)]
    + [("c-ucrl", ("values", "episode", key), -1) for key in ("start", "n_classes", "n_sweeps", "span")]
    + [("c-ucrl", ("values", "episode", key), math.nan) for key in ("gain", "span")]
    + [("c-ucrl", ("values", "episode", "start"), 122), ("c-ucrl", ("values", "episode", "n_classes"), 9)]
    + [("c-ucrl", ("values", "episode", "converged"), "no"), ("c-ucrl", ("values", "tie_rng", "state", "state"), -1)]
    + [("c-psrl", ("values", "plan"), value) for value in ([math.inf, 3, 0.1, True], [0.5, -1, 0.1, True], [0.5], 3)]
    + [("q-learning", ("values", "chosen"), value) for value in ([9, 0], [0, 7], [-1, 0])],
)  # fmt: skip
def test_a_value_that_no_learner_can_have_is_refused(saved, tmp_path, name, place, value):
    arrays, meta = saved(name)
    with pytest.raises(DamagedFile, match=r"agent\.npz does not hold a valid learner: "):
        load(tmp_path, arrays, with_value(meta, place, value))


@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("c-ucrl", "own_now_r_sum", math.inf), ("c-ucrl", "own_now_r_sum", math.nan),
        ("c-ucrl", "own_now_r_sum", 200.0), ("c-ucrl", "own_then_r_sum", -1.0),
        ("c-psrl", "own_now_r_squares", 1e300), ("c-psrl", "own_now_r_squares", -1.0),
        ("mbie", "own_then_r_squares", 1.0),
        ("c-ucrl", "own_now_visits", 10), ("c-ucrl", "own_now_count", 10),
        ("c-ucrl", "own_then_visits", 10), ("c-ucrl", "own_bias", math.inf), ("c-ucrl", "episode_starts", -1),
        ("c-ucrl", "episode_starts", 500), ("q-learning", "own_q", math.inf), ("q-learning", "own_taught", -1),
        ("q-learning", "own_taught", 500), ("c-psrl", "own_drawn_prob", math.nan), ("c-psrl", "own_drawn_reward", -1.0),
        ("imed-rl", "own_index_bias", math.nan),
    ],
)  # fmt: skip
def test_an_array_that_no_learner_can_have_is_refused(saved, tmp_path, name, array, value):
    arrays, meta = saved(name)
    changed = arrays[array].copy()
    changed[0] = value
    with pytest.raises(DamagedFile, match=r"agent\.npz does not hold a valid learner: "):
        load(tmp_path, arrays | {array: changed}, meta)


def test_counts_beyond_any_number_of_steps_do_not_wrap_around(saved, tmp_path):
    arrays, meta = saved("c-ucrl")
    count = arrays["own_now_count"].copy()
    count[:] = 2**62
    with pytest.raises(DamagedFile, match="beyond any that can be"):
        load(tmp_path, arrays | {"own_now_count": count}, meta)


def test_counts_of_more_steps_than_were_played_are_refused_with_both_numbers(saved, tmp_path):
    arrays, meta = saved("imed-rl")
    with pytest.raises(DamagedFile, match=r"120 steps are counted \(now\), but 50 were played"):
        load(tmp_path, arrays, with_value(meta, ("t",), 51))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_that_restores_a_state_has_it_whole(name):
    kept, other = (eq.simulate(RIVER, name, steps, seed=steps).agent for steps in (120, 7))
    arrays, values = kept.copy().state()
    other.restore(kept.state())
    found, again = other.state()
    assert (found.keys(), again) == (arrays.keys(), values)
    for key, array in arrays.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)


def numbers(values, place=()):
    """Every place inside the values that holds a number, a flag or nothing."""
    if isinstance(values, dict):
        return [found for key, value in values.items() for found in numbers(value, (*place, key))]
    return [place] if values is None or isinstance(values, bool | int | float) else []


def attack(saved, tmp_path, name, seed):
    """Nonsense in every value and array, one after the other: how many were tried and refused; the rest played on."""
    arrays, meta = saved(name)
    dice = np.random.default_rng([LEARNERS.index(name), seed])
    places = numbers({key: meta[key] for key in meta if key != "settings"})
    tries = [(arrays, with_value(meta, place, dice.choice(np.array(NONSENSE, object)))) for place in places]
    for key, array in arrays.items():
        changed = array.copy()
        if array.size and array.dtype.str in ODD:
            changed[dice.integers(len(array)) if array.ndim else ()] = dice.choice(ODD[array.dtype.str])
            tries.append((arrays | {key: changed}, meta))
    n_refused = 0
    for changed, values in tries:
        try:
            agent = load(tmp_path, changed, values)
        except DamagedFile:
            n_refused += 1
        else:
            play_on(agent)
    return len(tries), n_refused


def play_on(agent, n_steps=30):
    state = 0
    for _ in range(n_steps):
        action = agent.act_id(state)
        successor = min(RIVER.transition_probabilities(state, action))
        agent.observe(state, action, 0.5, successor)
        state = successor


@pytest.mark.parametrize("name", LEARNERS)
def test_nonsense_in_any_value_or_array_is_refused_or_does_no_harm(saved, tmp_path, name):
    tried, refused = attack(saved, tmp_path, name, 0)
    assert refused >= tried / 3


@pytest.mark.fuzz
@pytest.mark.parametrize("name", LEARNERS)
def test_much_nonsense_in_any_value_or_array_is_refused_or_does_no_harm(saved, tmp_path, name):
    counts = np.array([attack(saved, tmp_path, name, seed) for seed in range(1, 11)])
    print(name, "tried, refused:", counts.sum(axis=0).tolist())
    assert (counts[:, 1] >= counts[:, 0] / 3).all()
