"""A frozen convolution says what padding, convolution, batch norm, ReLU6 and skip say one after the other."""

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.vision.backbones import convolution as convolution_module
from legogcd.vision.backbones.convolution import FrozenConvolution, one_pass_works, turned, turned_back


def random_layer(kernel: int, stride: int, inside: int, outside: int, groups: int) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    torch.manual_seed(0)
    plain = nn.Conv2d(inside, outside, kernel, stride, groups=groups, bias=False).eval()
    norm = nn.BatchNorm2d(outside).eval()
    with torch.no_grad():
        plain.weight.mul_(3)
        norm.weight.uniform_(0.5, 2)
        norm.bias.uniform_(-1, 3)
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
    return plain, norm


def one_by_one(plain: nn.Conv2d, norm: nn.BatchNorm2d, maps: Tensor, relu6: bool) -> Tensor:
    """TensorFlow's "same" padding spelled out, everything in float64."""
    zeros = plain.kernel_size[0] - plain.stride[0]
    begin, end = zeros // 2, zeros - zeros // 2
    made = norm.double()(plain.double()(functional.pad(maps.double(), (begin, end, begin, end))))
    return made.clamp(0, 6) if relu6 else made


@pytest.mark.parametrize("in_one_pass", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "inside", "outside", "groups", "relu6"),
    [
        (1, 1, 8, 24, 1, True),
        (1, 1, 24, 8, 1, False),
        (3, 1, 16, 16, 16, True),
        (5, 1, 16, 16, 16, True),
        (3, 2, 16, 16, 16, True),
        (5, 2, 16, 16, 16, True),
        (3, 2, 3, 32, 1, True),
    ],
)
def test_it_says_what_the_steps_say(
    monkeypatch: pytest.MonkeyPatch,
    in_one_pass: bool,
    kernel: int,
    stride: int,
    inside: int,
    outside: int,
    groups: int,
    relu6: bool,
) -> None:
    assert one_pass_works()
    monkeypatch.setattr(convolution_module, "one_pass_works", lambda: in_one_pass)
    plain, norm = random_layer(kernel, stride, inside, outside, groups)
    frozen, maps = FrozenConvolution(plain, norm, relu6), torch.randn(2, inside, 12, 8)
    with torch.no_grad():
        made = turned_back(frozen(turned(maps)))
        expected = one_by_one(plain, norm, maps, relu6).permute(0, 2, 3, 1)
    assert turned(maps).is_mkldnn == in_one_pass
    assert made.shape == expected.shape
    assert float((made - expected).abs().max()) < 1e-5 * float(expected.abs().max())


def test_copies_and_pickles_work_after_use() -> None:
    frozen = FrozenConvolution(*random_layer(3, 1, 8, 8, 8), relu6=True)
    maps = turned(torch.randn(1, 8, 6, 6))
    with torch.no_grad():
        made = frozen(maps).to_dense()
        assert torch.equal(copy.deepcopy(frozen)(maps).to_dense(), made)
        assert torch.equal(pickle.loads(pickle.dumps(frozen))(maps).to_dense(), made)  # noqa: S301


def test_weights_that_change_are_seen() -> None:
    frozen = FrozenConvolution(*random_layer(1, 1, 8, 8, 1), relu6=False)
    maps = turned(torch.randn(1, 8, 6, 6))
    with torch.no_grad():
        before = frozen(maps).to_dense()
        frozen.load_state_dict({name: 2 * tensor for name, tensor in frozen.state_dict().items()})
        assert torch.allclose(frozen(maps).to_dense(), 2 * before, atol=1e-5)


def test_asking_whether_it_works_draws_no_random_numbers() -> None:
    one_pass_works.cache_clear()
    before = torch.get_rng_state()
    one_pass_works()
    assert torch.equal(torch.get_rng_state(), before)


def test_a_missing_operation_leads_to_the_plain_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> Tensor:
        raise RuntimeError("no such operation")

    one_pass_works.cache_clear()
    monkeypatch.setattr(FrozenConvolution, "in_one_pass", gone)
    try:
        assert not one_pass_works()
        assert not turned(torch.zeros(1, 8, 4, 4)).is_mkldnn
    finally:
        one_pass_works.cache_clear()
