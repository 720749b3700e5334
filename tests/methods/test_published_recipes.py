"""The published settings by data set's name."""

import pytest

from legogcd.errors import UserError
from legogcd.methods import ParametricRecipe
from legogcd.methods.choice import choose_recipe, default_recipe, recipe_names
from legogcd.methods.published import published_recipes

BACKBONE = "facebook/dino-vitb16"


def test_the_papers_recipe_is_section_two_with_cubs_settings() -> None:
    paper = ParametricRecipe()
    assert choose_recipe("paper", "legogcd", BACKBONE) == choose_recipe("cub", "legogcd", BACKBONE) == paper
    assert (paper.supervised_weight, paper.learning_rate, paper.batch_size, paper.epochs) == (0.35, 0.1, 128, 200)
    assert (paper.momentum, paper.weight_decay, paper.final_rate, paper.start) == (0.9, 5e-5, 1e-3, "random")
    assert (paper.threshold, paper.mean_entropy_weight, paper.beta) == (0.7, 2, 2)


@pytest.mark.parametrize("dataset", list(published_recipes()))
def test_every_data_set_has_its_published_settings(dataset: str) -> None:
    row, recipe = published_recipes()[dataset], choose_recipe(dataset, "legogcd", BACKBONE)
    assert (recipe.threshold, recipe.mean_entropy_weight, recipe.beta) == (
        row["threshold"],
        row["mean_entropy_weight"],
        row["beta"],
    )
    assert dataset in recipe_names()


def test_simgcds_authors_used_another_entropy_weight_on_cifar100() -> None:
    assert choose_recipe("cifar100", "simgcd", BACKBONE).mean_entropy_weight == 4
    assert choose_recipe("cifar100", "legogcd", BACKBONE).mean_entropy_weight == 2


def test_the_released_imagenet_run_has_no_margin() -> None:
    assert choose_recipe("imagenet1k", "legogcd-released", BACKBONE).margin_strength == 0
    assert choose_recipe("imagenet1k", "legogcd", BACKBONE).margin_strength == 0.4


def test_our_recipe_starts_from_kmeans_for_every_family_and_settings_win() -> None:
    for backbone in (BACKBONE, "efficientnet-lite0"):
        recipe = choose_recipe("default", "legogcd", backbone, {"epochs": 3, "beta": 0.5})
        assert (recipe.start, recipe.epochs, recipe.beta) == ("kmeans", 3, 0.5)


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="unknown recipe 'birds'; there are: default, paper, cub"):
        choose_recipe("birds", "legogcd", BACKBONE)


def test_rankstats_has_its_own_settings_for_data_sets() -> None:
    assert choose_recipe("cub", "rankstats", BACKBONE).learning_rate == 0.001
    assert choose_recipe("cifar100", "rankstats", BACKBONE).learning_rate == 0.1
    assert choose_recipe("cifar10", "rankstats", BACKBONE).consistency_weight == 5


def test_a_family_of_backbones_without_epochs_is_said() -> None:
    with pytest.raises(UserError, match="backbones 'swin'; there are: efficientnet, joined, vit"):
        default_recipe("legogcd+", "swin")
