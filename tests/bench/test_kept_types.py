"""What tail and kept tokens lose, told of a tiny model."""

from pathlib import Path

import torch

from bench.accuracy.kept_types import kept_neighbors, table
from bench.accuracy.study import DataSet


def test_the_tail_loses_nothing_and_int8_little_for_half_of_the_bytes(tiny_vit: Path, pictures: Path) -> None:
    with torch.no_grad():
        _, _, computed, *kept = table(tiny_vit, DataSet.read(f"{pictures}:1:32"), count=16)
    assert float(computed.split("|")[2]) < 1e-10
    lost, size = (
        {row.split("|")[1].strip(): float(row.split("|")[place].replace(",", "")) for row in kept} for place in (2, 4)
    )
    assert lost["fp32"] < 1e-10 < lost["fp16"] < lost["bf16"] < 1e-3
    assert lost["int8"] < 1e-2
    assert size["int8"] < size["bf16"] == size["fp16"] < size["fp32"]


def test_neighbors_that_stay_are_counted() -> None:
    apart = torch.nn.functional.normalize(torch.randn(30, 3, generator=torch.Generator().manual_seed(0)), dim=1)
    assert kept_neighbors(apart, apart) == 1
    assert kept_neighbors(apart, apart.flip(0)) < 0.6  # ten of 29 at random are 0.34
