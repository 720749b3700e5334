"""The stream of states: in order, the same whatever the batches, bounded, and quick to stop."""

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from legogcd.collection import find_images
from legogcd.vision import Encoder, FreshViews, load_backbone
from legogcd.vision.views import encode as encode_module
from legogcd.vision.views.draw import evaluation_view, load_resized, normalize
from legogcd.vision.views.encode import map_ahead, share_cores

CPU = torch.device("cpu")


@pytest.fixture
def encoder() -> Encoder:
    return Encoder(load_backbone("efficientnet-lite0", image_size=32), CPU, "fp32")


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode_module, "share_cores", lambda: (2, 1))


def evaluation_states(encoder: Encoder, pictures: Path, images_per_batch: int) -> tuple[list[int], torch.Tensor, dict]:
    images, rows, states, bad = find_images(pictures), [], [], {}
    stream = encoder.stream(
        images, range(len(images)), lambda row, image: evaluation_view(image, encoder.rule)[None], images_per_batch
    )
    for good, state, unreadable in stream:
        rows += good
        bad |= unreadable
        states += [] if state is None else [state[0]]
    return rows, torch.cat(states), bad


@pytest.mark.usefixtures("two_threads")
def test_states_are_in_order_and_those_of_each_image_alone(encoder: Encoder, pictures: Path) -> None:
    (pictures / "green" / "02.png").write_bytes(b"broken")
    images = find_images(pictures)
    broken = images.names.index("green/02.png")
    rows, states, bad = evaluation_states(encoder, pictures, images_per_batch=10)
    assert rows == [row for row in range(len(images)) if row != broken]
    assert bad == {broken: "not an image"}
    for row, state in zip(rows, states, strict=True):
        view = evaluation_view(load_resized(images.item(row), encoder.rule), encoder.rule)[None]
        (alone,) = encoder.backbone.trunk(normalize(view, encoder.backbone.mean, encoder.backbone.std))
        torch.testing.assert_close(state, alone[0], atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("two_threads")
def test_states_do_not_depend_on_the_batches(encoder: Encoder, pictures: Path) -> None:
    _, expected, _ = evaluation_states(encoder, pictures, images_per_batch=64)
    for images_per_batch in (1, 7, 24):
        _, states, _ = evaluation_states(encoder, pictures, images_per_batch)
        torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)


def test_a_batch_without_a_readable_image_has_no_state(encoder: Encoder, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"broken")
    images = find_images(tmp_path)
    assert list(encoder.stream(images, range(3), lambda row, image: image[None], 2)) == [
        ([], None, {0: "not an image", 1: "not an image"}),
        ([], None, {2: "not an image"}),
    ]


def test_many_views_meet_the_trunk_a_few_at_a_time(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    views = np.random.default_rng(0).integers(256, size=(21, 32, 32, 3), dtype=np.uint8)
    (expected,) = encoder.backbone.trunk(normalize(views, encoder.backbone.mean, encoder.backbone.std))
    sizes: list[int] = []
    encode = encoder.backbone.trunk.encode
    monkeypatch.setattr(encoder.backbone.trunk, "encode", lambda x: sizes.append(len(x)) or encode(x))
    (state,) = encoder.trunk(views)
    assert sizes == [11, 10]
    torch.testing.assert_close(state, expected, atol=1e-5, rtol=1e-5)


def test_cores_are_shared_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, expected in {1: (1, 1), 2: (2, 1), 8: (8, 1), 20: (8, 2), 64: (8, 8)}.items():
        monkeypatch.setattr(torch, "get_num_threads", lambda cores=cores: cores)
        assert share_cores() == expected


def test_threads_keep_their_torch_threads_to_themselves() -> None:
    before = torch.get_num_threads()
    seen = list(map_ahead(lambda _: torch.get_num_threads(), range(6), ahead=3, threads=2, torch_threads=before + 1))
    assert seen == [before + 1] * 6
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert (torch.get_num_threads(), later) == (before, [before])


def test_results_wait_in_bounded_number_and_stopping_leaves_the_rest_undone() -> None:
    begun: list[int] = []
    gate = threading.Event()

    def work(item: int) -> int:
        begun.append(item)
        if item > 0:
            gate.wait(10)
        return item

    results = map_ahead(work, range(1000), ahead=5, threads=1)
    assert next(results) == 0
    threading.Timer(0.05, gate.set).start()
    results.close()  # type: ignore[attr-defined]
    assert len(begun) <= 3


def test_a_pair_reads_each_image_once_and_keeps_its_order(
    encoder: Encoder, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def counted(item: object, rule: object) -> np.ndarray:
        read.append(item)
        return load_resized(item, rule)

    monkeypatch.setattr(encode_module, "load_resized", counted)
    images, rows = find_images(pictures), torch.tensor([0, 17, 9])
    (state,) = FreshViews(encoder, images).pair(rows, torch.Generator().manual_seed(0))
    assert len(read) == 3
    (evaluation,) = FreshViews(encoder, images).evaluation(rows)
    nearest = torch.cdist(state.flatten(1), evaluation.flatten(1)).argmin(1)
    assert nearest.tolist() == [0, 1, 2, 0, 1, 2]
