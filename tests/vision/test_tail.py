"""The tail over kept tokens: the same sums as slow loops, whatever type the tokens are kept in."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_backbones import KINDS, save_tiny
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from legogcd.vision import view_by_view
from legogcd.vision.attention import attend
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.pooled_responses import pooled_responses
from legogcd.vision.views.rows import Rows, TallTensor
from legogcd.vision.views.tensor_format import quantized, stored_as


def looped(queries: Tensor, tokens: Tensor) -> Tensor:
    """Σ_t softmax_t(q·n_t) n_t, one query at a time."""
    pooled = torch.zeros_like(queries)
    for view, head in ((view, head) for view in range(len(queries)) for head in range(queries.shape[1])):
        exponentials = [math.exp(float(queries[view, head] @ token)) for token in tokens[view]]
        for exponential, token in zip(exponentials, tokens[view], strict=True):
            pooled[view, head] += exponential / sum(exponentials) * token
    return pooled


shapes = st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))  # N, H, T, D
dtypes = st.sampled_from(["fp32", "bf16", "fp16", "int8"])
threads = st.sampled_from([1, 2, 3])


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def kept_rows(tokens: Tensor, dtype: str, generator: torch.Generator) -> Rows:
    """``tokens`` [N, T, D] as rows of larger tensors, some way down in them, last ones first."""
    above = torch.randn(3, *tokens.shape[1:], generator=generator)
    every = torch.cat([above, tokens.flip(0)])
    index = torch.arange(len(every) - 1, 2, -1)
    if dtype == "int8":
        numbers, scales = quantized(every)
        return Rows(TallTensor(numbers.split(4)), index, TallTensor(scales.split(4)))
    return Rows(TallTensor(stored_as(every, dtype).split(4)), index)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, kept=dtypes, count=threads, seed=st.integers(0, 99))
def test_attention_is_the_loops(shape: tuple[int, int, int, int], kept: str, count: int, seed: int) -> None:
    """Whichever way tokens are kept and however many threads go through them, the sums are float32's."""
    (n, h, t, d), generator = shape, torch.Generator().manual_seed(seed)
    queries, tokens = torch.randn(n, h, d, generator=generator), torch.randn(n, t, d, generator=generator)
    expected = looped(queries, stored_as(tokens, kept).float())
    with torch_threads(count):
        assert torch.allclose(attend(queries, stored_as(tokens, kept), torch.float32), expected, atol=1e-5)
        assert torch.allclose(attend(queries, kept_rows(tokens, kept, generator), torch.float32), expected, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, kept=dtypes, count=threads, seed=st.integers(0, 99))
def test_gradients_over_kept_tokens_are_those_over_their_values(
    shape: tuple[int, int, int, int], kept: str, count: int, seed: int
) -> None:
    """The values' gradients are autograd's own, through the plain products over tokens that might be trained."""
    (n, h, t, d), generator = shape, torch.Generator().manual_seed(seed)
    queries = torch.randn(n, h, d, generator=generator, requires_grad=True)
    tokens = torch.randn(n, t, d, generator=generator)
    direction = torch.randn(n, d, h, generator=generator).transpose(1, 2)
    values = stored_as(tokens, kept).float().requires_grad_()
    (plain,) = torch.autograd.grad(attend(queries, values, torch.float32), queries, direction)
    with torch_threads(count):
        for way in (stored_as(tokens, kept), kept_rows(tokens, kept, generator)):
            (ours,) = torch.autograd.grad(attend(queries, way, torch.float32), queries, direction)
            assert torch.allclose(ours, plain, atol=1e-5)


def test_views_in_several_buffers_and_threads_are_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(3)
    queries, tokens = torch.randn(11, 4, 16, generator=generator), torch.randn(11, 9, 16, generator=generator)
    rows = kept_rows(tokens, "bf16", generator)
    once = attend(queries, rows, torch.float32)
    for numbers, count in ((1, 1), (3 * 9 * 16, 2), (1 << 18, 3)):
        monkeypatch.setattr(view_by_view, "_IN_CACHE", numbers)
        with torch_threads(count):
            assert torch.equal(attend(queries, rows, torch.float32), once)


def test_gradient_of_attention_by_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(5, 2, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    for kept in (torch.float64, torch.float32):
        tokens = torch.randn(5, 4, 3, generator=generator).to(kept)
        assert torch.autograd.gradcheck(lambda q, n=tokens: attend(q, n, torch.float64), (queries,))


class Made(TorchDispatchMode):
    """Remembers the type of every new tensor of at least ``size`` elements that an operation makes."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.types = size, list[torch.dtype]()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        given = {tensor.untyped_storage().data_ptr() for tensor in args if isinstance(tensor, Tensor)}
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if not isinstance(tensor, Tensor) or tensor.untyped_storage().data_ptr() in given:
                continue
            if tensor.numel() >= self.size:
                self.types.append(tensor.dtype)
        return result


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Backbone:
    """A tiny model on images of so many patches that the tokens are by far its largest tensor."""
    folder = save_tiny(tmp_path_factory.mktemp("vit"), "vit")
    return load_backbone(folder, image_size=128)


def random_state(backbone: Backbone, n_views: int = 64, n_tokens: int = 257) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    tokens = torch.nn.functional.layer_norm(torch.randn(n_views, n_tokens, 32, generator=generator), (32,))
    return torch.randn(n_views, backbone.dim, generator=generator), tokens


@pytest.mark.parametrize("kept", ["fp32", "bf16", "int8"])
def test_a_step_makes_nothing_as_large_as_the_tokens(
    wide: Backbone, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a copy of them, nor a gradient for them, nor a product of all of them with a matrix."""
    monkeypatch.setattr(view_by_view, "_IN_CACHE", 4 * 257 * 32)
    cls, tokens = random_state(wide)
    rows = kept_rows(tokens, kept, torch.Generator())
    with torch_threads(1), Made(tokens.numel() // 2) as made:  # a mode sees its own thread's work only
        wide.tail((cls, rows)).square().sum().backward()
    assert made.types == []


@pytest.mark.parametrize("kept", [torch.bfloat16, torch.float16])
def test_half_tokens_in_float32_are_their_values(wide: Backbone, kept: torch.dtype) -> None:
    cls, tokens = random_state(wide, n_views=7)
    with torch.no_grad():
        halved = wide.tail((cls, tokens.to(kept)))
        assert halved.dtype == torch.float32
        assert torch.allclose(halved, wide.tail((cls, tokens.to(kept).float())), atol=1e-5)
        assert torch.cosine_similarity(halved, wide.tail((cls, tokens))).min() > 0.99


def test_a_few_large_numbers_in_a_token_leave_the_feature(wide: Backbone) -> None:
    """Pretrained transformers have them, and one scale must then serve a token's large and small numbers."""
    cls, tokens = random_state(wide)
    tokens[..., 5] *= 15
    tokens = torch.nn.functional.layer_norm(tokens, (32,))
    with torch.no_grad():
        kept, plain = wide.tail((cls, kept_rows(tokens, "int8", torch.Generator()))), wide.tail((cls, tokens))
    assert torch.cosine_similarity(kept, plain).min() > 0.99


@pytest.mark.parametrize("kept", ["bf16", "int8"])
@pytest.mark.parametrize("train_blocks", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_half_states_keep_the_feature(tmp_path: Path, kind: str, train_blocks: int, kept: str) -> None:
    """What may be kept small, by the backbone's own word, leaves the features where they were."""
    side = 56 if kind == "dinov2" else 32
    backbone = load_backbone(save_tiny(tmp_path, kind), side, train_blocks)
    state = backbone.trunk(torch.randn(3, 3, side, side, generator=torch.Generator().manual_seed(1)))
    small = tuple(
        kept_rows(part, kept, torch.Generator()) if half else part
        for part, half in zip(state, backbone.half, strict=True)
    )
    with torch.no_grad():
        assert torch.cosine_similarity(backbone.tail(small), backbone.tail(state)).min() > 0.99


AUTOCAST = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from test_tail import Made, load_backbone, random_state
backbone = load_backbone(sys.argv[2], image_size=128)
cls, tokens = random_state(backbone)
def learn(state, enabled):
    backbone.tail.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        features = backbone.tail(state)
    features.float().square().sum().backward()
    gradients = {name: p.grad.clone() for name, p in backbone.tail.named_parameters() if p.requires_grad}
    return features.detach().float(), gradients
plain, expected = learn((cls, tokens), False)
kept = cls, tokens.bfloat16()
torch.set_num_threads(1)
with Made(tokens.numel() // 2) as made:
    features, gradients = learn(kept, True)
assert torch.cosine_similarity(features, plain).min() > 0.99, "features"
for name, gradient in gradients.items():
    similarity = torch.cosine_similarity(gradient.flatten(), expected[name].flatten(), dim=0)
    assert similarity > 0.98, (name, similarity)
assert not made.types, made.types
rotary = load_backbone(sys.argv[3], image_size=32)
images = torch.randn(2, 3, 32, 32)
with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
    state = rotary.trunk(images)
    assert all(part.dtype == torch.float32 for part in state)
    halved = rotary.tail((state[0], state[1].bfloat16(), state[2]))
with torch.no_grad():
    assert torch.cosine_similarity(halved.float(), rotary(images)).min() > 0.98, "rotary"
convolution = load_backbone("efficientnet-lite0", image_size=64)
images = torch.randn(2, 3, 64, 64)
with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
    halved = convolution.tail((convolution.trunk(images)[0].bfloat16(),))
with torch.no_grad():
    assert halved.dtype == torch.float32
    assert torch.cosine_similarity(halved, convolution(images)).min() > 0.98, "convolution"
print("agreed")
"""


def test_autocast_over_half_tokens(tmp_path: Path) -> None:
    """In a process of its own: some virtual machines advertise AMX and die of a bf16 product unless oneDNN is told."""
    vit, rotary = save_tiny(tmp_path / "vit", "vit"), save_tiny(tmp_path / "dinov3", "dinov3_vit")
    child = subprocess.run(
        [sys.executable, "-c", AUTOCAST, str(Path(__file__).parent), str(vit), str(rotary)],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.stdout.strip() == "agreed", child.stderr[-2000:]


def plain_responses(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.nn.functional.relu6(maps.flatten(1, 2) @ weight.T + bias).mean(1)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 3), st.integers(1, 3), st.integers(1, 5), st.integers(1, 6)),
    kept=dtypes,
    seed=st.integers(0, 99),
)
def test_pooled_responses_and_their_gradients_are_autograds(
    shape: tuple[int, int, int, int, int], kept: str, seed: int
) -> None:
    """To rounding for maps in any type, and to the bit for any number of threads."""
    (n, height, width, channels, d), generator = shape, torch.Generator().manual_seed(seed)
    maps = 3 * torch.randn(n, height, width, channels, generator=generator)
    weight, bias = (torch.randn(*s, generator=generator, requires_grad=True) for s in ((d, channels), (d,)))
    direction = torch.randn(n, d, generator=generator)
    expected = plain_responses(stored_as(maps, kept).float(), weight, bias)
    slopes = torch.autograd.grad(expected, (weight, bias), direction)
    found = []
    rows = kept_rows(maps, kept, generator)
    for count in (1, 2, 3):
        with torch_threads(count):
            pooled = pooled_responses(rows, weight, bias, torch.float32)
            found.append((pooled.detach(), *torch.autograd.grad(pooled, (weight, bias), direction)))
            with torch.no_grad():
                assert torch.equal(pooled_responses(rows, weight, bias, torch.float32), found[0][0])
    for ours, plain in zip(found[0], (expected, *slopes), strict=True):
        assert torch.allclose(ours, plain, atol=1e-5 * max(1.0, float(plain.detach().abs().max())))
    for other in found[1:]:
        assert all(torch.equal(one, two) for one, two in zip(found[0], other, strict=True))


def test_the_default_step_makes_one_tensor_as_large_as_the_responses() -> None:
    """Where autograd makes four; the evaluation makes none."""
    maps, weight, bias = torch.randn(64, 7, 7, 8), torch.randn(96, 8, requires_grad=True), torch.zeros(96)
    rows = kept_rows(maps, "bf16", torch.Generator())
    with torch_threads(1), Made(64 * 49 * 96 // 2) as made:  # a mode sees its own thread's work only
        pooled_responses(rows, weight, bias, torch.float32).square().sum().backward()
    assert made.types == [torch.float32]
    with torch_threads(1), torch.no_grad(), Made(64 * 49 * 96 // 2) as made:
        pooled_responses(rows, weight, bias, torch.float32)
    assert made.types == []
