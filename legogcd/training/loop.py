"""The loop: draw, look at two views, descend; after an epoch, say what happened. PAPER section 2 in one screen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from legogcd.errors import UserError
from legogcd.methods import CONFIDENT, Method, Recipe, Step
from legogcd.run.runtime import Runtime
from legogcd.training.draw import balanced_batches, clustering_images, epoch_generator
from legogcd.training.optimizer import rate_at, set_rate
from legogcd.vision.tail import TailInput
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.source import ViewSource
from legogcd.vision.views.workers import ahead

EVALUATION_BATCH = 256
Metrics = dict[str, Any]
Made = TypeVar("Made")


@dataclass
class Trainee:
    """Everything a step touches: whose views, which rows of them, the labels they have, and what learns."""

    source: ViewSource
    rows: Tensor  # [N] the images' rows in the source
    labels: Tensor  # [N], -1 = unlabelled
    tail: nn.Module
    method: Method
    runtime: Runtime

    def to_device(self, state: TailInput) -> TailInput:
        return tuple(part.to(self.runtime.device, non_blocking=True) for part in state)

    def fetched(self, states: Iterator[Made]) -> Iterator[Made]:
        """The source's states as they come; kept ones are fetched while the one before is used."""
        return ahead(states) if isinstance(self.source, KeptViews) else states

    def pairs(self, batch_size: int, generator: torch.Generator) -> Iterator[tuple[Tensor, TailInput]]:
        """An epoch's draws: positions [B], and two views of each image [2·B, ...]."""
        for batch in balanced_batches(self.labels, batch_size, generator):
            yield batch, self.to_device(self.source.pair(self.rows[batch], generator))

    @torch.no_grad()
    def evaluation_features(self, positions: Tensor | None = None) -> Iterator[Tensor]:
        """The evaluation views' features in batches [n, D], of all images or of those at some positions."""
        self.tail.eval()
        batches = torch.split(self.rows if positions is None else self.rows[positions], EVALUATION_BATCH)
        for state in self.fetched(self.to_device(self.source.evaluation(rows)) for rows in batches):
            with self.runtime.autocast():
                features = self.tail(state)
            yield features.float()

    def features(self, positions: np.ndarray | None = None) -> np.ndarray:
        """The evaluation views' features [N, D], of all images or of those at some positions."""
        chosen = None if positions is None else torch.from_numpy(positions)
        return torch.cat([batch.cpu() for batch in self.evaluation_features(chosen)]).numpy()

    @torch.no_grad()
    def predict(self) -> np.ndarray:
        """Every image's class [N]."""
        self.method.eval()
        best = [self.method.probabilities(batch).argmax(-1) for batch in self.evaluation_features()]
        return torch.cat(best).cpu().numpy()


def train(
    trainee: Trainee,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    seed: int,
    *,
    first_epoch: int = 0,
    score: Callable[[np.ndarray], dict[str, float | None]] | None = None,
    after_epoch: Callable[[Metrics], None] = lambda metrics: None,
) -> None:
    """Train the tail and the method's heads for the epochs that are left, then let the method finish.

    ``score`` turns predictions into All/Old/New where somebody knows the truth; the loop never sees it. A method that
    trains nothing has one entry, of epoch 0.
    """
    tail, method, runtime = trainee.tail, trainee.method, trainee.runtime

    def after(metrics: Metrics) -> None:
        ready = method.predicts_while_training
        if not ready and metrics["epoch"] == recipe.epochs:
            chosen = clustering_images(trainee.labels.numpy(), seed)
            method.finish(trainee.features(chosen), trainee.labels.numpy()[chosen], seed)
            ready = True
        if score is not None and ready:
            metrics |= score(trainee.predict())
        after_epoch(metrics)

    if recipe.epochs == 0:
        after(EpochLog(-1).metrics())
    for epoch in range(first_epoch, recipe.epochs):
        method.before_epoch(epoch, trainee.evaluation_features, trainee.labels)
        tail.train()
        method.train()
        set_rate(optimizer, rate_at(recipe, epoch))
        generator = epoch_generator(seed, epoch)
        log = EpochLog(epoch)
        for batch, state in trainee.fetched(trainee.pairs(recipe.batch_size, generator)):
            labels = trainee.labels[batch].to(runtime.device)
            with runtime.autocast():
                features = tail(state).unflatten(0, (2, len(batch)))  # [2, B, D]
                step = method.step(features, labels, epoch, batch.to(runtime.device))
            optimizer.zero_grad(set_to_none=True)
            runtime.accelerator.backward(step.loss)
            optimizer.step()
            log.add(step)
        metrics = log.metrics()
        if not np.isfinite(metrics["loss"]):
            raise UserError(f"the loss is {metrics['loss']} in epoch {epoch + 1}; try a lower learning_rate")
        after(metrics)


class EpochLog:
    """Means of an epoch's terms and counts of what was selected, read off the device once, at the end."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.losses: list[Tensor] = []
        self.terms: dict[str, list[Tensor]] = {}
        self.selected: dict[str, list[Tensor]] = {}

    def add(self, step: Step) -> None:
        self.losses.append(step.loss.detach())
        for name, term in step.terms.items():
            self.terms.setdefault(name, []).append(term.detach())
        for name, count in step.selected.items():
            self.selected.setdefault(name, []).append(count)

    def metrics(self) -> Metrics:
        """``selected`` sums views over the epoch; ``selected_by_step`` is the confident known ones, step by step."""
        by_step = {name: torch.stack(counts).tolist() for name, counts in self.selected.items()}
        return {
            "epoch": self.epoch + 1,
            "loss": _mean(self.losses) if self.losses else None,
            "terms": {name: _mean(values) for name, values in self.terms.items()},
            "selected": {name: int(sum(counts)) for name, counts in by_step.items()},
            "selected_by_step": by_step.get(CONFIDENT, []),
        }


def _mean(values: list[Tensor]) -> float:
    return round(float(torch.stack(values).double().mean()), 6)
