"""Heads compute cosines as exactly as the features are given."""

import pytest
import torch

from legogcd.methods.heads import Prototypes


def test_float64_features_get_float64_cosines() -> None:
    prototypes, features = Prototypes(6, 4), torch.randn(3, 6, dtype=torch.float64)
    rows = prototypes.weight.detach().double()
    expected = torch.nn.functional.cosine_similarity(features[:, None], rows[None], dim=-1)
    torch.testing.assert_close(prototypes(features), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32_also_under_autocast(dtype: torch.dtype) -> None:
    prototypes, features = Prototypes(6, 4), torch.randn(3, 6).to(dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cosines = prototypes(features)
    assert cosines.dtype == torch.float32
    assert cosines.equal(prototypes(features.float()))
