"""Encoding on a local Ray cluster whose processes are killed; what is said where there is no Ray."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
import torch
from example_pictures import write_pictures

from legogcd.collection import find_images
from legogcd.run.engines.ray import RayEngine
from legogcd.vision import Encoder, ViewRequest, load_backbone
from legogcd.vision.views import shards
from legogcd.vision.views.store import complete_kept


def request_for(images: Path) -> ViewRequest:
    encoder = Encoder(load_backbone("efficientnet-lite0", image_size=64), torch.device("cpu"), "fp32")
    return ViewRequest(encoder, find_images(images), views=2)


def contents(folder: Path) -> dict[str, bytes]:
    """What counts: what a killed process had begun is no part of it."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(".")}


def test_a_killed_worker_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(shards, "SHARD_IMAGES", 21)  # one batch
    images = write_pictures(tmp_path / "pictures", per_class=30)
    alone = complete_kept(request_for(images), tmp_path / "alone")
    killed: list[int] = []

    def kill_one(done: int) -> None:
        if done and not killed:
            there = [one.pid for one in psutil.Process().children(recursive=True) if "ShardMaker" in one.name()]
            killed.append(there[0])
            os.kill(killed[0], signal.SIGKILL)

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        request = request_for(images)
        made = complete_kept(request, tmp_path / "together", kill_one, engine=RayEngine().encode)
    finally:
        ray.shutdown()
    assert killed
    assert len(request.shards()) > 4
    assert contents(made.folder) == contents(alone.folder)


def test_without_ray_one_line_says_what_to_install(run_cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = run_cli("encode", write_pictures(tmp_path / "pictures"), "--engine", "ray", "--cache", tmp_path / "cache")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].endswith("not installed: pip install 'legogcd[ray]'")
