"""A brick snaps onto a method by its name: in whose place, with which settings, and from one file alone."""

import json
import pickle
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from legogcd import bricks
from legogcd.bricks import Brick, LocalEntropy, MeanEntropy, TwoViews
from legogcd.bricks.shared.running_mean import RunningMean
from legogcd.errors import UserError
from legogcd.late_objects import late
from legogcd.methods import PLUG_INS, ParametricRecipe, build_method, check_method, choose_recipe, method_entry, plug_in
from legogcd.methods.parametric import Parametric
from legogcd.methods.plug_in import settings_of_class
from legogcd.training.checkpoint import checkpoint_tensors, load_checkpoint, load_tensors, save_tensors

LABELS = torch.tensor([0, 1, 2, 0, -1, -1, -1, -1])
SMALL = {"projector_hidden": 8, "projector_out": 4}


def built(name: str, **settings: object) -> Parametric:
    recipe = method_entry(name).recipe().with_settings(SMALL | settings)
    method = build_method(name, dim=6, n_classes=5, n_known=3, recipe=recipe)
    assert isinstance(method, Parametric)
    return method


def one_step(method: Parametric, epoch: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(epoch)
    return method.step(torch.randn(2, 8, 6, generator=generator), LABELS, epoch, torch.arange(8)).terms


@pytest.fixture
def crowding() -> Iterator[type[Brick]]:
    """A brick of this file's own, added by name: how near the prototypes are to their slowly moving mean."""

    class Crowding(Brick):
        def __init__(self, temperature: float = 1.0, power: int = 2, momentum: float = 0.5) -> None:
            super().__init__()
            self.temperature, self.power = temperature, power
            self.middle = RunningMean(momentum)

        def forward(self, views: TwoViews) -> Tensor:
            self.selected = ~views.all_views
            assert views.prototypes is not None
            mean = views.prototypes.mean(dim=0)
            middle = self.middle.current(mean.detach())
            self.middle.update(middle, mean.detach())
            return -((views.prototypes - middle) ** self.power).sum() * self.temperature

    plug_in("crowding", "prototypes held away from their mean", Crowding, weight=0.25)
    yield Crowding
    del PLUG_INS["crowding"]


@pytest.mark.parametrize(
    ("name", "term", "brick", "weight"),
    [
        ("simgcd:prior", "mean_entropy", "PriorAlignment", 0.65 * 2),
        ("simgcd+ler:prior", "mean_entropy", "PriorAlignment", 0.65 * 2),
        ("legogcd:consensus", "self_distillation", "ConsensusDistillation", 0.65),
    ],
)
def test_a_brick_takes_another_ones_place_and_weight(name: str, term: str, brick: str, weight: float) -> None:
    method, plain = built(name), built(name.partition(":")[0])
    assert type(method.bricks[term]).__name__ == brick
    assert method.weights()[term] == pytest.approx(weight)
    assert list(method.bricks) == list(plain.bricks)
    changed = [name for name in plain.bricks if type(method.bricks[name]) is not type(plain.bricks[name])]
    assert changed == [term]
    assert set(one_step(method)) == set(method.bricks)


def test_temperatures_come_from_the_recipe_unless_the_brick_has_its_own() -> None:
    given = {
        "student_temperature": 0.2,
        "teacher_temperature_start": 0.3,
        "teacher_temperature_end": 0.15,
        "teacher_warmup_epochs": 7,
        "teacher_warmup": "cosine",
    }
    bricks = built("legogcd:prior,consensus", **given).bricks
    prior, consensus = bricks["mean_entropy"], bricks["self_distillation"]
    assert (prior.temperature, prior.prior_temperature) == (0.2, 0.05)
    assert (consensus.student_temperature, consensus.teacher_temperatures) == (0.2, (0.3, 0.15))
    assert (consensus.warmup_epochs, consensus.warmup) == (7, "cosine")
    own = built("legogcd:prior,consensus", **given, **{"prior.temperature": 0.4}).bricks
    assert own["mean_entropy"].temperature == 0.4
    assert own["supervised_ce"].temperature == 0.2


def test_a_bricks_settings_and_weight_are_settings_of_the_recipe() -> None:
    method = built("simgcd:prior", **{"prior.uniform_share": "0.3", "prior.momentum": 0.5, "prior.weight": "0.7"})
    prior = method.bricks["mean_entropy"]
    assert (prior.uniform_share, prior.shares.momentum) == (0.3, 0.5)
    assert method.weights()["mean_entropy"] == 0.7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior.uniform_share": "7"}, "setting prior.uniform_share = '7': input should be less than or equal to 1"),
        ({"prior.uniform_share": "much"}, "setting prior.uniform_share = 'much': input should be a valid number"),
        ({"prior.weight": -1}, "setting prior.weight = -1: input should be greater than or equal to 0"),
        ({"prior.magic": 1}, "unknown setting 'prior.magic'; there are: .*prior.momentum, prior.prior_temperature"),
        ({"consensus.weight": 1}, "unknown setting 'consensus.weight'"),
    ],
)
def test_wrong_settings_of_a_brick_are_explained(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose_recipe("default", "legogcd:prior", "efficientnet-lite0", settings)


@pytest.mark.parametrize("name", ["legogcd:consensus,prior", "legogcd+:crowding"])
def test_a_recipe_survives_a_dump_and_another_process(crowding: type[Brick], name: str) -> None:
    recipe = choose_recipe("default", name, "efficientnet-lite0", {f"{name.split(':')[1].split(',')[0]}.weight": 0.3})
    again = pickle.loads(pickle.dumps(recipe))  # noqa: S301
    assert again == recipe
    assert type(again) is type(recipe) is method_entry(name).recipe
    assert method_entry(name).recipe.model_validate(recipe.model_dump(mode="json")) == recipe


def test_two_bricks_for_one_place_are_refused(crowding: type[Brick]) -> None:
    class Other(MeanEntropy):
        pass

    class Patient(LocalEntropy):
        pass

    plug_in("other", "another prior", Other, replaces=MeanEntropy)
    plug_in("patient", "another LER", Patient, replaces=LocalEntropy)
    try:
        with pytest.raises(UserError, match="simgcd:other,prior: other and prior both replace mean_entropy; name one"):
            check_method("simgcd:prior,other")
        with pytest.raises(UserError, match="patient takes the place of LocalEntropy, which is not in it"):
            check_method("simgcd:patient")
        assert built("legogcd:patient", threshold=0.4).bricks["ler"].threshold == 0.4
        assert built("legogcd+:patient,crowding").bricks["ler"].margin == "paper"
    finally:
        del PLUG_INS["other"], PLUG_INS["patient"]


def test_a_brick_that_could_not_be_set_is_refused_where_it_is_written() -> None:
    class Heavy(Brick):
        def __init__(self, weight: float = 1.0) -> None:
            super().__init__()

    class Demanding(Brick):
        def __init__(self, power: float) -> None:
            super().__init__()

    with pytest.raises(ValueError, match="heavy has a setting called weight"):
        plug_in("heavy", "", Heavy)
    with pytest.raises(ValueError, match="Demanding's setting power needs a default"):
        plug_in("demanding", "", Demanding)
    with pytest.raises(ValueError, match="two bricks called 'prior'"):
        plug_in("prior", "", MeanEntropy)
    with pytest.raises(ValueError, match="one word, not 'a,b'"):
        plug_in("a,b", "", MeanEntropy)
    assert not {"heavy", "demanding"} & set(PLUG_INS)


OUTSIDE = (-1.0, 0.0, 1.5)


@pytest.mark.parametrize("name", sorted(PLUG_INS))
def test_what_is_said_of_a_brick_is_what_its_class_takes(name: str) -> None:
    said, replaces = PLUG_INS[name], PLUG_INS[name].replaces
    brick, replaced = late(said.brick), getattr(bricks, str(replaces)) if replaces else None
    by_class = settings_of_class(brick, replaced)
    assert list(said.settings) == list(by_class)
    for setting, (kind, field) in said.settings.items():
        assert field.default == by_class[setting][1].default
        for value in OUTSIDE if kind in (float, float | None) else ():
            by_name = refuses(built, f"simgcd:{name}", **{f"{name}.{setting}": value})
            assert by_name == refuses(brick, **{setting: value}), setting


def refuses(make: Callable[..., object], *names: str, **settings: float) -> bool:
    try:
        make(*names, **settings)
    except UserError:
        return True
    return False


def test_an_added_brick_has_its_own_term_weight_and_settings(crowding: type[Brick]) -> None:
    method = built("simgcd:crowding", student_temperature=0.2, **{"crowding.power": 4})
    brick = method.bricks["crowding"]
    assert isinstance(brick, crowding)
    assert (method.weights()["crowding"], brick.temperature, brick.power) == (0.25, 0.2, 4)
    prototypes = method.prototypes.weight.detach()
    expected = -0.2 * ((prototypes - prototypes.mean(dim=0)) ** 4).sum()
    torch.testing.assert_close(one_step(method)["crowding"].detach(), expected)
    assert built("simgcd:crowding", **{"crowding.weight": 3}).weights()["crowding"] == 3


def test_a_brick_of_one_file_works_end_to_end_by_its_name(crowding, run_cli, pictures, tiny_vit, tmp_path) -> None:
    run, options = tmp_path / "run", ["--labels", "folders", "--known", "blue,green", "--image-size", 32]
    options += ["--backbone", tiny_vit, "--cache", tmp_path / "cache", "--epochs", 2, "--threads", 1, "--out", run]
    for setting in ("batch_size=8", "crowding.weight=0.5", "crowding.power=4"):
        options += ["--set", setting]
    done = run_cli("discover", pictures, "--method", "simgcd:crowding,prior", *options)
    assert done.exit_code == 0, done.stderr
    assert all("crowding" in line for line in (run / "metrics.jsonl").read_text().splitlines())
    config = json.loads((run / "config.json").read_text())
    assert (config["method"], config["recipe"]["crowding.weight"]) == ("simgcd:crowding,prior", 0.5)
    done = run_cli(
        "predict", run, pictures, "--out", tmp_path / "predicted.csv"
    )  # the saved model is built by name too
    assert done.exit_code == 0, done.stderr
    assert ":crowding          prototypes held away from their mean" in run_cli("methods").stdout


def test_a_resumed_method_with_added_bricks_goes_on_exactly(crowding: type[Brick], tmp_path) -> None:
    def train(method: Parametric, optimizer: torch.optim.Optimizer, epochs: range) -> list[float]:
        losses = []
        for epoch in epochs:
            generator = torch.Generator().manual_seed(epoch)
            step = method.step(torch.randn(2, 8, 6, generator=generator), LABELS, epoch, torch.arange(8))
            optimizer.zero_grad()
            step.loss.backward()
            optimizer.step()
            losses.append(step.loss.item())
        return losses

    torch.manual_seed(0)
    tail = torch.nn.Identity()
    unbroken, resumed = (built("legogcd:prior,consensus,crowding") for _ in range(2))
    optimizer = torch.optim.SGD(unbroken.parameters(), lr=0.05, momentum=0.9)
    train(unbroken, optimizer, range(4))
    save_tensors(tmp_path / "checkpoint.safetensors", checkpoint_tensors(tail, unbroken, optimizer))
    other = torch.optim.SGD(resumed.parameters(), lr=0.05, momentum=0.9)
    load_checkpoint(tail, resumed, other, load_tensors(tmp_path / "checkpoint.safetensors")[0])
    assert train(resumed, other, range(4, 8)) == train(unbroken, optimizer, range(4, 8))


def test_published_recipes_have_no_added_bricks() -> None:
    assert ParametricRecipe.plug_ins == ()
    assert not any("." in name for name in ParametricRecipe.model_fields)
