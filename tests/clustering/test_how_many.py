"""Counting classes: planted ones are found, slow loops give the same numbers, and what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.clustering import kmeans
from legogcd.clustering.how_many.choice import APPROACHES, Estimate, estimate_classes
from legogcd.clustering.how_many.estimate import Share, candidates, draw_sample
from legogcd.clustering.how_many.neighbors import share_of_a_class
from legogcd.errors import UserError
from legogcd.evaluation import clustering_accuracy

few = settings(max_examples=25, deadline=None)


def planted(seed=0, k=9, n_known=5, each=40, dim=32, spread=0.08, pieces=1):
    """Directions around random ones, ``pieces`` of them a class; every other image of the known classes is labelled."""
    random = np.random.default_rng(seed)
    centers = random.normal(size=(k, pieces, dim))
    centers /= np.linalg.norm(centers, axis=-1, keepdims=True)
    truth = np.repeat(np.arange(k), each)
    x = centers[truth, random.integers(pieces, size=len(truth))] + spread * random.normal(size=(len(truth), dim))
    features = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    return features, np.where((truth < n_known) & (np.arange(len(truth)) % 2 == 0), truth, -1)


@pytest.mark.parametrize(
    ("approach", "k", "n_known"),
    [
        ("gcd", 9, 5),
        *((approach, *counts) for approach in list(APPROACHES)[:3] for counts in ((9, 5), (14, 4), (6, 6))),
    ],
)
def test_planted_classes_are_counted(approach, k, n_known):
    found = estimate_classes(*planted(k=k, n_known=n_known), approach=approach, most=30)
    assert abs(found.classes - k) <= 1
    assert found.approach == approach
    assert found.low <= k <= found.high or approach in ("gcd", "silhouette")


def test_classes_that_fall_apart_and_overlap_are_counted_by_their_labels():
    # 8 classes of 3 pieces each: 24 clusters, but what is labelled alike is one class
    features, labels = planted(k=8, n_known=4, pieces=3, each=60, spread=0.1)
    assert abs(estimate_classes(features, labels, approach="neighbours").classes - 8) <= 1
    # and in noise, where k-means finds little
    features, labels = planted(k=10, n_known=5, each=60, spread=0.35)
    assert abs(estimate_classes(features, labels, approach="neighbours").classes - 10) <= 2


def test_neighbours_find_a_long_tail_without_bias():
    errors = []
    for seed in range(12):
        features, labels = planted(seed, k=20, n_known=10, each=60)
        random = np.random.default_rng(seed)
        sizes = (60 * 5 ** -random.random(20)).astype(int)  # 12 to 60 images a class
        rows = np.concatenate([60 * c + random.permutation(60)[:size] for c, size in enumerate(sizes)])
        found = estimate_classes(features[rows], labels[rows], approach="neighbours")
        errors.append(found.classes / 20 - 1)
    assert abs(np.mean(errors)) < 0.1


def slow_share(features, labels, k=10):
    """1/K by plain loops, as the docstring has it, and how many neighbours were labelled alike."""
    x, images = features.astype(np.float64), range(len(features))
    within, between = [], []
    for i in images:
        if labels[i] < 0:
            continue
        nearest = sorted((j for j in images if j != i), key=lambda j: -(x[i] @ x[j]))[:k]
        same = [j for j in images if j != i and labels[j] == labels[i]]
        other = [j for j in images if labels[j] >= 0 and labels[j] != labels[i]]
        within.append(np.mean([j in nearest for j in same]))
        between.append(np.mean([j in nearest for j in other]))
    anyone, a, b = k / (len(features) - 1), np.mean(within), np.mean(between)
    q, n = (anyone - b) / (a - b), len(features)
    return (q * (n - 1) + 1) / n, sum(round(w * (np.sum(labels == 0) - 1)) for w in within)


def test_neighbours_equal_plain_loops():
    features, labels = planted(3, k=6, n_known=4, each=16, spread=0.3)
    found = share_of_a_class(features, labels, seed=0)
    value, hits = slow_share(features, labels)
    assert found.value == pytest.approx(value)
    left_out = []
    for c in range(4):  # the class's images stay, but nobody knows that they are labelled
        left_out.append(slow_share(features, np.where(labels == c, -1, labels))[0])
    jackknife = 3 / 4 * sum((q - np.mean(left_out)) ** 2 for q in left_out)
    assert found.error == pytest.approx((jackknife + value**2 / hits) ** 0.5)


@given(st.integers(0, 1000))
@few
def test_neither_names_of_classes_nor_the_order_of_images_matter(seed):
    features, labels = planted(seed, k=6, n_known=4, each=20, spread=0.2)
    random = np.random.default_rng(seed)
    renamed, order = np.append(random.permutation(4), -1)[labels], random.permutation(len(labels))
    found = share_of_a_class(features, labels, seed=0)
    again = share_of_a_class(features[order], renamed[order], seed=0)
    assert again == pytest.approx(found)


@given(st.integers(0, 1000), st.sampled_from(list(APPROACHES)), st.integers(3, 12), st.floats(0.05, 2))
@few
def test_what_every_estimate_keeps_to(seed, approach, most, spread):
    features, labels = planted(seed, k=5, n_known=3, each=12, spread=spread)
    try:
        found = estimate_classes(features, labels, approach=approach, most=most, seed=seed)
    except UserError:  # noise in which images of a class are no neighbours
        assert approach == "neighbours"
        return
    assert 3 <= found.low <= found.classes <= found.high <= most
    numbers = [k for k, _ in found.curve]
    assert numbers == sorted(set(numbers))
    assert found.classes in numbers
    assert numbers[0] >= 3
    assert numbers[-1] <= most
    assert max(found.curve, key=lambda point: point[1])[1] == pytest.approx(dict(found.curve)[found.classes], abs=0.2)
    assert np.isfinite([score for _, score in found.curve]).all()


def test_the_papers_search_shows_the_accuracy_of_kmeans_on_labelled_images():
    features, labels = planted(2, k=8, n_known=4, spread=0.25, dim=16)
    told = []
    found = estimate_classes(
        features, labels, approach="gcd", most=40, progress=lambda k, score: told.append((k, score))
    )
    labelled = labels >= 0
    assert sorted(told) == found.curve
    for k, score in found.curve:
        clusters = kmeans(features, k, seed=0, n_init=3).labels
        assert score == pytest.approx(clustering_accuracy(labels[labelled], clusters[labelled], 4).all)
    assert found.classes == max(found.curve, key=lambda point: point[1])[0]


def test_fewer_labels_make_the_interval_wider():
    def width(n_known):
        found = estimate_classes(*planted(5, k=16, n_known=n_known, spread=0.3), approach="neighbours")
        return found.high / found.low

    assert width(3) > 1.5 * width(15)


def test_neighbours_that_say_nothing_leave_it_to_the_silhouette():
    features, labels = planted(k=7, n_known=2)
    found = estimate_classes(features, labels)
    assert [part.approach for part in found.parts] == ["silhouette"]
    assert found.classes == 7
    assert estimate_classes(features, np.full(len(features), -1)).classes == 7


def test_the_interval_holds_what_both_parts_say():
    features, labels = planted(k=9, n_known=5)
    found = estimate_classes(features, labels)
    assert {part.approach for part in found.parts} == {"silhouette", "neighbours"}
    assert all(part.parts == () for part in found.parts)
    assert found.low <= min(part.classes for part in found.parts)
    assert found.high >= max(part.classes for part in found.parts)


def test_a_share_of_nothing_is_as_many_classes_as_may_be():
    found = Share(-0.01, 0.05).estimate(3, 200, "neighbours")
    assert (found.low, found.classes, found.high) == (11, 200, 200)
    unknown = Share(0.1, np.inf).estimate(3, 200, "neighbours")
    assert (unknown.low, unknown.classes, unknown.high) == (3, 10, 200)
    assert Share(0.5, 0.01).estimate(3, 200, "neighbours").classes == 3


def test_the_likelihood_is_the_normal_density_of_the_share():
    found = Share(0.1, 0.02).estimate(2, 100, "neighbours")
    curve = dict(found.curve)
    assert curve[10] == 1
    assert (found.low, found.high) == (7, 17)
    assert curve[7] == pytest.approx(np.exp(-0.5 * ((1 / 7 - 0.1) / 0.02) ** 2))


@given(st.integers(1, 50), st.integers(0, 400))
@few
def test_candidates_reach_both_ends(fewest, more):
    found = candidates(fewest, fewest + more)
    assert found[0] == fewest
    assert found[-1] == fewest + more
    assert found == sorted(set(found))


def test_large_collections_are_sampled_with_every_class():
    random = np.random.default_rng(0)
    features = random.normal(size=(6_000, 80)).astype(np.float32)
    labels = np.full(6_000, -1)
    labels[:40] = np.arange(40)
    sample = draw_sample(features, labels, seed=0)
    assert sample.points.shape == (5_000, 64)
    assert sample.n_known == 40
    assert set(sample.labels) == set(range(-1, 40))


def test_seeds_repeat():
    features, labels = planted(4, spread=0.3)
    one, again = (estimate_classes(features, labels, seed=3) for _ in range(2))
    assert one == again
    assert isinstance(one, Estimate)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"approach": "elbow"}, "no approach 'elbow'.*combined"),
        ({"most": 4}, "at most 4 classes.*5 are known"),
        ({"labels": np.zeros(360, dtype=np.int64)}, "every image is labelled"),
        ({"labels": np.full(360, -1), "approach": "gcd"}, "needs labelled images"),
        ({"labels": np.full(360, -1), "approach": "neighbours"}, "too few.*silhouette"),
        ({"labels": np.zeros(3)}, "360 whole numbers"),
        ({"features": np.ones((360, 4), dtype=np.float32)}, "only 1 different images"),
    ],
)
def test_what_cannot_be_counted_is_said(change, message):
    features, labels = planted()
    given_ = {"features": features, "labels": labels, **change}
    with pytest.raises(UserError, match=message):
        estimate_classes(given_.pop("features"), given_.pop("labels"), **given_)


def test_the_published_search_sees_every_image_in_all_dimensions(monkeypatch):
    from legogcd.clustering.how_many import gcd

    seen = []
    original = gcd.kmeans

    def noting(points, k, seed, n_init):
        seen.append((points.shape, n_init))
        return original(points, k, seed, n_init=1)

    monkeypatch.setattr(gcd, "kmeans", noting)
    random = np.random.default_rng(0)
    truth = np.arange(5_200) % 6
    features = (4 * np.eye(70)[truth] + random.normal(0, 0.1, (5_200, 70))).astype(np.float32)
    labels = np.where((truth < 3) & (np.arange(5_200) % 4 < 2), truth, -1)
    estimate_classes(features, labels, approach="gcd-published", most=8)
    assert set(seen) == {((5_200, 70), 10)}
