"""Studies from Python: the runs of the file that says the same, resumed, in the units of the worlds."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.study_file import parse_study

PUMP = [("ok", "run", {"ok": 0.9, "broken": 0.1}, 0.0), ("ok", "rest", {"ok": 1.0}, 40.0)]
PUMP += [("broken", "repair", {"ok": 1.0}, 500.0)]
MDP = eq.TabularMDP.from_costs(PUMP)


def study(**given):
    return eq.Study(
        **{"worlds": ["riverswim:n_states=4"], "agents": ["psrl", "random"], "runs": 2, "horizon": 60, **given}
    )


def test_its_runs_are_those_of_the_file_that_says_the_same(tmp_path):
    text = "seed = 3\nruns = 2\nhorizon = 60\ncheckpoints = 5\ncommon_random_numbers = true\n"
    text += 'worlds = ["riverswim:n_states=4"]\nlearners = ["psrl", { learner = "c-psrl", settings = { scan = 9 } }]\n'
    ours = study(agents=["psrl", ("c-psrl", {"scan": 9})], seed=3, checkpoints=5, common_random_numbers=True)
    assert [run.spec.key for run in ours.planned] == [run.spec.key for run in expand(parse_study(text))]


def test_a_problem_of_ones_own_is_played_in_its_units():
    found = study(worlds={"pump": MDP, "river": "riverswim:n_states=4"}, checkpoints=[30, 60]).run()
    assert found.worlds == ["pump", "river"]
    regret = found.runs("pump").final()["psrl"]
    spec = found.study.planned[0].spec
    trace = eq.simulate(MDP, "psrl", 60, spec.seed, checkpoints=[30, 60])
    assert regret[0] == pytest.approx(trace.regret[-1])
    assert found.groups[0].gain == pytest.approx(eq.solve(MDP).gain)
    table = found.table().rows()
    assert [(row["world"], row["learner"], row["runs"]) for row in table[:2]] == [
        ("pump", "psrl", 2),
        ("pump", "random", 2),
    ]
    assert table[0]["mean"] == pytest.approx(regret.mean())


def test_what_is_there_is_not_computed_again(tmp_path, monkeypatch):
    first = study(folder=tmp_path, worlds=[MDP]).run()
    from equirl.lab.studies import execution

    monkeypatch.setattr(execution, "compute", lambda specs, *_: execution.Report(0, 0, []) if not specs else 1 / 0)
    again = study(folder=tmp_path, worlds=[MDP]).run()
    np.testing.assert_array_equal(first.runs().final()["psrl"], again.runs().final()["psrl"])
    with pytest.raises(ValueError, match="holds another problem than 'world 1'"):
        study(folder=tmp_path, worlds=[eq.TabularMDP.from_costs(PUMP[:1] + PUMP[2:])])


def test_jobs_do_not_change_the_numbers():
    one, two = (study(horizon=30).run(jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.runs()["regret"], two.runs()["regret"])


def test_it_is_drawn_world_by_world():
    found = study(worlds=["riverswim:n_states=4", "two-room", "cycle", "four-room"], horizon=20).run()
    panels = found.plot().axes
    assert [axes.get_title(loc="left") for axes in panels[:4]] == found.worlds
    assert len(panels) == 6
    assert found.plot("reward", world="cycle").axes[0].get_title(loc="left") == "cycle"
    with pytest.raises(ValueError, match="there are 4 worlds; name one"):
        found.runs()
    with pytest.raises(ValueError, match="unknown world 'cycl'; did you mean 'cycle'"):
        found.plot(world="cycl")
    with pytest.raises(ValueError, match="unknown measure 'regre'; did you mean 'regret'"):
        found.table("regre")


def test_a_failed_run_is_told_and_the_others_are_kept(monkeypatch):
    from equirl.lab.studies import runs

    class Broken(runs.LiveRun):
        def finish(self):
            raise RuntimeError("no luck")

    monkeypatch.setattr(runs, "LiveRun", Broken)
    with pytest.raises(RuntimeError, match=r"runs failed, the first of .* in riverswim: RuntimeError: no luck"):
        study().run()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"worlds": []}, "worlds is empty"),
        ({"worlds": 3}, "worlds must be a list of worlds, not 3"),
        ({"worlds": ["riverswin"]}, "unknown world 'riverswin'"),
        ({"worlds": ["cycle", "cycle"]}, "world 'cycle' is listed twice"),
        ({"worlds": {"a/b": MDP}}, "the label 'a/b' of a world"),
        ({"agents": []}, "learners is empty"),
        ({"agents": [eq.make_agent("psrl", 4, 2)]}, "'psrl' of a study must be a name"),
        ({"agents": ["psr"]}, "unknown learner 'psr'"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"checkpoints": [70]}, "checkpoints"),
    ],
)
def test_mistakes_are_named(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        study(**given)


def test_it_is_shown_by_what_it_plays():
    assert repr(study()) == "Study(riverswim:n_states=4; psrl, random; 4 runs)"
