"""What counts as pixels: arrays, tensors and Pillow images of any depth, as 8-bit RGB."""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from legogcd.errors import UnreadableImage, UserError
from legogcd.wording import library_error

_FLOAT_SLACK = 1e-3  # less than half an 8-bit level: rounding, not another range


def eight_bit(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Bring a greyscale image of other depth to 8 bits without clipping.

    uint8 stays, bool becomes 0 and 255, uint16 keeps its upper byte. Wider integers and floats have no agreed
    white: they are read as 0..1 (floats), 0..255 or 0..65535 (integers) where they fit, else from their smallest to
    their largest value. What is not finite is black.
    """
    return eight_bit_rule([values])(values)


def eight_bit_rule(strips: Iterable[NDArray[Any]]) -> Callable[[NDArray[Any]], NDArray[np.uint8]]:
    """The function that ``eight_bit`` applies to an image, of which the strips may come one by one."""
    low, high, floating = math.inf, -math.inf, False
    for values in strips:
        if values.dtype == np.uint8:
            return lambda given: given
        if values.dtype == np.bool_:
            return lambda given: given.astype(np.uint8) * np.uint8(255)
        if values.dtype.kind == "u" and values.dtype.itemsize == 2:
            return _upper_byte
        floating = values.dtype.kind == "f"
        usable = values[np.isfinite(values)] if floating else values
        if usable.size:
            low, high = min(low, float(usable.min())), max(high, float(usable.max()))
    if low > high:  # nothing is finite
        return lambda given: np.zeros(given.shape, np.uint8)
    if not floating and low >= 0 and 255 < high <= 65535:
        return _upper_byte
    if low < 0 or high > 255:
        return _linear(low, 255 / (high - low) if high > low else 0.0)
    return _linear(0.0, 255.0 if floating and high <= 1 else 1.0)


def _upper_byte(values: NDArray[Any]) -> NDArray[np.uint8]:
    return (values >> 8).astype(np.uint8)


def _linear(offset: float, scale: float) -> Callable[[NDArray[Any]], NDArray[np.uint8]]:
    def scaled(values: NDArray[Any]) -> NDArray[np.uint8]:
        levels = np.where(np.isfinite(values), (values.astype(np.float64) - offset) * scale, 0.0)
        return np.rint(levels).astype(np.uint8)

    return scaled


def over_white(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Lay an image with an alpha channel [H, W, 4] on white; [H, W, 3]."""
    alpha = rgba[..., 3:].astype(np.uint16)  # [H, W, 1]
    mixed = rgba[..., :3] * alpha + 255 * (255 - alpha) + 127  # at most 255² + 127, which 16 bits hold
    return (mixed // 255).astype(np.uint8)


def one_image(image: Any) -> Path | bytes | NDArray[np.uint8]:
    """What a sequence holds as one image: a file, the bytes of one, or pixels uint8 [H, W, 3].

    A mapping with ``bytes`` or ``path`` is how Hugging Face data sets hold an image that is not decoded.
    """
    if isinstance(image, Mapping) and ("bytes" in image or "path" in image):
        image = image.get("bytes") or image.get("path")
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, str | os.PathLike):
        return Path(image)
    try:
        return rgb(image)
    except UserError as wrong:
        raise UnreadableImage(str(wrong)) from None
    except Exception as error:  # decoders raise nearly everything on damaged data
        raise UnreadableImage(library_error(error)) from None


def check_pixels(source: Any) -> None:
    for i, image in enumerate(source):
        if isinstance(image, bytes | bytearray | memoryview):
            continue  # a file that cannot be read is named and left out, as on disk
        if isinstance(image, Image.Image):
            try:
                image.load()  # a lazily opened file shows its faults here, not in the middle of a run
            except Exception as error:
                raise UserError(f"image {i} cannot be read: {library_error(error)}") from None
            continue
        if not (hasattr(image, "ndim") and hasattr(image, "shape")):
            raise UserError(f"image {i} is a {type(image).__name__}; expected an array, a tensor or a Pillow image")
        array = _array(image)
        _check_range(array, i)
        if 0 in _channels_last(array, first=_is_tensor(image)).shape:
            raise UserError(f"image {i} has shape {list(array.shape)}: it holds no pixel")


def _check_range(array: NDArray[Any], i: int) -> None:
    kind = array.dtype.kind
    if kind not in "buif":
        raise UserError(f"image {i} has the type {array.dtype}; expected uint8 in 0..255 or floating in 0..1")
    if array.size == 0 or array.dtype in (np.uint8, np.bool_):
        return
    low, high = float(array.min()), float(array.max())
    fits = -_FLOAT_SLACK <= low <= high <= 1 + _FLOAT_SLACK if kind == "f" else 0 <= low <= high <= 255
    if not fits:
        expected = "floating values in 0..1" if kind == "f" else "whole numbers in 0..255"
        raise UserError(f"image {i} has values from {low:g} to {high:g}; expected {expected}, or uint8")


def _is_tensor(image: Any) -> bool:
    return hasattr(image, "detach")


def _array(image: Any) -> NDArray[Any]:
    if not _is_tensor(image):
        return np.asarray(image)
    tensor = image.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":  # NumPy has no such type
        tensor = tensor.float()
    array: NDArray[Any] = tensor.numpy()
    return array


def _channels_last(array: NDArray[Any], first: bool) -> NDArray[Any]:
    """View [H, W], [H, W, C] or [C, H, W] as [H, W, C]; ``first`` tells which to try first where both fit."""
    if array.ndim == 2:
        return array[..., None]
    if array.ndim == 3:
        for axis in (0, 2) if first else (2, 0):
            if array.shape[axis] in (1, 3, 4):
                return np.moveaxis(array, axis, -1)
    raise UserError(f"an image has shape {list(array.shape)}; expected [H, W], [H, W, 1|3|4] or [1|3|4, H, W]")


def rgb(image: Any) -> NDArray[np.uint8]:
    if image is None or not (isinstance(image, Image.Image) or (hasattr(image, "ndim") and hasattr(image, "shape"))):
        raise UserError(f"a {type(image).__name__} is no array, tensor or Pillow image")
    if isinstance(image, Image.Image):
        pixels = _pillow_pixels(ImageOps.exif_transpose(image))
    else:
        pixels = _channels_last(_array(image), first=_is_tensor(image))
        if pixels.dtype.kind == "f":
            pixels = np.rint(pixels.clip(0, 1).astype(np.float32) * 255)
        pixels = pixels.astype(np.uint8) if pixels.dtype != np.bool_ else eight_bit(pixels)
    if pixels.shape[-1] == 4:
        pixels = over_white(pixels)
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))


def _pillow_pixels(image: Image.Image) -> NDArray[np.uint8]:
    if image.mode[0] in "IF":
        return eight_bit(np.asarray(image))[..., None]
    return np.asarray(image.convert("RGBA" if image.has_transparency_data else "RGB"))
