"""The published recipe, written down plainly: what everything here is measured against. Nothing of legogcd is in it.

float32; every step sends two views of every image through the whole ViT-B/16, of which the last block is trained;
every epoch's evaluation encodes the images again. Weights come from a folder or are random.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import ViTConfig, ViTModel

DIM, CLASSES, KNOWN = 768, 200, 100
TEACHER, STUDENT, SHARP = 0.07, 0.1, 0.05
SUPERVISED, MARGIN, THRESHOLD, MEAN_ENTROPY = 0.35, 0.4, 0.85, 2.0


class PlainRecipe:
    """SimGCD with LegoGCD's two terms on a whole backbone."""

    def __init__(self, weights: Path | None = None) -> None:
        self.backbone: Any = (
            ViTModel.from_pretrained(weights, dtype=torch.float32, add_pooling_layer=False)
            if weights
            else ViTModel(ViTConfig(), add_pooling_layer=False)
        )
        self.backbone.requires_grad_(False).layers[-1].requires_grad_(True)
        hidden = 2048
        self.projector = nn.Sequential(
            nn.Linear(DIM, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 256)
        )
        self.prototypes = nn.Parameter(torch.randn(CLASSES, DIM) / DIM**0.5)
        self.mean_prediction = torch.full((CLASSES,), 1 / CLASSES)
        trained = [*self.backbone.layers[-1].parameters(), *self.projector.parameters(), self.prototypes]
        groups = [
            {"params": [p for p in trained if p.ndim > 1], "weight_decay": 5e-5},
            {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)

    def features(self, images: Tensor) -> Tensor:
        """Normalised images [N, 3, 224, 224] -> [N, 768]."""
        return self.backbone(images).last_hidden_state[:, 0]  # type: ignore[no-any-return]

    def logits(self, features: Tensor) -> Tensor:
        return F.normalize(features, dim=-1) @ F.normalize(self.prototypes, dim=-1).T

    def step(self, images: Tensor, labels: Tensor) -> float:
        """One step on both views of a batch, all first ones before all second ones; labels [B], -1 = unlabelled."""
        self.backbone.train()
        features = self.features(images)
        loss = self.loss(self.projector(features), self.logits(features), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def predict(self, images: Tensor) -> Tensor:
        """Classes [N]."""
        self.backbone.eval()
        return self.logits(self.features(images)).argmax(-1)

    def loss(self, projections: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
        labelled = (labels >= 0).repeat(2)  # [2B]
        classes = labels.repeat(2)
        supervised = F.cross_entropy(logits[labelled] / STUDENT, classes[labelled])
        supervised = supervised + supervised_contrast(projections[labelled], classes[labelled])
        p = (logits / STUDENT).softmax(-1)
        teacher = (logits.detach() / TEACHER).softmax(-1).roll(len(labels), 0)
        distillation = -(teacher * (logits / STUDENT).log_softmax(-1)).sum(-1).mean()
        mean = p.mean(0)
        entropy = MEAN_ENTROPY * (mean * mean.log()).sum()
        first, second = (logits / STUDENT).log_softmax(-1).chunk(2)
        agreement = F.kl_div(second.detach(), first, log_target=True, reduction="batchmean")
        unsupervised = contrast(projections) + distillation + entropy + agreement
        return SUPERVISED * supervised + (1 - SUPERVISED) * unsupervised + self.local_entropy(logits, p, labelled)

    def local_entropy(self, logits: Tensor, p: Tensor, labelled: Tensor) -> Tensor:
        confidence, category = p.max(-1)
        chosen = ~labelled & (confidence >= THRESHOLD) & (category < KNOWN)
        shifted = logits / SHARP - MARGIN * self.mean_prediction.log()
        each = -((logits / SHARP).softmax(-1) * shifted.log_softmax(-1)).sum(-1)
        self.mean_prediction = 0.999 * self.mean_prediction + 0.001 * p.detach().mean(0)
        return (each * chosen).mean()


def contrast(projections: Tensor) -> Tensor:
    """Each view must find the other view of its image; projections [2B, P]."""
    z = F.normalize(projections, dim=-1)
    similarities = (z @ z.T).fill_diagonal_(-torch.inf)
    return F.cross_entropy(similarities, torch.arange(len(z)).roll(len(z) // 2))


def supervised_contrast(projections: Tensor, classes: Tensor) -> Tensor:
    """Each view must find the views of its class."""
    z = F.normalize(projections, dim=-1)
    itself = torch.eye(len(z), dtype=torch.bool)
    log_p = (z @ z.T / 0.07).masked_fill(itself, -torch.inf).log_softmax(-1)
    same = (classes[:, None] == classes) & ~itself
    return -(log_p.masked_fill(~same, 0).sum(-1) / same.sum(-1).clamp_min(1)).mean()
