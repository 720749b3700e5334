"""A collapsed training is told from honest results on skewed data."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.evaluation.collapse import collapse_of_table, collapse_sentence, no_new_groups

N_KNOWN = 5


def long_tail(random: np.random.Generator, count: int, n_classes: int, steepness: float) -> np.ndarray:
    """True classes [N] whose sizes fall as a power of their rank."""
    sizes = 1.0 / np.arange(1, n_classes + 1) ** steepness
    return random.choice(n_classes, count, p=sizes / sizes.sum())


def run_of(truth: np.ndarray, predicted: np.ndarray, confidence: np.ndarray, n_classes: int) -> str | None:
    """What is said of a run in which every other image of a known class was labelled."""
    labelled = (truth < N_KNOWN) & (np.arange(len(truth)) % 2 == 0)
    return collapse_sentence(predicted, confidence, np.where(labelled, truth, -1), labelled, n_classes)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([10, 40, 100]), st.floats(0, 4), st.floats(0, 0.6))
def test_honest_results_on_long_tails_are_no_collapse(seed: int, n_classes: int, steep: float, wrong: float) -> None:
    """However steep the tail, and with up to 60 % of the images in some other class than their own."""
    random = np.random.default_rng(seed)
    truth = long_tail(random, 400, n_classes, steep)
    mistaken = random.random(400) < wrong
    predicted = np.where(mistaken, random.integers(0, n_classes, 400), truth)
    assert run_of(truth, predicted, random.uniform(0.2, 1, 400), n_classes) is None


def test_errors_that_all_go_to_the_largest_class_are_no_collapse() -> None:
    random = np.random.default_rng(0)
    truth = long_tail(random, 1000, 20, 1.5)
    predicted = np.where(random.random(1000) < 0.8, 0, truth)  # 4 of 5 images drawn to the head of the tail
    assert (predicted == 0).mean() > 0.85
    assert run_of(truth, predicted, random.uniform(0.3, 1, 1000), 20) is None


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.floats(0, 1.0), st.booleans())
def test_one_class_for_everything_is_a_collapse(seed: int, top: int, steep: float, escaped: bool) -> None:
    random = np.random.default_rng(seed)
    truth = long_tail(random, 400, 10, steep)
    predicted = np.full(400, top)
    predicted[random.integers(0, 400, int(escaped))] = (top + 1) % 10  # one image may be anywhere
    said = run_of(truth, predicted, random.uniform(0.9, 1, 400), 10)
    assert said is not None
    assert "put into one class" in said
    assert "learning_rate" in said
    assert "\n" not in said


def test_a_collapse_into_a_new_group_is_one_too() -> None:
    truth = np.arange(100) % 10
    said = run_of(truth, np.full(100, 7), np.linspace(0.5, 1, 100), 10)
    assert said is not None
    assert "100 of 100 images" in said or "100 images" in said


def test_a_rare_class_that_was_not_learned_is_no_collapse() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    assert collapse_sentence(np.zeros(100, int), np.full(100, 0.9), labels, np.ones(100, bool), 3) is None


@pytest.mark.parametrize(("taken", "collapsed"), [(19, True), (18, False)])  # of 20 labelled otherwise: 95 % or less
def test_nearly_all_of_those_labelled_otherwise_must_be_taken(taken: int, collapsed: bool) -> None:
    labels = np.array([0] * 20 + [1] * 20)
    predicted = np.array([0] * (20 + taken) + [1] * (20 - taken))
    said = collapse_sentence(predicted, np.linspace(0.5, 1, 40), labels, np.ones(40, bool), 3)
    assert (said is not None) == collapsed


def test_without_telling_labels_only_all_images_in_one_class_count() -> None:
    labels, confidence = np.zeros(100, int), np.linspace(0.4, 0.9, 100)
    labelled = np.arange(100) < 10  # all of one class: they cannot tell
    everything = np.zeros(100, int)
    said = collapse_sentence(everything, confidence, labels, labelled, 5)
    assert said is not None
    assert "all 90 unlabelled images" in said
    almost = np.where(np.arange(100) == 50, 3, 0)  # one image elsewhere: a very skewed collection
    assert collapse_sentence(almost, confidence, labels, labelled, 5) is None
    assert collapse_sentence(everything[:25], confidence[:25], labels[:25], labelled[:25], 5) is None  # too few to tell
    assert collapse_sentence(everything, confidence, labels, labelled, 1) is None  # one class was asked for


def test_unlabelled_images_of_one_known_class_are_honest_where_labels_are_followed() -> None:
    labels = np.array([0] * 20 + [1] * 20 + [-1] * 60)
    predicted = np.array([0] * 20 + [1] * 20 + [0] * 60)
    assert collapse_sentence(predicted, np.linspace(0.5, 1, 100), labels, labels >= 0, 4) is None


def test_the_same_low_confidence_everywhere_is_a_collapse_and_the_full_one_of_kmeans_is_not() -> None:
    truth = np.arange(100) % 10
    said = run_of(truth, truth, np.full(100, 0.1), 10)
    assert said is not None
    assert "equally unsure of all 100 images (10 %)" in said
    assert run_of(truth, truth, np.ones(100), 10) is None
    assert run_of(truth, truth, np.linspace(0.1, 0.11, 100), 10) is None  # unsure, but not equally
    assert run_of(truth[:10], truth[:10], np.full(10, 0.1), 10) is None  # too few to tell


def test_a_confidence_that_is_no_number_is_a_collapse() -> None:
    confidence = np.linspace(0.5, 1, 50)
    confidence[7] = np.nan
    said = run_of(np.arange(50) % 10, np.arange(50) % 10, confidence, 10)
    assert said is not None
    assert "no confidence in 1 of 50 images" in said


def test_names_of_a_table_are_compared_as_class_ids_are() -> None:
    table = pd.DataFrame(
        {
            "category": ["owl"] * 20 + ["hawk"] * 20 + ["owl"] * 60,
            "status": ["labelled"] * 40 + ["known"] * 60,
            "predicted": "owl",
            "confidence": np.linspace(0.5, 1, 100),
        }
    )
    said = collapse_of_table(table, 4, 3)
    assert said is not None
    assert "20 of the 20 labelled as another class" in said
    assert collapse_of_table(table.assign(predicted=table["category"]), 4, 3) is None
    assert collapse_of_table(table[:0], 4, 2) is None


def test_several_new_classes_asked_for_and_none_found_is_said_but_not_called_a_collapse() -> None:
    none = np.zeros(100, bool)
    said = no_new_groups(none, 5)
    assert said is not None
    assert said.startswith("no new group was found: all 100 unlabelled images are in known classes, though 5 new")
    assert no_new_groups(none, 1) is None  # one rare class may be missing
    assert no_new_groups(none[:49], 5) is None  # too few to tell
    assert no_new_groups(np.arange(100) == 7, 5) is None


def test_a_table_without_new_groups_is_told_by_its_unlabelled_images() -> None:
    table = pd.DataFrame(
        {
            "category": ["owl", "hawk"] * 50,
            "status": ["labelled"] * 40 + ["known"] * 60,
            "predicted": ["owl", "hawk"] * 50,
            "confidence": np.linspace(0.5, 1, 100),
        }
    )
    said = collapse_of_table(table, 5, 2)
    assert said is not None
    assert "all 60 unlabelled images are in known classes, though 3 new" in said
    assert collapse_of_table(table, 3, 2) is None
    table.loc[99, ["category", "status"]] = "new-001", "novel"
    assert collapse_of_table(table, 5, 2) is None
