"""A service that learns, killed at random moments and started again: nothing is lost, nothing counts twice.

    python examples/killed_service.py --kills 20

The world here is a function of the number of the step, so that the same run can be made without kills. In the end both
must have observed the same steps, made the same decisions and know the same, bit for bit. Needs fork (not Windows).
"""

from __future__ import annotations

import argparse
import os
import signal
import struct
import sys
import tempfile
import time

import numpy as np

import equirl as eq
from equirl.keeping import read_journal
from equirl.learners.contract import Learner

RIVER = eq.make("ergodic-riverswim", n_states=8)


def world(number: int, state: int, action: int) -> tuple[float, int]:
    """What step number so-and-so brings: reward and next state."""
    rng = np.random.default_rng([5, number])
    chances = RIVER.transition_probabilities(state, action)
    following = int(rng.choice(list(chances), p=list(chances.values())))
    return float(rng.random() < RIVER.mean_reward(state, action)), following


def serve(folder: str, learner: Learner, settings: dict, tell=lambda number: None, upto: float = np.inf) -> None:
    """The loop of the service: it needs to know nothing of earlier lives but the folder."""
    with eq.open_agent(folder, learner, archive=True, **settings) as agent:
        tell(agent.n_observed)
        state = agent.last.next_state if agent.last else 0
        while agent.n_observed < upto:
            action = agent.act(state)
            reward, following = world(agent.n_observed, state, action)
            agent.observe(state, action, reward, following)
            tell(agent.n_observed)  # from here on others rely on it
            state = following


def one_life(folder: str, learner: Learner, settings: dict, seconds: float, early: bool) -> list[int]:
    """Serve in a child process that is killed some seconds after it opened the folder, or began to; what it told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            serve(folder, learner, settings, tell=lambda number: os.write(writing, struct.pack("<q", number)))
        finally:
            os._exit(1)  # it is killed before it gets here
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = b"" if early else pipe.read(8)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        told += pipe.read()
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        sys.exit("the service ended by itself; see above")
    return [number for (number,) in struct.iter_unpack("<q", told[: len(told) // 8 * 8])]


def uninterrupted(learner: Learner, n_steps: int) -> tuple[list[tuple], Learner]:
    """The same steps without a journal and without kills."""
    steps, state = [], 0
    for number in range(n_steps):
        action = learner.act_id(state)  # as a journal has it
        reward, following = world(number, state, action)
        learner.observe(state, action, reward, following)
        steps.append((state, action, reward, following))
        state = following
    return steps, learner


def same_bits(one: Learner, other: Learner) -> bool:
    """Whether two learners are in the same state."""
    (arrays, values), (others, other_values) = one.state(), other.state()
    return values == other_values and {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in others.items()
    }


def main() -> None:
    """Kill, start again, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--learner", default="c-psrl")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--snapshot-every", type=int, default=300)
    options = parser.parse_args()

    learner = eq.agent_for(RIVER, options.learner, seed=1)
    moments, settings = np.random.default_rng(options.seed), {"snapshot_every": options.snapshot_every}
    known, lost, doubled, lives = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        serve(os.path.join(place, "rehearsal"), learner, settings, upto=200)  # compiled here: lives start at once
        folder = os.path.join(place, "service")
        for _ in range(options.kills):
            told = one_life(folder, learner, settings, seconds=0.1 * moments.random(), early=moments.random() < 0.2)
            if told:  # it got so far as to open the folder
                lives += 1
                lost += max(0, known - told[0])
                doubled += max(0, told[0] - known - 1)  # one may have been killed before it could be told
                known = told[-1]
        serve(folder, learner, settings, upto=known + 100)
        log = read_journal(folder)
        with eq.open_agent(folder) as agent:
            steps, alone = uninterrupted(learner, agent.n_observed)
            equal = same_bits(agent.agent, alone)
            goes_on = [agent.agent.copy().act(s) == alone.copy().act(s) for s in range(RIVER.n_states)]
    observed = list(zip(*(column.tolist() for column in log[1:5]), strict=True))
    print(f"{options.kills} kills, {lives} lives, {len(steps)} steps: {lost} lost, {doubled} doubled")
    print(f"as in an uninterrupted run: steps {observed == steps}, state {equal}, decisions {all(goes_on)}")
    sys.exit(0 if observed == steps and equal and all(goes_on) and not lost and not doubled else 1)


if __name__ == "__main__":
    main()
