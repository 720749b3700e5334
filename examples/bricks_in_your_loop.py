"""Bricks alone, in a plain PyTorch loop: an encoder of your own, LegoGCD's terms, and a score at the end.

python examples/bricks_in_your_loop.py
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

from legogcd.bricks import (
    DualViewKL,
    InfoNCE,
    LocalEntropy,
    MeanEntropy,
    SelfDistillation,
    SupCon,
    SupervisedCE,
    TwoViews,
)
from legogcd.evaluation import clustering_accuracy

N_KNOWN, N_CLASSES, EPOCHS = 5, 10, 40

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images / 16, dtype=torch.float32)[:, None]  # [N, 1, 8, 8]
truth = torch.tensor(digits.target)
labelled = (truth < N_KNOWN) & (torch.rand(len(truth)) < 0.5)  # half of the digits 0 to 4
labels = truth.where(labelled, -1)


def view(batch: torch.Tensor) -> torch.Tensor:
    """A random view: up to one pixel to each side, and a little noise."""
    right, down = torch.randint(0, 3, (2,)).tolist()
    padded = F.pad(batch, (1, 1, 1, 1))[:, :, down : down + 8, right : right + 8]
    return padded + 0.1 * torch.randn_like(padded)


encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128))
projector = nn.Linear(128, 64)
prototypes = nn.Parameter(torch.randn(N_CLASSES, 128))
bricks = {  # the weight of each, as in SimGCD and LegoGCD
    InfoNCE(): 0.65,
    SupCon(): 0.35,
    SupervisedCE(): 0.35,
    SelfDistillation(): 0.65,
    MeanEntropy(): 1.3,
    DualViewKL(): 0.65,
    LocalEntropy(threshold=0.7): 1.0,
}
optimizer = torch.optim.AdamW([*encoder.parameters(), *projector.parameters(), prototypes], lr=1e-3)


def logits(features: torch.Tensor) -> torch.Tensor:
    """Cosines to the prototypes [..., K]."""
    return F.normalize(features, dim=-1) @ F.normalize(prototypes, dim=-1).T


for epoch in range(EPOCHS):
    for batch in torch.randperm(len(images)).split(256):
        features = torch.stack([encoder(view(images[batch])) for _ in range(2)])  # [2, B, 128]
        views = TwoViews(projector(features), logits(features), labels[batch], N_KNOWN, epoch)
        loss = sum(weight * brick(views) for brick, weight in bricks.items())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

with torch.no_grad():
    predicted = logits(encoder(images)).argmax(-1)
score = clustering_accuracy(truth[~labelled].numpy(), predicted[~labelled].numpy(), n_known=N_KNOWN)
print(f"unlabelled digits: All {score.all:.1%}, Old {score.old:.1%}, New {score.new:.1%}")
