"""MDPs in files: what is saved, and how it is read back."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.model.names import names_from_json
from equirl.model.pairs import Pairs
from equirl.model.picture import Picture
from equirl.model.transition_rows import Rows

if TYPE_CHECKING:
    from equirl.model.mdp import TabularMDP

FORMAT = "equirl-mdp", 1
T = TypeVar("T")


def save_mdp(mdp: TabularMDP, path: str | os.PathLike[str]) -> None:
    """Save an MDP as ``.npz``."""
    arrays = {
        "pair_ptr": mdp.pairs.ptr, "action": mdp.pairs.action, "succ_ptr": mdp.rows.ptr,
        "succ": mdp.rows.succ, "prob": mdp.rows.prob, "r_mean": mdp.r_mean, "initial": mdp.initial,
    }  # fmt: skip
    meta: dict[str, Any] = {
        "state_names": mdp.pairs.state_names, "action_names": mdp.pairs.action_names, "name": mdp.name,
        "reward_law": mdp.reward_law, "concentration": mdp.concentration, "reward_map": mdp.reward_map,
    }  # fmt: skip
    if mdp.discount is not None:
        meta["discount"] = mdp.discount
    if mdp.picture is not None:
        meta["picture"] = mdp.picture.rows
        arrays["cell"] = mdp.picture.cell
    save_npz(path, *FORMAT, arrays, meta)


def load_mdp(make: Callable[..., T], path: str | os.PathLike[str]) -> T:
    """The MDP that :func:`save_mdp` saved."""
    arrays, meta = load_npz(path, *FORMAT)
    try:
        names = {k: names_from_json(meta[k]) for k in ("state_names", "action_names")}
        pairs = Pairs(arrays["pair_ptr"], arrays["action"], **names)
        rows = Rows(arrays["succ_ptr"], arrays["succ"], arrays["prob"])
        picture = Picture(tuple(meta["picture"]), arrays["cell"]) if "picture" in meta else None
        scale, shift = meta["reward_map"]
        return make(
            pairs, rows, arrays["r_mean"], arrays["initial"], meta["reward_law"], meta["concentration"],
            picture, (scale, shift), meta["name"], meta.get("discount"),
        )  # fmt: skip
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as error:
        raise DamagedFile(f"{path} does not hold a valid MDP: {error}") from error
