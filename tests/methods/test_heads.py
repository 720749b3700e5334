"""Heads compute cosines as exactly as the features are given."""

import pytest
import torch

from legogcd.methods.heads import Prototypes
from legogcd.methods.hyperbolic import HyperbolicPrototypes


def test_float64_features_get_float64_cosines() -> None:
    prototypes, features = Prototypes(6, 4), torch.randn(3, 6, dtype=torch.float64)
    rows = prototypes.weight.detach().double()
    expected = torch.nn.functional.cosine_similarity(features[:, None], rows[None], dim=-1)
    torch.testing.assert_close(prototypes(features), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("head", [Prototypes, HyperbolicPrototypes])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32_also_under_autocast(dtype: torch.dtype, head: type[Prototypes]) -> None:
    prototypes, features = head(6, 4), torch.randn(3, 6).to(dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = prototypes(features)
    assert logits.dtype == torch.float32
    assert logits.equal(prototypes(features.float()))
