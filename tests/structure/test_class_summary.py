import numpy as np
import pytest

from equirl.model.mdp import TabularMDP
from equirl.structure.equivalence import equivalence_classes, summarise_class
from equirl.structure.partition import Partition
from equirl.worlds.world_registry import make


def test_a_class_by_transition_probabilities_alone_has_a_range_of_rewards():
    mdp = make("riverswim", n_states=6)
    part = equivalence_classes(mdp, rewards=False)
    found = summarise_class(mdp, part, int(part.label[mdp.pairs.index(0, "left")]))
    assert (found.size, found.profile_text(), found.reward_text()) == (6, "1", "0 to 0.005")


def test_true_classes_share_their_profile_and_their_reward():
    mdp = make("two-room", kernel="appendix")
    part = equivalence_classes(mdp)
    found = [summarise_class(mdp, part, c) for c in range(part.n_classes)]
    assert all(each.n_profiles == 1 and each.least_mean == each.largest_mean for each in found)
    assert sum(each.size for each in found) == mdp.n_pairs


@pytest.mark.parametrize("seed", range(5))
def test_different_profiles_are_counted_as_by_comparing_all(seed):
    mdp = make("planted", n_states=8, n_classes=4, seed=seed)
    part = Partition.from_labels(np.random.default_rng(seed).integers(3, size=mdp.n_pairs))
    truth = equivalence_classes(mdp, rewards=False)
    for c in range(part.n_classes):
        assert summarise_class(mdp, part, c).n_profiles == len(set(truth.label[part.label == c].tolist()))


def test_rewards_of_a_class_are_those_of_the_user_without_the_dust_of_rounding():
    pairs = [(s, 0, {s: 0.5, (s + 1) % 3: 0.5}, reward) for s, reward in enumerate((-0.3, 0.0, 0.7))]
    mdp = TabularMDP.from_pairs(pairs, rescale=True)
    part = equivalence_classes(mdp)
    assert [summarise_class(mdp, part, c).reward_text() for c in range(3)] == ["-0.3", "0", "0.7"]
    whole = summarise_class(mdp, equivalence_classes(mdp, rewards=False), 0)
    assert (whole.least_mean, whole.largest_mean) == (-0.3, 0.7)
