"""A brick of your own: written, registered by name, and trained with as `legogcd:agree`.

python examples/new_brick.py
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from legogcd import LegoGCD
from legogcd.bricks import Brick, TwoViews
from legogcd.demo import write_digits
from legogcd.evaluation import clustering_accuracy
from legogcd.methods import plug_in


class Agreement(Brick):
    """mean_i ‖p_i − p_i'‖² over the images i, p = softmax(z/τ).

    Args:
        temperature: τ.
    """

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, views: TwoViews) -> Tensor:
        p = views.log_probabilities(self.temperature).exp()  # [2, B, K]
        self.selected = p.new_ones(p.shape[:2], dtype=torch.bool)  # every view counts
        return (p[0] - p[1]).square().sum(-1).mean()


plug_in("agree", "the mean squared difference of the two views' predictions", Agreement, weight=0.5)

with tempfile.TemporaryDirectory() as home:
    paths = sorted(write_digits(Path(home) / "digits", 300).rglob("*.png"))  # one folder per digit
    truth = np.array([int(path.parent.name) for path in paths])
    labels = np.where((truth < 5) & (np.arange(len(paths)) % 2 == 0), truth, -1)  # half of the digits 0 to 4
    for method, settings in (("legogcd", {}), ("legogcd:agree", {"agree.weight": 2.0})):
        model = LegoGCD(n_classes=10, method=method, settings=settings, image_size=64, views=2, epochs=3, held_out=0)
        model.set_params(cache=Path(home) / "views").fit(paths, labels)
        unlabelled = labels < 0
        score = clustering_accuracy(truth[unlabelled], model.labels_[unlabelled], n_known=5)
        terms = ", ".join(f"{name} {value:.3f}" for name, value in model.metrics_[-1]["terms"].items())
        print(f"{method:<14} All {score.all:.1%}; last epoch: {terms}")
