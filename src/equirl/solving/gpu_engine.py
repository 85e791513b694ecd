"""The sweeps of large blocks on a GPU, by CuPy (the extra ``gpu``): for plain rows, and for L1 balls around them.

The same mathematics as on the processor, one thread per state, in double precision. What comes back is a value function
to start from: the processor sweeps on from it, in most cases once, so that what is certified is certified there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.model.rows import Rows
from equirl.solving.sweep_engine import modified_sweeps
from equirl.solving.value_iteration import Aim
from equirl.words.checking import choice

DEVICES = ("cpu", "gpu")
THREADS = 128  # of a block
LOOKS = 5  # cheap sweeps between two looks at their bracket, for each of which the processor waits

SOURCE = r"""
__device__ double row_value(long long first, long long last, const int* succ, const double* prob, const double* u) {
    double total = 0.0;
    for (long long j = first; j < last; ++j) total += prob[j] * u[succ[j]];
    return total;
}

// The largest q.u within 2 m of the row in L1; the row is kept in increasing u.
__device__ double ball_value(long long first, long long last, int* succ, double* prob, const double* u,
                             double m, double u_max) {
    if (m >= 1.0) return u_max;
    for (long long i = first + 1; i < last; ++i) {
        int x = succ[i];
        double p = prob[i], value = u[x];
        long long j = i;
        for (; j > first && u[succ[j - 1]] > value; --j) { succ[j] = succ[j - 1]; prob[j] = prob[j - 1]; }
        succ[j] = x;
        prob[j] = p;
    }
    double left = m, total = 0.0;
    for (long long j = first; j < last; ++j) {
        double taken = fmin(prob[j], left);
        left -= taken;
        total += (prob[j] - taken) * u[succ[j]];
    }
    return total + (m - left) * u_max;
}

extern "C" __global__ void sweep(long long n, const long long* pair_ptr, const long long* row_ptr, int* succ,
                                 double* prob, const double* reward, const double* moved, int balls, int follow,
                                 double discount, const double* u, const double* u_max, double* out, long long* pair) {
    long long s = (long long)blockDim.x * blockIdx.x + threadIdx.x;
    if (s >= n) return;
    long long first = follow ? pair[s] : pair_ptr[s], last = follow ? first + 1 : pair_ptr[s + 1], best = first;
    double top = -1e300;
    for (long long k = first; k < last; ++k) {
        double value = balls ? ball_value(row_ptr[k], row_ptr[k + 1], succ, prob, u, moved[k], u_max[0])
                             : row_value(row_ptr[k], row_ptr[k + 1], succ, prob, u);
        double q = reward[k] + discount * value;
        if (q > top) { top = q; best = k; }
    }
    out[s] = top;
    pair[s] = best;
}
"""


def checked_device(device: Any) -> str:
    """``"cpu"`` or ``"gpu"``; an error where the second is asked for and is not there."""
    if choice("device", device, DEVICES) == "gpu":
        array_module()
    return str(device)


def array_module() -> Any:
    """CuPy, where it and a GPU are there."""
    try:
        import cupy
    except ImportError:
        raise ImportError("device='gpu' needs CuPy: pip install 'equirl[gpu]'") from None
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        found = 0
    if not found:
        raise RuntimeError("device='gpu' needs an NVIDIA GPU and its driver; CuPy finds none. Leave device out")
    return cupy


class GpuEngine:
    """Sweeps of ``u`` on the GPU, over rows or, with ``moved`` (half the radius of each pair), over L1 balls."""

    def __init__(
        self, pair_ptr: np.ndarray, rows: Rows, reward: np.ndarray, u: np.ndarray, moved: np.ndarray | None = None
    ) -> None:
        self.xp = xp = array_module()
        self.n = len(u)
        self.u, self.out, self.pair = xp.array(u), xp.empty(self.n), xp.zeros(self.n, np.int64)
        arrays = (pair_ptr.astype(np.int64), rows.ptr.astype(np.int64), rows.succ.astype(np.int32))
        rest = (rows.prob, reward, np.zeros(1) if moved is None else moved)
        self.model = (*map(xp.array, arrays), *(xp.array(values, np.float64) for values in rest))
        self.balls = np.int32(moved is not None)
        self.kernel = xp.RawKernel(SOURCE, "sweep")

    def _launch(self, discount: float, follow: int) -> Any:
        """One sweep over all pairs, or along the pairs found; returns T u - u."""
        how = (self.balls, np.int32(follow), np.float64(discount))
        arguments = (np.int64(self.n), *self.model, *how, self.u, self.u.max().reshape(1), self.out, self.pair)
        self.kernel((-(-self.n // THREADS),), (THREADS,), arguments)
        return self.out - self.u

    def sweep(self, discount: float) -> tuple[float, float]:
        change = self._launch(discount, 0)
        return float(change.min()), float(change.max())

    def step(self, damping: float, centre: float) -> None:
        self.u += damping * (self.out - self.u - centre)

    def follow(self, aim: Aim, most: int, enough: float) -> int:
        for n in range(1, most + 1):
            change = self._launch(aim.discount, 1)
            low, high = change.min(), change.max()  # on the GPU, which need not be waited for
            self.u += aim.damping * (change - (low + high) / 2)
            if n % LOOKS == 0 and float(high - low) <= enough:
                return n
        return max(most, 0)

    def size(self, shift: float) -> float:
        return max(abs(float(self.u.max()) + shift), abs(float(self.u.min()) + shift))


def swept_on_gpu(engine: GpuEngine, u: np.ndarray, aim: Aim, done: int, evaluations: int) -> int:
    """Sweep on the GPU for all but the last sweep allowed; ``u`` is changed in place. The number of sweeps done."""
    if aim.max_sweeps - done < 2:
        return done
    done, _, _ = modified_sweeps(engine, aim._replace(max_sweeps=aim.max_sweeps - 1), done, evaluations)
    u[:] = engine.xp.asnumpy(engine.u)
    return done
