"""The journal: decisions per second with it, as a ratio to without, and how quickly a folder opens after a crash."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from equirl.keeping.journal import Sync, open_agent
from equirl.lab.benchmarks.learning_speed import N_STATES, PLACE, WORLD, drive
from equirl.lab.benchmarks.measurement import Finding, Measure, Sizes, seconds_of, side_by_side
from equirl.learners import agent_for
from equirl.model import TabularMDP
from equirl.worlds import make

MEASURED = ("ucrl2-l", "c-psrl")
MODES: tuple[Sync, ...] = ("os", "second", 100, "always")
SHARE = {"always": 50, 100: 5}  # modes that wait for the disk play this many times fewer steps


def measure_journal(sizes: Sizes) -> Iterator[Finding]:
    """All figures about the journal. Files go to the folder for temporary files, whose disk they tell of."""
    mdp = make(WORLD, n_states=N_STATES)
    for name in MEASURED:
        yield from _decisions(mdp, name, sizes)
    yield _opening(mdp, MEASURED[0], sizes)


def _decisions(mdp: TabularMDP, name: str, sizes: Sizes) -> Iterator[Measure]:
    """A loop of act, world and observe with each way to force records to disk, against the same loop without.

    Short rounds, and many: of those with ``sync="second"`` most do not meet the disk.
    """
    steps, own = max(1, sizes.loop_steps // 100), sizes.chosen(name)
    with ExitStack() as opened:
        place = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        cases = {"without": partial(drive, agent_for(mdp, name, **own), mdp, steps)}
        played = {}
        for mode in MODES:
            agent = opened.enter_context(open_agent(place / str(mode), agent_for(mdp, name, **own), sync=mode))
            played[mode] = max(1, steps // SHARE.get(mode, 1))
            cases[str(mode)] = partial(drive, agent, mdp, played[mode])
        times = side_by_side(cases, 2 * sizes.seconds)
    alone = times["without"] / steps
    for mode in MODES:
        ratio = alone * played[mode] / times[str(mode)]
        what, note = f"{name}: decisions/s with sync={mode!r} against without", f"{PLACE}{sizes.settings_note(name)}"
        yield Measure(what, ratio, "times", note)
    waiting = 1e3 * times["always"] / played["always"]
    yield Measure(f"{name}: a step with sync='always'", waiting, "ms", "most of it waits for the disk")


def _opening(mdp: TabularMDP, name: str, sizes: Sizes) -> Measure:
    """Opening the folder of a process that was killed before its first snapshot."""
    steps, agent_given = max(1, sizes.loop_steps // 10), agent_for(mdp, name, **sizes.chosen(name))
    with tempfile.TemporaryDirectory() as place:
        crashed, copies = Path(place) / "crashed", iter(range(10**9))
        with open_agent(Path(place) / "live", agent_given, sync="os", snapshot_every=10**9) as agent:
            drive(agent, mdp, steps)
            shutil.copytree(agent.folder, crashed)

        def reopen() -> None:
            with open_agent(shutil.copytree(crashed, Path(place) / str(next(copies)))):
                pass

        took = seconds_of(reopen, sizes.seconds)
    note = f"{2 * steps} records to play again, and closing"
    return Measure(f"{name}: opening after a crash", took, "s", note)
