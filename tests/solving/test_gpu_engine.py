"""Sweeps on a GPU: their source where there is one, and all around it with NumPy in CuPy's place."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from equirl.model.rows import Rows
from equirl.planning.exact_model import iterate_exact, sweep_exact
from equirl.planning.l1_ball import ConfidenceSet
from equirl.planning.optimistic_planning import Solver, extended_value_iteration
from equirl.solving import gpu_engine
from equirl.solving.chains import whole
from equirl.solving.gpu_engine import GpuEngine, array_module, checked_device
from equirl.solving.optimal_gain import solve
from equirl.solving.policies import Policy
from equirl.solving.sweep_engine import Aim, CompiledEngine, swept
from equirl.worlds.world_registry import make

WORLD = make("random", n_states=20, n_actions=3, branching=4, seed=1)


def there_is_a_gpu():
    try:
        return bool(array_module())
    except (ImportError, RuntimeError):
        return False


class PlainKernel:
    """The CUDA function ``sweep``, state by state in Python."""

    launches: list

    def __init__(self, source, name):
        assert (source, name) == (gpu_engine.SOURCE, "sweep")

    def __call__(self, grid, block, arguments):
        n, pair_ptr, row_ptr, succ, prob, reward, moved, balls, follow, discount, u, u_max, out, pair = arguments
        types_ = [type(arguments[i]) for i in (0, 7, 8, 9)]
        assert types_ == [np.int64, np.int32, np.int32, np.float64]
        assert n <= grid[0] * block[0] < n + block[0]
        self.launches.append(int(follow))
        for s in range(n):
            ks = [pair[s]] if follow else range(pair_ptr[s], pair_ptr[s + 1])
            q = {}
            for k in ks:
                row = slice(row_ptr[k], row_ptr[k + 1])
                law, values = prob[row].copy(), u[succ[row]]
                if balls and moved[k] >= 1.0:
                    law, given = np.zeros(len(law)), 1.0
                elif balls:
                    given, left = 0.0, moved[k]
                    for j in np.argsort(values, kind="stable"):
                        taken = min(law[j], left)
                        law[j], left, given = law[j] - taken, left - taken, given + taken
                else:
                    given = 0.0
                q[k] = reward[k] + discount * (law @ values + given * u_max[0])
            pair[s] = max(q, key=q.get)
            out[s] = q[pair[s]]


def stand_in(n_devices=1):
    class CUDARuntimeError(RuntimeError):
        pass

    def count():
        if n_devices is None:
            raise CUDARuntimeError("no driver")
        return n_devices

    runtime = types.SimpleNamespace(getDeviceCount=count, CUDARuntimeError=CUDARuntimeError)
    module = types.ModuleType("cupy")
    vars(module).update(
        array=np.array, empty=np.empty, zeros=np.zeros, asnumpy=np.array, RawKernel=PlainKernel,
        cuda=types.SimpleNamespace(runtime=runtime),
    )  # fmt: skip
    return module


@pytest.fixture
def numpy_as_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", stand_in())
    monkeypatch.setattr(PlainKernel, "launches", [], raising=False)
    return PlainKernel


def test_without_cupy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    for ask in (
        lambda: solve(WORLD, device="gpu"),
        lambda: solve(WORLD, discount=0.9, device="gpu"),
        lambda: Policy(WORLD, WORLD.pairs.action[::3]).values(0.9, device="gpu"),
        lambda: extended_value_iteration(WORLD.pairs.ptr, balls(0.1), 1e-3, device="gpu"),
    ):
        with pytest.raises(ImportError, match=r"device='gpu' needs CuPy: pip install 'equirl\[gpu\]'"):
            ask()


@pytest.mark.parametrize("n_devices", [0, None])
def test_without_a_gpu_it_is_said_so(n_devices, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", stand_in(n_devices))
    with pytest.raises(RuntimeError, match="needs an NVIDIA GPU and its driver; CuPy finds none"):
        checked_device("gpu")


def test_a_wrong_device_is_answered_with_the_right_ones():
    with pytest.raises(ValueError, match="unknown device 'tpu'"):
        solve(WORLD, device="tpu")


def test_what_is_not_done_on_a_gpu_is_refused(numpy_as_cupy):
    for more in ({}, {"discount": 0.9}):
        with pytest.raises(ValueError, match="method='policy' factors matrices on the processor"):
            solve(WORLD, method="policy", device="gpu", **more)
    with pytest.raises(ValueError, match="device are not for problems with a goal"):
        solve(WORLD, goal=1, device="gpu")
    assert not numpy_as_cupy.launches


def balls(largest):
    radius = largest * np.random.default_rng(0).random(WORLD.n_pairs)
    radius[:2] = 2.0
    return ConfidenceSet(WORLD.rows, radius, WORLD.r_mean, WORLD.r_mean)


def agree_on_sweeps():
    u = np.random.default_rng(2).normal(size=20)
    part = whole(WORLD)
    here, there = CompiledEngine(part, u.copy()), GpuEngine(part.pair_ptr, part.rows, part.reward, u)
    aim = Aim(0.9, 0.7, 0.0, 0.0, 100)
    assert there.sweep(0.9) == pytest.approx(here.sweep(0.9))
    assert there.pair.tolist() == here.pair.tolist()
    for engine in (here, there):
        engine.step(0.7, 0.25)
        assert engine.follow(aim, 7, 0.0) == 7
        assert engine.follow(aim, 0, 0.0) == 0
    assert np.array(there.u.tolist()) == pytest.approx(here.u)
    assert there.size(3.0) == pytest.approx(here.size(3.0))
    assert there.follow(aim, 20, np.inf) == gpu_engine.LOOKS


def agree_on_solutions():
    for more in ({}, {"discount": 0.95}, {"discount": 0.95, "method": "value"}):
        there, here = solve(WORLD, device="gpu", **more), solve(WORLD, **more)
        assert there.converged
        if more:
            assert np.abs(there.value - here.value).max() <= there.accuracy + here.accuracy
        else:
            assert abs(there.gain - here.gain) <= there.accuracy + here.accuracy
    policy = WORLD.pairs.action[::3]
    there, here = (Policy(WORLD, policy).values(0.95, device=device) for device in ("gpu", "cpu"))
    assert np.abs(there - here).max() <= 2e-8


def agree_on_plans():
    for policy_sweeps, discount in ((0, 1.0), (10, 1.0), (0, 0.9)):
        more = {"policy_sweeps": policy_sweeps, "discount": discount}
        there, here = (
            extended_value_iteration(WORLD.pairs.ptr, balls(0.4), 1e-6, device=device, **more)
            for device in ("gpu", "cpu")
        )
        assert there.converged
        assert there.gain == pytest.approx(here.gain, abs=1e-5)
        if discount < 1:
            values = [plan.bias + plan.gain / (1 - discount) for plan in (there, here)]
            assert values[0] == pytest.approx(values[1], abs=1e-4)


@pytest.mark.usefixtures("numpy_as_cupy")
@pytest.mark.parametrize("agree", [agree_on_sweeps, agree_on_solutions, agree_on_plans])
def test_around_the_kernel_everything_is_as_on_the_processor(agree):
    agree()


@pytest.mark.skipif(not there_is_a_gpu(), reason="no CuPy, or no GPU that it finds")
@pytest.mark.parametrize("agree", [agree_on_sweeps, agree_on_solutions, agree_on_plans])
def test_a_gpu_finds_what_the_processor_finds(agree):
    agree()


def test_the_processor_certifies_and_sweeps_on_where_a_gpu_was_wrong(numpy_as_cupy, monkeypatch):
    monkeypatch.setattr(numpy_as_cupy, "__call__", lambda self, grid, block, given: given[12].fill(given[10][0]))
    found, exact = solve(WORLD, device="gpu"), solve(WORLD)  # T u is u[0] everywhere: nonsense that converges
    assert found.converged
    assert abs(found.gain - exact.gain) <= found.accuracy + exact.accuracy


def test_after_a_gpu_one_sweep_certifies(numpy_as_cupy):
    part, u = whole(WORLD), np.zeros(20)
    aim = Aim(1.0, 0.8, 1e-9, part.rounding, 1000)
    engine, done, low, high = swept(part, u, aim, device="gpu")
    assert done == len(numpy_as_cupy.launches) + 1
    assert (high - low) / 2 <= 1e-9
    assert engine.u is u
    few = swept(part, np.zeros(20), aim._replace(max_sweeps=1), device="gpu")
    assert few[1] == 1  # the last sweep is the processor's


def test_other_sets_than_balls_are_planned_in_on_the_processor(numpy_as_cupy):
    class Other:
        r_upper, n_entries = WORLD.r_mean, len(WORLD.rows.succ)

        def prepare(self):
            return Solver(iterate_exact, sweep_exact), Rows(*WORLD.rows)

    with pytest.raises(ValueError, match="device='gpu' plans in L1 balls"):
        extended_value_iteration(WORLD.pairs.ptr, Other(), 1e-3, device="gpu")
