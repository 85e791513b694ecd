import numpy as np
import pytest

from equirl.model.mdp import TabularMDP
from equirl.structure.equivalence import ClassSummary, equivalence_classes, summarise_class
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


def test_rewards_and_profiles_are_told_to_four_digits():
    found = ClassSummary(2, 3, 0, np.array([0.512345, 0.3, 0.1, 0.05, 0.03, 0.007655]), 1, 0.123456, 0.987654)
    assert found.reward_text() == "0.1235 to 0.9877"
    assert found._replace(largest_mean=0.123457).reward_text() == "0.1235"
    assert found.profile_text() == "0.5123 0.3 0.1 0.05 0.03 0.007655"
    assert found.profile_text(5) == "0.5123 0.3 0.1 0.05 0.03 ..."
    assert str(found) == "2: 3 pairs, profile 0.5123 0.3 0.1 0.05 ..., reward 0.1235 to 0.9877"
    assert (
        str(found._replace(size=1, n_profiles=2, least_mean=0.0, largest_mean=0.0)) == "2: 1 pair, 2 different profiles"
    )
    assert found._replace(n_profiles=2).profile_text() == "2 different"
    assert str(found._replace(least_mean=-1.0, largest_mean=0.0)).endswith("reward -1 to 0")


def test_a_mean_reward_of_nothing_is_shown_as_nothing_whatever_the_scale():
    pairs = [("a", "stay", {"a": 1.0}, 0.0), ("a", "go", {"a": 0.5, "b": 0.5}, -1.0), ("b", "stay", {"b": 1.0}, 2.0)]
    mdp = TabularMDP.from_pairs(pairs, rescale=True)
    part = equivalence_classes(mdp)
    assert sorted(summarise_class(mdp, part, c).reward_text() for c in range(3)) == ["-1", "0", "2"]
