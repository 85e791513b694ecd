"""Numbers: compiled kernels and their cache, random draws and seeds, owned arrays, quantiles of Beta distributions."""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")  # for an environment in which processes run side by side

if TYPE_CHECKING:
    from equirl.numerics.compiling import inlined as inlined, lean_kernel as lean_kernel
else:
    EXPORTS = {
        "compiling": "inlined lean_kernel",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
