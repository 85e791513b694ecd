"""The optimal gain of a block whose gain is constant, by the method asked for or by the one that suits it.

``auto`` sweeps first, for most problems mix quickly. Where the accuracy is then met, policy iteration sharpens the
answer if its LU takes milliseconds. Where it is not, come in turn: policy iteration from the policy that value
iteration has found; policy iteration towards a state worth going to, if its factors are affordable (a real count, see
:mod:`equirl.solving.factorization`); elimination for sticky chains of a few thousand states; more sweeps. Large blocks
try the second before they spend a thousand sweeps. The best bracket found is returned.
"""

from __future__ import annotations

import numpy as np
import scipy

from equirl.numerics.arrays import owners
from equirl.solving.chains import Block
from equirl.solving.elimination_policy_iteration import certified_by_differences, elimination_policy_iteration
from equirl.solving.factorization import SMALL
from equirl.solving.gth_elimination import MOST_DENSE
from equirl.solving.policy_iteration import directed_policy_iteration, policy_iteration
from equirl.solving.value_iteration import Answer, SolverLimits, better, value_iteration

METHODS = ("auto", "policy", "value")
FIRST_SWEEPS = 1000  # of value iteration, before policy iteration is considered
POLICY_SWEEPS = 5000  # of policy iteration and of escapes from policies, before what helps slow and sticky chains
LARGE, LARGE_SWEEPS = 5 * 10**5, 50  # successors of a large block (or SMALL states), and its first sweeps
FACTOR_WORK, POLISH_WORK = 2e9, 1e7  # what an LU may cost where it is needed, and where it only sharpens the answer


def solve_block(part: Block, method: str, limits: SolverLimits) -> Answer:
    """Solve a block whose optimal gain is constant."""
    u = np.zeros(part.n_states)
    if method == "value":
        return value_iteration(part, u, limits)
    if method == "policy":
        some = SolverLimits(limits.accuracy, min(limits.max_sweeps, POLICY_SWEEPS))
        answer = _helped_where_stalled(part, u, limits, policy_iteration(part, u, some))
        if answer.accuracy > limits.accuracy and POLICY_SWEEPS <= answer.n_sweeps < limits.max_sweeps:
            answer = better(answer, policy_iteration(part, u, limits, answer.n_sweeps))
        return answer
    if part.n_states > SMALL or len(part.succ) > LARGE:
        return _solve_large(part, u, limits)
    answer = value_iteration(part, u, SolverLimits(limits.accuracy, min(FIRST_SWEEPS, limits.max_sweeps)))
    allowed = POLISH_WORK if answer.accuracy <= limits.accuracy else FACTOR_WORK
    if answer.n_sweeps < limits.max_sweeps and band_work(part) <= allowed:
        last = min(limits.max_sweeps, answer.n_sweeps + FIRST_SWEEPS)
        answer = better(answer, policy_iteration(part, u, SolverLimits(limits.accuracy, last), answer.n_sweeps))
    answer = _helped_where_stalled(part, u, limits, answer)
    return _last_sweeps(part, u, limits, answer)


def _solve_large(part: Block, u: np.ndarray, limits: SolverLimits) -> Answer:
    """A few sweeps; where a thousand would not do at the rate they show, policy iteration towards one state."""
    accuracy, most = limits
    first = value_iteration(part, u, SolverLimits(accuracy, min(LARGE_SWEEPS, most)))
    answer = _last_sweeps(part, u, SolverLimits(accuracy, min(2 * LARGE_SWEEPS, most)), first)
    shrunk = (answer.high - answer.low) / (first.high - first.low) if first.high > first.low else 0.0
    if answer.accuracy > accuracy and 0 < shrunk ** (FIRST_SWEEPS / LARGE_SWEEPS) <= accuracy / answer.accuracy:
        answer = _last_sweeps(part, u, SolverLimits(accuracy, min(FIRST_SWEEPS, most)), answer)
    answer = _helped_where_stalled(part, u, limits, answer)
    return _last_sweeps(part, u, limits, answer)


def _last_sweeps(part: Block, u: np.ndarray, limits: SolverLimits, answer: Answer) -> Answer:
    """The answer, bettered by more sweeps of ``u`` where it misses the accuracy."""
    if answer.accuracy <= limits.accuracy or answer.n_sweeps >= limits.max_sweeps:
        return answer
    return better(answer, value_iteration(part, u, limits, answer.n_sweeps))


def _helped_where_stalled(part: Block, u: np.ndarray, limits: SolverLimits, answer: Answer) -> Answer:
    """The answer, bettered by the methods for slow and for sticky chains where it misses the accuracy."""
    if answer.accuracy > limits.accuracy and answer.n_sweeps < limits.max_sweeps:
        new = directed_policy_iteration(part, u, limits, answer.n_sweeps)
        answer = answer if new is None else better(answer, new)
    if answer.accuracy > limits.accuracy >= answer.accuracy - answer.noise:
        answer = certified_by_differences(part, answer)
    if answer.accuracy > limits.accuracy and answer.n_sweeps < limits.max_sweeps and part.n_states <= MOST_DENSE:
        new = elimination_policy_iteration(part, answer.pair, limits, answer.n_sweeps)
        answer = answer if new is None else better(answer, new)
    return answer


def band_work(part: Block) -> float:
    """At most how many operations a sparse LU of a policy's chain takes: n times the squared bandwidth of the graph."""
    graph = part.graph()
    place = np.empty(part.n_states, np.int64)
    place[scipy.sparse.csgraph.reverse_cuthill_mckee(graph, symmetric_mode=False)] = np.arange(part.n_states)
    source = owners(graph.indptr)
    bandwidth = float(np.abs(place[source] - place[graph.indices]).max())
    return part.n_states * bandwidth**2
