"""The queue: what is asked first, and what answers change."""

from dataclasses import replace

import numpy as np
import pytest

from legogcd.review.doubts import CLUMP, Doubts, errors
from legogcd.review.insight import Insight, Suspicion, Votes
from legogcd.review.kept import Kept
from legogcd.review.questions import Question, questions
from legogcd.review.snapshot import Snapshot
from legogcd.review.suggestions import suggest_names


def snapshot(groups: list[int], names: list[str], settled: list[int] = [], confirmed: list[int] = []) -> Snapshot:  # noqa: B006
    mask = np.isin(np.arange(len(groups)), settled)
    chosen = np.isin(np.arange(len(groups)), confirmed)
    known = np.array([not name.startswith("new-") for name in names])
    return Snapshot(0, tuple(names), known, None, np.array(groups, np.int32), mask, chosen, None, None)


def insight(tmp_path, points: np.ndarray, near: int = 5) -> Insight:
    (tmp_path / "predictions.csv").write_text("")
    found = Insight(Kept(tmp_path, tmp_path), len(points))
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -1)
    rows = np.argsort(-cosines, axis=1, kind="stable")[:, :near]
    found.likeness, found.neighbors = units.astype(np.float32), rows
    found.alike = np.clip(np.take_along_axis(cosines, rows, 1), 0, 1)
    return found


def blobs(sizes: list[int], seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.concatenate(
        [np.eye(len(sizes), 8)[[n] * size] + 0.1 * random.normal(size=(size, 8)) for n, size in enumerate(sizes)]
    )


def asked(seen: Insight, now: Snapshot, belief: np.ndarray, found: np.ndarray, count: int) -> list[Question]:
    return questions(seen, Doubts(seen, now, belief, found), count)


def test_groups_nobody_has_said_anything_about_come_first_the_largest_before_all(tmp_path) -> None:
    points, group = blobs([20, 8, 30]), [0] * 20 + [1] * 8 + [2] * 30
    now = snapshot(group, ["owl", "new-001", "new-002"], settled=list(range(10)))
    found = asked(insight(tmp_path, points), now, np.full(58, 0.9), np.array(group), 10)
    assert [(item.kind, item.group) for item in found[:2]] == [("group", "new-002"), ("group", "new-001")]
    assert [item.follows for item in found[:2]] == [30, 8]
    shown = [row for item in found for row in item.images]
    assert len(set(shown)) == len(shown), "nothing is asked twice"
    assert not now.settled[shown].any()
    assert not any(len(item.images) > CLUMP or item.image not in item.images for item in found)
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    central = units @ units[28:].mean(0)
    assert central[found[0].image] > np.median(central[28:]), "it is asked about a typical one"


def test_an_answer_against_the_model_leads_to_what_looks_like_it_until_answers_can_be_foreseen(tmp_path) -> None:
    """Two kinds in one group: one image moved away casts doubt on its like alone, many of them settle the matter."""
    points = blobs([30, 30])
    seen, found_in, belief = insight(tmp_path, points), np.zeros(60, int), np.full(60, 0.9)

    def doubts(moved: list[int]) -> np.ndarray:
        group = np.where(np.isin(np.arange(60), moved), 1, 0)
        now = snapshot(group.tolist(), ["owl", "hawk"], confirmed=[*range(5), *moved])
        found = Doubts(seen, now, belief, found_in).doubt
        right = [_doubt(seen, now, row, 1 - 0.9 * (1 - errors(now, found_in)[group[row]])) for row in range(60)]
        np.testing.assert_allclose(found, right, atol=1e-6)
        return found

    one, many = doubts([35]), doubts([row for row in range(30, 60) if row % 3])
    beside = [row for row in range(60) if 35 in seen.neighbors[row]]
    others = [row for row in range(30, 60) if row not in beside and row != 35]
    assert one[beside].min() > one[others].max()
    surrounded = [row for row in range(30, 60, 3) if sum(each % 3 > 0 for each in seen.neighbors[row]) >= 4]
    assert many[surrounded].max() < one[beside].min()


def _doubt(seen: Insight, now: Snapshot, row: int, wrong: float) -> float:
    """What the strongest group lacks to all votes, counted one by one."""
    if now.settled[row]:
        return 0.0
    votes = {int(now.group[row]): 1 - wrong}
    for near, alike in zip(seen.neighbors[row], seen.alike[row], strict=True):
        if now.settled[near]:
            votes[int(now.group[near])] = votes.get(int(now.group[near]), 0) + float(alike)
    return 1 - max(votes.values()) / (sum(votes.values()) + wrong)


def test_a_question_shows_the_open_images_of_the_group_that_are_most_like_one_of_them(tmp_path) -> None:
    """Also where the neighbors that are kept are settled, or in other groups."""
    points = blobs([40, 40])
    group = [0] * 30 + [1] * 10 + [1] * 40  # ten of the first kind are in the second's group
    settled = [*range(0, 10), 60]
    now, seen = snapshot(group, ["owl", "hawk"], settled=settled), insight(tmp_path, points)
    doubts = Doubts(seen, now, np.full(80, 0.9), np.array(group))
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    for row in (12, 32, 70):
        clump = doubts.clump(row)
        among = [other for other in range(80) if group[other] == group[row] and other not in [*settled, row]]
        nearest = sorted(among, key=lambda other: -float(units[other] @ units[row]))[: CLUMP - 1]
        assert clump[0] == row
        assert set(clump[1:].tolist()) == set(nearest)
    few = replace(now, labelled=np.arange(80) % 40 != 11)
    assert Doubts(seen, few, np.full(80, 0.9), np.array(group)).clump(11).tolist() == [11]


def test_images_of_a_question_stand_in_an_order_by_likeness(tmp_path) -> None:
    """A wrong one and its like stand together, not where the distance to the first puts them."""
    angles = np.linspace(0, 1.2, 12)[np.random.default_rng(0).permutation(12)]
    points = np.stack([np.cos(angles), np.sin(angles)], 1)
    found = asked(insight(tmp_path, points, 11), snapshot([0] * 12, ["owl"]), np.full(12, 0.9), np.zeros(12, int), 1)
    along = [angles[row] for row in found[0].images]
    assert along in (sorted(along), sorted(along, reverse=True))


def test_an_answer_is_worth_the_doubts_it_settles_and_later_questions_are_about_others(tmp_path) -> None:
    points, group = blobs([40, 40]), [0] * 40 + [1] * 40
    belief = np.where(np.arange(80) < 40, 0.95, 0.4)
    now, seen = snapshot(group, ["owl", "hawk"], settled=[0, 40]), insight(tmp_path, points, near=20)
    found = asked(seen, now, belief, np.array(group), 6)
    assert found[0].group == "hawk", "what the model doubts comes first"
    assert [item.value for item in found] == sorted((item.value for item in found), reverse=True)
    assert found[0].follows >= len(found[0].images) == CLUMP
    doubts = Doubts(seen, now, belief, np.array(group))
    clump = doubts.clump(50)
    alike = np.clip(seen.likeness[clump[1:]] @ seen.likeness[50], 0, 1)
    assert doubts.value(clump) >= doubts.doubt[50] + alike @ doubts.doubt[clump[1:]] - 1e-6
    beside = next(row for row in seen.neighbors[50] if row not in clump and group[row] == 1)
    before = doubts.value(doubts.clump(int(beside)))
    doubts.answer(clump)
    assert not doubts.open[clump].any()
    assert doubts.value(doubts.clump(int(beside))) < before, "what looks like it is in doubt less"


def test_what_was_clicked_out_is_asked_about_apart_and_by_what_it_looks_like(tmp_path) -> None:
    """Ten of the second kind are in the first one's group; four of them were clicked out while others were settled."""
    points, group = blobs([40, 40]), [0] * 50 + [1] * 30
    now, seen = (
        snapshot(group, ["owl", "hawk"], settled=[*range(20), *range(60, 80)]),
        insight(tmp_path, points, near=20),
    )
    out = np.isin(np.arange(80), [41, 42, 43, 44])
    belief, found_in = np.full(80, 0.9), np.array(group)
    doubts = Doubts(seen, now, belief, found_in, out)
    assert set(doubts.clump(42).tolist()) == {41, 42, 43, 44}
    assert not out[doubts.clump(46)].any(), "it is not shown again beside those it is not like"
    assert doubts.guess[out].tolist() == [1] * 4
    found = next(item for item in questions(seen, doubts, 20) if item.kind == "out")
    assert (found.group, found.other, found.question) == ("owl", "hawk", "Are these hawk?")
    before = Doubts(seen, now, belief, found_in)
    fits = replace(now, labelled=np.arange(80) < 40)  # everything around them is an owl
    assert Doubts(seen, fits, belief, found_in, out).doubt[out].min() > before.doubt[25:40].max()


def test_how_often_the_model_was_wrong_is_told_by_the_answers_alone() -> None:
    now = snapshot([0, 0, 1, 1, 0], ["owl", "hawk"], settled=[4], confirmed=[0, 1, 2])
    found = errors(now, np.array([0, 0, 0, 1, 1]))  # one of three asked about in owl was a hawk
    assert found[0] == pytest.approx((1 + 0.3) / (3 + 1.5))
    assert found[1] == pytest.approx(0.3 / 1.5), "labels given at the start say nothing about the model"


def test_settled_and_rejected_images_and_emptied_questions_are_never_asked(tmp_path) -> None:
    points, group = blobs([6, 6]), [0] * 6 + [1] * 6
    now = replace(snapshot(group, ["owl", "set aside"], settled=[0, 1, 2]), aside=1)
    found = asked(insight(tmp_path, points), now, np.full(12, 0.5), np.zeros(12, int), 50)
    assert {row for item in found for row in item.images} == {3, 4, 5}
    done = replace(now, labelled=np.array([True] * 6 + [False] * 6))
    assert asked(insight(tmp_path, points), done, np.full(12, 0.5), np.zeros(12, int), 50) == []


def test_two_groups_that_look_like_one_are_asked_about_once(tmp_path) -> None:
    points, group = blobs([6, 4]), [0] * 6 + [1] * 4
    seen = insight(tmp_path, points)
    seen.suspicions = [Suspicion("like-one", "…", (0, 6), ("owl", "new-001"))]
    now = snapshot(group, ["owl", "new-001"], settled=[0])
    pairs = [item for item in asked(seen, now, np.full(10, 0.9), np.array(group), 50) if item.kind == "pair"]
    assert [(item.group, item.other, item.follows) for item in pairs] == [("new-001", "owl", 4)]
    seen.suspicions = [Suspicion("like-one", "…", (0, 6), ("owl", "gone"))]
    assert not [item for item in asked(seen, now, np.full(10, 0.9), np.array(group), 50) if item.kind == "pair"]


def test_suggested_names_are_unique_by_the_best_assignment_and_never_one_that_is_taken() -> None:
    """Both groups would most like to be beagle; together they are better off if one is a basset."""
    now = snapshot([0, 1, 1, 2, 2], ["Hawk", "new-001", "new-002"])
    weights = np.array([[0.9, 0.1, 0], [0.6, 0.5, 0.9], [0.6, 0.5, 0.9], [0.7, 0.1, 0.9], [0.7, 0.1, 0.9]])
    classes = np.tile(np.arange(3), (5, 1))
    votes = Votes(classes, weights, ("beagle", "basset", "hawk"), "a test")
    found = suggest_names(votes, now)
    assert {number: suggestion.name for number, suggestion in found.items()} == {1: "basset", 2: "beagle"}
    assert found[2].share == pytest.approx(0.7)
    assert found[2].source == "a test"
    assert suggest_names(None, now) == {}


def test_imagenet_names_are_a_thousand_and_in_the_order_of_the_classifier() -> None:
    from legogcd.review.votes import imagenet_names

    names = imagenet_names()
    assert len(names) == len({name.casefold() for name in names}) == 1000
    # places that are common knowledge
    known = {0: "tench", 1: "goldfish", 207: "golden retriever", 281: "tabby", 340: "zebra", 546: "electric guitar"}
    known |= {817: "sports car", 954: "banana", 970: "alp", 999: "toilet tissue"}
    assert {place: names[place] for place in known} == known
