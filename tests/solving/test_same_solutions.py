"""Solutions of given MDPs are what they were, and so are the parts that they are found with (``same_solutions.json``).

``python tests/solving/test_same_solutions.py`` stores them anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import scipy

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.model.mdp import TabularMDP
from equirl.solving import chains, discounted, gain_methods, quotient, renewal
from equirl.solving.chains import (
    approach,
    attractor,
    block,
    block_kind,
    closed_classes,
    decided,
    end_components,
    incoming,
    steps_to,
    whole,
)
from equirl.solving.discounted import _sweeps_in_order, _Values, solve_discounted
from equirl.solving.gain_methods import (
    Bias,
    _bracket,
    _greedy,
    band_work,
    certified_by_differences,
    directed_policy_iteration,
    elimination_policy_iteration,
    modified_iteration,
    policy_iteration,
    solve_block,
)
from equirl.solving.goals import solve_goal
from equirl.solving.gth_elimination import costs_to_go, eliminate, irreducible_distribution, long_run_distribution
from equirl.solving.optimal_gain import AVERAGE_REWARD, Criterion, certified_solution, solve
from equirl.solving.policies import Policy
from equirl.solving.quotient import best_values, error_of, members, moves_between
from equirl.solving.renewal import discounted_values, fill, fill_reducing_order, gain_and_bias, renew, share_of_time
from equirl.solving.shortest_times import _hasten, diameter
from equirl.solving.sweep_engine import (
    Aim,
    CompiledEngine,
    best_sweep,
    chain_space,
    first_order,
    follow_in_order,
    follow_pairs,
    gather,
    modified_sweeps,
    rounds_in_order,
    sweep_in_order,
    swept,
)
from equirl.solving.value_iteration import (
    SolverLimits,
    Ties,
    bellman,
    greedy,
    improve,
    mean_value,
    relax,
    value_iteration,
)
from oracles_solving import dense_mdp, random_mdp
from stored_kit import answer, check, store

LIMITS = SolverLimits(1e-7, 5000)


def mdp_of(kind, seed=0):
    """Problems of every kind, small."""
    rng = np.random.default_rng(seed + 17)
    if kind == "dense":
        return dense_mdp(rng, 6, 3)
    if kind == "sparse":
        return random_mdp(rng, 12)
    if kind == "parts":  # what cannot be left, and ways there
        pairs = [(s, 0, {s: 0.5, (s + 1) % 3: 0.5}, 0.1 * s) for s in range(3)]
        pairs += [(s, 1, {s: 0.1, (s + 2) % 3: 0.9}, 0.15) for s in range(3)]
        pairs += [
            (3, 0, {3: 1.0}, 0.8),
            (4, 0, {5: 1.0}, 0.3),
            (5, 0, {4: 0.9, 5: 0.1}, 0.9),
            (5, 1, {3: 0.2, 0: 0.8}, 0),
        ]
        pairs += [(6, 0, {0: 0.3, 3: 0.3, 4: 0.4}, 1.0), (6, 1, {7: 1.0}, 0.0), (7, 0, {6: 0.6, 4: 0.4}, 0.4)]
        pairs += [(7, 1, {7: 0.99, 3: 0.01}, 0.2)]
        return TabularMDP.from_pairs(pairs, 8, initial=6)
    if kind == "cycle":  # periodic, with a shortcut
        pairs = [(s, 0, {(s + 1) % 7: 1.0}, 0.1 * (s % 3)) for s in range(7)]
        pairs += [(2, 1, {5: 0.7, 2: 0.3}, 0.6), (4, 1, {0: 1.0}, 0.05)]
        return TabularMDP.from_pairs(pairs, 7)
    if kind == "river":  # far away from where most is paid
        pairs = [(s, 0, {max(0, s - 1): 1.0}, 0.05 if s == 0 else 0.0) for s in range(15)]
        pairs += [
            (s, 1, {min(14, s + 1): 0.35, s: 0.6, max(0, s - 1): 0.05} if 0 < s < 14 else {s: 0.6, abs(s - 1): 0.4},
                float(s == 14))
            for s in range(15)
        ]  # fmt: skip
        return TabularMDP.from_pairs(pairs, 15)
    if kind == "sticky":  # regions left once in a million steps
        pairs = [(s, 0, {s: 1 - 1e-6 - 0.1, s ^ 1: 0.1, (s + 2) % 6: 1e-6}, 0.1 * s) for s in range(6)]
        pairs += [(s, 1, {s: 0.5, s ^ 1: 0.5}, 0.07 * s + 0.1) for s in range(0, 6, 2)]
        return TabularMDP.from_pairs(pairs, 6)
    return TabularMDP.from_pairs(  # money, with names and a state that is left for ever
        [("begin", "go", {"a": 0.5, "b": 0.5}, -3.0), ("a", "stay", {"a": 0.9, "b": 0.1}, 2.0),
         ("a", "go", {"b": 1.0}, -1.0), ("b", "stay", {"b": 1.0}, 1.5), ("b", "back", {"a": 0.3, "b": 0.7}, 0.0)],
        rescale=True,
    )  # fmt: skip


KINDS = ("dense", "sparse", "parts", "cycle", "river", "sticky", "money")


def solved(kind):
    def case():
        mdp, found = mdp_of(kind), {}
        for method in ("auto", "policy", "value"):
            answer = solve(mdp, method=method, accuracy=1e-6, max_sweeps=4000, multichain=True)
            found[method] = {
                "gain": [answer.gain, answer.unit_gain], "bias": answer.bias, "policy": answer.policy,
                "pair": answer.policy_pair, "by state": answer.gain_by_state, "span": [answer.span],
                "kind": [answer.kind], "sweeps": [answer.n_sweeps], "method": [answer.method],
                "converged": [answer.converged],
            }  # fmt: skip
        for method in ("auto", "modified", "policy", "value"):
            answer = solve_discounted(mdp, 0.95, 1e-7, method, 3000)
            found[f"discounted {method}"] = {
                "value": answer.value, "unit": answer.unit_value, "policy": answer.policy, "sweeps": [answer.n_sweeps],
                "method": [answer.method], "start": [answer.value_from_start], "converged": [answer.converged],
            }  # fmt: skip
        found["diameter"] = [diameter(mdp)]
        first = np.array(mdp.pairs.action[mdp.pairs.ptr[:-1]])
        for name, weights in (("first", first), ("mixed", _mixed(mdp))):
            policy = Policy(mdp, weights)
            found[name] = {
                "gain": [policy.gain, policy.unit_gain], "values": policy.values(0.9), "kind": [policy.kind()],
                "everywhere": [policy.kind(everywhere=True)], "share": policy.stationary_distribution(),
            }  # fmt: skip
            if kind != "sticky":
                found[f"{name} evaluated"] = policy.evaluate()
        return found

    return case


def _mixed(mdp):
    weight = 1.0 + np.arange(mdp.n_pairs) % 3
    total = np.bincount(mdp.pairs.state, weights=weight, minlength=mdp.n_states)
    return weight / total[mdp.pairs.state]


def structure(kind):
    """What can be reached, avoided, left; the same of a part of the states."""

    def case():
        mdp, found = mdp_of(kind), {}
        n = mdp.n_states
        some = np.arange(n) % 4 != 2
        pieces = {"whole": whole(mdp), "decided": block(mdp, decided(mdp))}
        label, stays = end_components(pieces["whole"])
        for c, (states, pairs) in enumerate(members(pieces["whole"], label, stays)):
            pieces[f"component {c}"] = quotient.inner_block(pieces["whole"], states, pairs)
        for name, part in pieces.items():
            arrivals, target = incoming(part), np.arange(part.n_states) == part.n_states // 2
            found[name] = {
                "block": part, "kind": [block_kind(part)], "arrivals": arrivals, "closed": closed_classes(part.edges),
                "graph": part.graph().toarray(), "matrix": part.matrix().toarray(), "steps": steps_to(arrivals, target),
                "attractor": attractor(part, target), "approach": approach(part, target), "owner": part.owner,
                "components": np.concatenate(end_components(part)), "band": [band_work(part)],
            }  # fmt: skip
            mask = np.arange(len(part.pair)) % 3 != 1
            found[f"{name} of some pairs"] = {"label": np.concatenate(end_components(part, mask))}
        found["reachable"] = {"mask": mdp.reachable(), "decided": decided(mdp), "some": attractor(whole(mdp), some)}
        with mock.patch.multiple(chains, FIRST_STEPS=1, MOST_STARTS=2):
            found["cut short"] = np.concatenate(end_components(whole(mdp)))
        return found

    return case


def sweeps(kind):
    """Single steps of every method, from values that are not constant."""

    def case():
        mdp = mdp_of(kind)
        part = block(mdp, decided(mdp)) if kind != "parts" else whole(mdp)
        model, n, found = part.model, part.n_states, {}
        u, out, pair = np.linspace(0, 1, n) ** 2, np.empty(n), np.zeros(n, np.int64)
        found["bellman"] = {"ends": bellman(model, 0.9, u, out), "out": out.copy()}
        greedy(model, 1.0, u, pair)
        found["greedy"] = pair.copy()
        found["mean"] = [mean_value(model, np.uint64(k), u) for k in range(len(part.pair))]
        low, high, changed = best_sweep(model, 0.9, u, out, pair)
        found["best"] = {"ends": [low, high, changed], "out": out.copy(), "pair": pair.copy()}
        again = best_sweep(model, 0.9, u, out, pair)
        found["best again"] = again
        chain = chain_space(model)
        gather(model, pair, chain)
        size = int(chain.rows.ptr[-1])
        found["chain"] = {"ptr": chain.rows.ptr, "prob": chain.rows.prob[:size], "reward": chain.reward,
                          "room": [len(chain.rows.prob)]}  # fmt: skip
        for enough in (1e-3, 10.0):
            v = u.copy()
            aim = Aim(0.9, 0.8, 1e-6, 1e-14, 100)
            found[f"followed {enough}"] = {
                "n": [follow_pairs(chain, aim, v, out, 7, enough)],
                "v": v,
                "out": out.copy(),
            }
        order, v = first_order(part), u.copy()
        found["order"] = order
        sweep_in_order(model, 0.9, order, v, pair)
        found["in order"] = {"v": v.copy(), "pair": pair.copy()}
        gather(model, pair[order], chain)
        for width, most, fraction in ((n, 5, 0.3), (4, 3, 0.0), (1, 2, 0.5)):
            w = v.copy()
            visits = follow_in_order(chain, 0.9, order, w, width, most, fraction)
            found[f"follow in order {width}"] = {"visits": [visits], "v": w}
        v = np.zeros(n)
        for turn, (count, low, high, swept_once) in zip(range(3), rounds_in_order(part, 0.9, v), strict=False):
            found[f"round {turn}"] = {"n": [count, low, high], "out": swept_once.copy(), "v": v.copy()}
        v = u.copy()
        found["relaxed"] = {"end": relax(model, v, Aim(1.0, 0.8, 1e-5, 1e-14, 40)), "v": v}
        for weight, shift in ((1.0, 0.0), (9.0, 10.0)):
            engine = CompiledEngine(part, u.copy())
            aim = Aim(0.9, 1.0, 1e-5, 1e-13, 60, weight, shift)
            found[f"engine {weight}"] = {
                "end": modified_sweeps(engine, aim, 3, 5),
                "u": engine.u,
                "size": [engine.size(2.0), engine.size(-2.0)],
            }
        engine, *end = swept(part, u.copy(), Aim(1.0, 0.8, 1e-4, 1e-13, 30))
        found["swept"] = {"end": end, "pair": engine.pair, "out": engine.out}
        gain, improved = np.round(np.linspace(1, 0, n), 1), pair.copy()
        changed = improve(model, gain, u, Ties(0.05, 0.01), improved)
        found["improved"] = {
            "pair": improved,
            "changed": [changed, improve(model, gain, u, Ties(0.05, 0.01), improved)],
        }
        bias = Bias(u, 1e-3 * np.cos(np.arange(n)))
        found["bracket"] = _bracket(model, bias, pair)
        for tie in (0.0, 0.05):
            best = pair.copy()
            found[f"greedy {tie}"] = {"changed": [_greedy(model, bias, tie, best)], "pair": best}
        alike = Bias(np.zeros(n), np.zeros(n))  # all pairs of a state that pay alike are equally good
        level = model._replace(reward=np.round(2 * model.reward) / 2)
        for name, start in (
            ("first", part.pair_ptr[:-1].copy()),
            ("last", part.pair_ptr[1:] - 1),
            ("none", np.full(n, -1)),
        ):
            best = start.copy()
            found[f"ties from the {name}"] = {"changed": [_greedy(level, alike, 0.0, best)], "pair": best}
        greedy(level, 1.0, np.zeros(n), best)
        found["greedy among equals"] = best.copy()
        found["best among equals"] = [*best_sweep(level, 1.0, np.zeros(n), out, best), *best]
        sweep_in_order(level, 0.0, np.arange(n), np.zeros(n), best)
        found["in order among equals"] = best.copy()
        faster = pair.copy()
        found["hastened"] = {"changed": [_hasten(model, 10 * u, 0.1, faster)], "pair": faster}
        return found

    return case


def shown(answer):
    if answer is None:
        return {"none": [1]}
    return {
        "ends": [answer.low, answer.high], "bias": answer.bias - answer.bias.min(), "pair": answer.pair,
        "sweeps": [answer.n_sweeps], "method": [answer.method],
    }  # fmt: skip


def methods(kind):
    """Methods that are tried in turn, each alone; large blocks, too."""

    def case():
        mdp, found = mdp_of(kind), {}
        part = block(mdp, decided(mdp))
        zero = np.zeros(part.n_states)
        first = part.pair_ptr[:-1].copy()
        found["value"] = shown(value_iteration(part, zero.copy(), SolverLimits(1e-5, 300), 2))
        found["policy"] = shown(policy_iteration(part, zero.copy(), SolverLimits(1e-9, 300), 1))
        found["directed"] = shown(directed_policy_iteration(part, zero.copy(), SolverLimits(1e-9, 300), 1))
        found["eliminated"] = shown(elimination_policy_iteration(part, first, SolverLimits(1e-12, 300), 4))
        found["modified"] = shown(modified_iteration(part, zero.copy(), SolverLimits(1e-5, 200), 3))
        rough = value_iteration(part, zero.copy(), SolverLimits(1e-2, 50))
        found["by differences"] = shown(certified_by_differences(part, rough))
        for name, u in (
            ("flat", zero),
            ("rising", 5 * np.linspace(0, 1, part.n_states)),
            ("falling", -np.arange(part.n_states)),
        ):
            found[f"worth going to, {name}"] = list(gain_methods._states_worth_going_to(part, u.astype(float)))
        with mock.patch.multiple(gain_methods, LARGE=5, LARGE_SWEEPS=4, FIRST_SWEEPS=40):
            found["large"] = shown(solve_block(part, "auto", LIMITS))
        with mock.patch.multiple(gain_methods, FIRST_SWEEPS=2, MOST_POLICY_SWEEPS=3):
            for method in ("auto", "policy"):
                found[f"short {method}"] = shown(solve_block(part, method, SolverLimits(1e-8, 400)))
        with mock.patch.multiple(gain_methods, POLISH_WORK=0.0, FACTOR_WORK=0.0):
            found["no factors"] = shown(solve_block(part, "auto", LIMITS))
        everything = whole(mdp)
        with mock.patch.multiple(discounted, LARGE=5, LARGE_SWEEPS=4, FIRST_SWEEPS=12, SWEEPS_BETWEEN=3):
            for most in (3, 7, 30, 400):
                values = discounted._find_values(everything, 0.97, "auto", SolverLimits(1e-9, most))
                found[f"discounted large {most}"] = {
                    "value": values.value,
                    "sweeps": [values.n_sweeps],
                    "method": [values.method],
                }
        with mock.patch.multiple(discounted, FIRST_SWEEPS=2, SWEEPS_BETWEEN=2):
            values = discounted._find_values(everything, 0.99, "auto", SolverLimits(1e-9, 500))
            found["discounted"] = {"value": values.value, "sweeps": [values.n_sweeps], "method": [values.method]}
        rough = _Values(np.zeros(mdp.n_states), 5.0, 2, "value")
        for most in (10, 60, 500):
            values = _sweeps_in_order(everything, 0.97, rough, SolverLimits(1e-6, most))
            found[f"in order {most}"] = {"value": values.value, "sweeps": [values.n_sweeps], "method": [values.method]}
        return found

    return case


def renewals():
    """Chains solved by renewal and by elimination; orders that keep factors sparse."""
    rng, found = np.random.default_rng(5), {}
    dense = rng.dirichlet(np.full(9, 0.4), 9)
    apart = np.zeros((9, 9))
    apart[:4, :4], apart[4:7, 4:7] = rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(3), 3)
    apart[7:] = rng.dirichlet(np.ones(9), 2)
    reward, initial = rng.random(9), rng.dirichlet(np.ones(9))
    for name, matrix in (("dense", dense), ("apart", apart)):
        chain = scipy.sparse.csr_array(matrix)
        for reference in (None, 5, 8):
            parts = renew(chain, reference=reference)
            gain, bias = gain_and_bias(parts, reward)
            found[f"{name} {reference}"] = {
                "reference": parts.reference, "label": parts.label, "stationary": parts.stationary, "gain": gain,
                "bias": bias,
            }  # fmt: skip
        found[f"{name} share"] = share_of_time(chain, initial)
        found[f"{name} eliminated"] = long_run_distribution(chain, closed_classes(chain), initial)
        found[f"{name} mass"] = renewal.settled_mass(chain, closed_classes(chain), n_steps=6)
        found[f"{name} values"] = discounted_values(chain, reward, 0.8)
        system = scipy.sparse.csc_array(scipy.sparse.identity(9) - 0.5 * chain)
        place = fill_reducing_order(system)
        found[f"{name} fill"] = [*fill(system, place), *fill(system, np.arange(9))]
    steps, leaving = eliminate(dense)
    cost, to_go = costs_to_go(steps, leaving, reward)
    found["elimination"] = {"steps": steps, "leaving": leaving, "cost": [cost], "to go": to_go}
    found["distribution"] = irreducible_distribution(dense)
    far = np.diag(np.full(8, 1e-40), -1) + np.diag(np.full(8, 0.5), 1)
    far += np.diag(1 - far.sum(axis=1))
    found["of huge ratios"] = np.log(irreducible_distribution(far) + 1e-300)
    system = scipy.sparse.csc_array(scipy.sparse.identity(9) - 0.5 * scipy.sparse.csr_array(dense))
    entries, work = fill(system, fill_reducing_order(system))
    for name, limits in (
        ("as many", (entries, work)), ("too many", (entries - 1, work)), ("too much", (entries, 0.99 * work)),
    ):  # fmt: skip
        with mock.patch.multiple(renewal, MOST_FILL=limits[0], MOST_WORK=limits[1]):
            found[name] = answer(lambda: renewal.factor(chain, np.full(9, 0.5), ordered=True).solve(reward))
    with mock.patch.object(renewal, "MOST_FILL", 3):
        found["cut off"] = fill(scipy.sparse.csc_array(dense), np.arange(9))[:1]
    return found


def quotients():
    part = whole(mdp_of("parts"))
    label, stays = end_components(part)
    outside = np.flatnonzero(label < 0)
    node = label.copy()
    node[outside] = np.arange(label.max() + 1, label.max() + 1 + len(outside))
    n_nodes = int(node.max()) + 1
    moves, leaving = moves_between(part, node, np.flatnonzero(~stays), n_nodes)
    found = {
        "moves": {"matrix": moves.matrix.toarray(), "origin": moves.origin, "paid": moves.paid, "first": moves.first,
                  "mover": moves.mover, "leaving": leaving},
    }  # fmt: skip
    for name, stay in (("rising", np.linspace(0, 1, n_nodes)), ("falling", np.linspace(2, -1, n_nodes))):
        ends = np.where(np.arange(n_nodes) < label.max() + 1, stay, -np.inf)
        value, choice = best_values(moves, ends)
        top, row = moves.best(value)
        found[name] = {"value": value, "choice": choice, "top": top, "row": row}
        found[f"{name} certified"] = [error_of(moves, ends, value, choice) < 1e-10]
        off = error_of(moves, ends, value + 1e-3 * np.cos(np.arange(n_nodes)), choice)
        found[f"{name} off"] = [off]
        exits = np.where(choice < 0, -1, leaving[choice])
        pair = np.where(label < 0, exits[node], part.pair_ptr[:-1])
        found[f"{name} unfolded"] = quotient.unfolded(part, label, stays, exits, pair)
    return found


def goals(objective, maximise):
    def case():
        found = {}
        for kind, goal in (
            ("parts", [3]),
            ("river", 14),
            ("sparse", [2, 5]),
            ("money", "b"),
            ("cycle", lambda s: s == 3),
        ):
            answer = solve_goal(mdp_of(kind), goal, objective, maximise)
            found[kind] = {
                "value": answer.value, "policy": answer.policy, "pair": answer.policy_pair, "goal": answer.goal,
                "start": [answer.value_from_start], "converged": [answer.converged, answer.maximise],
            }  # fmt: skip
        return found

    return case


def criteria():
    mdp = mdp_of("money")
    answer = certified_solution(mdp, 1e-5)
    criterion = Criterion(0.9)
    t = np.array([1, 10, 1000])
    return {
        "certified": [answer.gain, answer.unit_gain], "accuracy": [AVERAGE_REWARD.accuracy(9), criterion.accuracy(9)],
        "optimum": [AVERAGE_REWARD.optimum(mdp), criterion.optimum(mdp), criterion.optimum(mdp_of("parts"))],
        "regret": criterion.regret(t, 0.4, 0.3 * t),
    }  # fmt: skip


CASES = {f"solved {kind}": solved(kind) for kind in KINDS}
CASES |= {f"structure of {kind}": structure(kind) for kind in KINDS}
CASES |= {f"sweeps of {kind}": sweeps(kind) for kind in KINDS}
CASES |= {f"methods of {kind}": methods(kind) for kind in KINDS if kind not in ("parts",)}
CASES |= {
    f"{'largest' if most else 'least'} {objective}": goals(objective, most)
    for objective in ("reach", "cost", "reward", "steps")
    for most in (True, False)
}
CASES |= {"renewals": renewals, "quotients": quotients, "criteria": criteria}


@pytest.mark.parametrize("case", CASES)
def test_solutions_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
