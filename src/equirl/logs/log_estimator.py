"""A policy from a log as an estimator: ``fit`` and ``predict``, as scikit-learn's users know them.

scikit-learn itself is not needed; its tools (``clone``, pipelines, ``get_params``) find what they look for.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from equirl.logs.log import Log, from_log
from equirl.logs.log_columns import one_column
from equirl.model.pairs import action_labels
from equirl.numerics.seeding import Seed
from equirl.words.answer_units import ByName
from equirl.words.checking import unknown_name


class NotFitted(ValueError, AttributeError):  # noqa: N818 (it names the finding)
    """``predict`` was called before ``fit``."""


class LogPolicy:
    """The best policy that a log supports: ``LogPolicy().fit(frame).predict(states)``.

    Parameters
    ----------
    columns, actions, reward_range, restart, costs
        How the log is read: see :func:`equirl.from_log`.
    draws, caution, discount, seed
        How the policy is found: see :func:`equirl.learn`.

    Attributes
    ----------
    learned_ : Learned
        What :func:`equirl.learn` found: the policy with its gain, in the units of the log, and how sure it is.
    policy_ : dict
        ``{state: action}``.

    Examples
    --------
    >>> rows = {"state": ["low", "low", "high"] * 50, "action": ["wait", "fill", "sell"] * 50,
    ...         "reward": [0.0, -1.0, 3.0] * 50, "next_state": ["low", "high", "low"] * 50}
    >>> policy = LogPolicy(draws=10).fit(rows)
    >>> policy.predict(["high", "low", "low"])
    array(['sell', 'fill', 'fill'], dtype=object)
    >>> policy.get_params()["draws"], policy.set_params(draws=20).draws
    (10, 20)
    """

    def __init__(
        self,
        *,
        columns: Mapping[str, str] | None = None,
        actions: Any = "seen",
        reward_range: tuple[float, float] | None = None,
        restart: Any = None,
        costs: bool = False,
        draws: int = 50,
        caution: float = 0.0,
        discount: float | None = None,
        seed: Seed = 0,
    ) -> None:
        self.columns, self.actions, self.reward_range = columns, actions, reward_range
        self.restart, self.costs = restart, costs
        self.draws, self.caution, self.discount, self.seed = draws, caution, discount, seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the policy.

        Parameters
        ----------
        X : data frame, path, mapping of columns, rows, or Log
            The log, as :func:`equirl.from_log` takes it.
        y : None
            Not used: what was earned stands in the log.
        """
        log = X if isinstance(X, Log) else from_log(
            X, columns=self.columns, actions=self.actions, reward_range=self.reward_range, restart=self.restart,
            costs=self.costs,
        )  # fmt: skip
        self.learned_ = log.learn(draws=self.draws, caution=self.caution, discount=self.discount, seed=self.seed)
        self.policy_ = self.learned_.named_policy()
        return self

    def predict(self, X: Any) -> ByName[np.ndarray]:
        """The action to play in each of some states.

        Parameters
        ----------
        X : sequence of states, or data frame
            States by name; of a data frame or a mapping the column of states.

        Returns
        -------
        ndarray, shape (n,)
            Actions by name, or by number where they have none.
        """
        if not hasattr(self, "learned_"):
            kind = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", NotFitted)
            raise kind("this LogPolicy is not fitted yet; call fit with a log first")
        pairs, policy = self.learned_.log.pairs, self.learned_.policy
        states = [pairs.state_number(state) for state in one_column(X, (self.columns or {}).get("state", "state"))]
        actions = action_labels(pairs, policy[states].tolist())
        found = np.empty(len(actions), object if pairs.action_names is not None else np.int64)
        found[:] = actions
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name.

        Parameters
        ----------
        deep : bool
            Not used: no setting has settings of its own.
        """
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change settings.

        Parameters
        ----------
        **params
            By name.
        """
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(unknown_name("setting", name, known))
            setattr(self, name, value)
        return self

    @classmethod
    def _names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's tools ask; they alone do."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True),
        )  # fmt: skip

    def __repr__(self) -> str:
        usual = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not usual[name]]
        return f"LogPolicy({', '.join(changed)})"
