"""The sample a scored run keeps: which images are in it, and that it is read as it was written."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from legogcd.collection import Collection, ImageFiles, Truth
from legogcd.errors import UserError
from legogcd.run.figure_sample import SAMPLE, choose_sample, read_sample, write_sample
from legogcd.training.checkpoint import load_tensors, save_tensors


def collection_of(classes: list[str], labelled: list[bool], known: tuple[str, ...]) -> tuple[Collection, Truth]:
    """Images of the given classes; those of known classes are labelled where it says so. '?' has no truth."""
    files = tuple(f"{number}.jpg" for number in range(len(classes)))
    given_labels = [known.index(c) if on and c in known else -1 for c, on in zip(classes, labelled, strict=True)]
    truth = Truth({file: name for file, name in zip(files, classes, strict=True) if name != "?"})
    return Collection(ImageFiles(Path("images"), files), np.array(given_labels, np.int64), known), truth


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh?"), st.booleans()), min_size=1, max_size=60),
    st.integers(0, 3),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_the_sample_is_of_unlabelled_images_of_few_known_and_few_novel_classes(drawn, seed, classes, per_class) -> None:
    names, labelled = [name for name, _ in drawn], [on for _, on in drawn]
    known = ("a", "b", "c", "d")
    collection, truth = collection_of(names, labelled, known)
    positions = choose_sample(collection, truth, seed, classes, per_class)
    assert positions.dtype == np.int64
    assert positions.tolist() == sorted(set(positions.tolist()))
    chosen = [names[position] for position in positions]
    unlabelled = [name for name, label in zip(names, collection.labels, strict=True) if label < 0]
    assert "?" not in chosen
    assert (collection.labels[positions] == -1).all()
    for kind in (set(known), set("efgh")):
        there = kind & set(unlabelled)
        assert len(kind & set(chosen)) == min(classes, len(there))
    for name in set(chosen):
        assert chosen.count(name) == min(per_class, unlabelled.count(name))


def test_the_same_collection_gives_the_same_sample_and_another_seed_another() -> None:
    classes = [f"class {number % 40}" for number in range(800)]
    collection, truth = collection_of(classes, [number % 3 == 0 for number in range(800)], tuple(classes[:20]))
    first = choose_sample(collection, truth)
    np.testing.assert_array_equal(first, choose_sample(collection, truth))
    assert not np.array_equal(first, choose_sample(collection, truth, seed=1))
    assert len({classes[position] for position in first}) == 10


def write_small_sample(folder: Path) -> np.ndarray:
    """Five images of a, b, c, c and d out of ten; returns their features."""
    collection, truth = collection_of(list("aabbccdd?a"), [True] + [False] * 9, ("b", "a"))
    features = np.random.default_rng(0).normal(0, 1e5, (5, 7))  # beyond what fp16 holds
    predicted = np.array([0, 0, 1, 2, 0, 2, 3, 3, 1, 1])
    positions = np.array([1, 3, 4, 5, 6])
    write_sample(folder, collection, truth, positions, features, predicted, np.linspace(0, 0.9, 10))
    return features


def test_a_sample_is_read_as_it_was_written(tmp_path: Path) -> None:
    features = write_small_sample(tmp_path)
    sample = read_sample(tmp_path)
    assert (sample.names, sample.n_known) == (("b", "a", "c", "d"), 2)  # in the order of the known classes
    assert sample.classes.tolist() == [1, 0, 2, 2, 3]
    np.testing.assert_allclose(sample.features, features / np.linalg.norm(features, axis=1, keepdims=True), atol=5e-4)
    np.testing.assert_allclose(sample.confidence, [0.1, 0.2, 0.3, 0.9], rtol=1e-6)  # unlabelled a and b: 1, 2, 3, 9
    assert sample.in_known.tolist() == [True, True, False, True]
    assert load_file(tmp_path / SAMPLE)["features"].dtype == np.float16


def test_every_process_writes_the_same_bytes(tmp_path: Path) -> None:
    write_small_sample(tmp_path)
    before = (tmp_path / SAMPLE).read_bytes()
    here, there = str(Path(__file__).parent), str(tmp_path)
    program = (
        f"import sys, pathlib; sys.path.insert(0, {here!r}); "
        f"import test_figure_sample; test_figure_sample.write_small_sample(pathlib.Path({there!r}))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (tmp_path / SAMPLE).read_bytes() == before


def test_an_empty_sample_can_be_written_and_read(tmp_path: Path) -> None:
    collection, truth = collection_of(["a", "?"], [True, False], ("a",))
    positions = choose_sample(collection, truth)
    write_sample(tmp_path, collection, truth, positions, np.zeros((0, 4)), np.zeros(2, np.int64), np.ones(2))
    sample = read_sample(tmp_path)
    assert (sample.features.shape, sample.names, sample.confidence.size) == ((0, 4), (), 0)


def test_positions_that_have_no_truth_are_a_mistake(tmp_path: Path) -> None:
    collection, truth = collection_of(["a", "?"], [True, False], ("a",))
    for positions in ([0], [1]):
        with pytest.raises(ValueError, match="unlabelled"):
            write_sample(
                tmp_path, collection, truth, np.array(positions), np.ones((1, 4)), np.zeros(2, np.int64), np.ones(2)
            )
    with pytest.raises(ValueError, match="3 features for 1 positions"):
        write_sample(tmp_path, collection, truth, np.array([1]), np.ones((3, 4)), np.zeros(2, np.int64), np.ones(2))
    assert not (tmp_path / SAMPLE).exists()


def test_a_missing_or_foreign_file_is_one_clear_line(tmp_path: Path) -> None:
    write_small_sample(tmp_path)
    tensors, _ = load_tensors(tmp_path / SAMPLE)
    about = {"names": ["a"], "n_known": 1}
    spoiled = {
        "cannot be read as a file of legogcd": lambda: (tmp_path / SAMPLE).write_bytes(b"not tensors"),
        "does not hold a run's sample": lambda: save_tensors(tmp_path / SAMPLE, {"weight": torch.zeros(3)}),
        "contradicts itself": lambda: save_tensors(tmp_path / SAMPLE, tensors, **about),  # classes up to 3, one name
        "has no sample.safetensors; it is written when truth is given": lambda: (tmp_path / SAMPLE).unlink(),
    }
    for says, spoil in spoiled.items():
        spoil()
        with pytest.raises(UserError) as mistake:
            read_sample(tmp_path)
        assert says in str(mistake.value)
        assert str(tmp_path) in str(mistake.value)
        assert "\n" not in str(mistake.value)


def test_a_scored_run_keeps_the_largest_logits_of_known_images(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    from legogcd.collection import find_images, from_folders
    from legogcd.evaluation import scoring
    from legogcd.run import Job, RunOptions, discover
    from legogcd.run.figure_sample import keep_sample

    collection, truth = from_folders(find_images(pictures), ["blue", "green"])
    options = RunOptions(
        n_classes=4, method="simgcd", backbone=str(tiny_vit), image_size=32, views=2, epochs=1, device="cpu",
        cache=tmp_path / "cache",
    )  # fmt: skip
    outcome = discover(Job(collection, options), tmp_path / "run", score=scoring(truth))
    keep_sample(outcome, collection, truth, tmp_path / "run")
    codes = truth.encode_unlabelled(collection)
    features = torch.from_numpy(outcome.features[(codes >= 0) & (codes < 2)])
    weight = outcome.model.method.prototypes.weight
    expected = torch.nn.functional.cosine_similarity(features[:, None], weight[None], dim=-1).amax(-1)
    np.testing.assert_allclose(read_sample(tmp_path / "run").logit, expected.detach().numpy(), atol=1e-5)
