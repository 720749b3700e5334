"""The loop: draw two views, descend; after an epoch, say what happened. PAPER section 2 in one screen."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.allocator import give_back
from legogcd.errors import UserError
from legogcd.methods import CONFIDENT, Method, Recipe, Step
from legogcd.training.draw import DRAWS, clustering_images, epoch_generator
from legogcd.training.flat import flat_at
from legogcd.training.optimizer import rate_at, set_rate
from legogcd.training.processes import Processes
from legogcd.vision.features import EVALUATION_BATCH, Compute, features, on_device, stacked, stored_states
from legogcd.vision.tail import TailInput
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.source import ViewSource
from legogcd.vision.views.workers import ahead

Metrics = dict[str, Any]


@dataclass
class LabelledViews:
    """What is learned from: images by their rows in a source of views, and the labels training sees of them."""

    source: ViewSource
    rows: Tensor  # [N] the images' rows in the source
    labels: Tensor  # [N], -1 = unlabelled

    def pairs(
        self, recipe: Recipe, generator: torch.Generator, device: torch.device, processes: Processes
    ) -> Iterator[tuple[Tensor, TailInput]]:
        """An epoch's draws: positions [B], and two views of each image [2·B, ...]; kept ones are fetched ahead.

        The draws are those of all processes together; the views are of this process's part of the images.
        """

        def drawn() -> Iterator[tuple[Tensor, TailInput]]:
            for batch in DRAWS[recipe.batches](self.labels, recipe.batch_size, generator):
                part = processes.part(len(batch))
                yield batch, on_device(self.source.pair(self.rows[batch], generator, part), device)

        return ahead(drawn()) if isinstance(self.source, KeptViews) else drawn()


@dataclass
class Learner:
    """What learns, and where: the backbone's tail and a method's heads."""

    tail: nn.Module
    method: Method
    compute: Compute
    processes: Processes = field(default_factory=Processes)

    def evaluation_features(self, views: LabelledViews, positions: Tensor | None = None) -> Iterator[Tensor]:
        """The evaluation views' features in batches [n, D], of all images or of those at some positions."""
        parts = torch.split(views.rows if positions is None else views.rows[positions], EVALUATION_BATCH)

        def made(places: Sequence[int]) -> Iterator[Tensor]:
            rows = torch.cat([parts[place] for place in places]) if places else views.rows[:0]
            states = stored_states(views.source, rows, self.compute.device)
            return (batch.features for batch in features(self.tail, states, self.compute))

        return self.processes.in_turns(made, [len(part) for part in parts])

    def averaged_features(self, views: LabelledViews, positions: np.ndarray) -> np.ndarray:
        """The mean direction [N, D] of all kept views of some images; of the evaluation views where none are kept."""
        rows, source = views.rows[torch.from_numpy(positions)], views.source
        if not isinstance(source, KeptViews):
            return self.features(views, positions)
        parts = torch.split(rows, EVALUATION_BATCH)

        def made(places: Sequence[int]) -> Iterator[Tensor]:
            return (self._mean_direction(source, parts[place]) for place in places)

        return stacked(self.processes.in_turns(made, [len(part) for part in parts]), len(rows))

    @torch.no_grad()
    def _mean_direction(self, source: KeptViews, rows: Tensor) -> Tensor:
        self.tail.eval()
        total = torch.zeros(())
        for slot in range(1 + source.n_views):
            state = on_device(source.states(rows, torch.full_like(rows, slot)), self.compute.device)
            with self.compute.autocast():
                found = self.tail(state)
            total = total.to(found.device) + functional.normalize(found.float(), dim=-1)
        return total / (1 + source.n_views)

    def features(self, views: LabelledViews, positions: np.ndarray | None = None) -> np.ndarray:
        """The evaluation views' features [N, D], of all images or of those at some positions."""
        chosen = None if positions is None else torch.from_numpy(positions)
        return stacked(self.evaluation_features(views, chosen), len(views.rows if chosen is None else chosen))

    def settle(
        self,
        decide: Callable[[np.ndarray, np.ndarray, int], None],
        views: LabelledViews,
        chosen: np.ndarray,
        labels: np.ndarray,
        seed: int,
        averaged: bool = False,
    ) -> None:
        """Let the method decide, once for all processes, from features and labels of the chosen images."""
        found = self.averaged_features(views, chosen) if averaged else self.features(views, chosen)
        if self.processes.first:
            give_back()
            decide(found, labels[chosen], seed)
        self.processes.share(self.method)
        del found
        give_back()

    @torch.no_grad()
    def predict(self, views: LabelledViews) -> np.ndarray:
        """Every image's class [N]."""
        self.method.eval()
        best = [self.method.probabilities(batch).argmax(-1) for batch in self.evaluation_features(views)]
        return torch.cat(best).cpu().numpy()


def train(
    learner: Learner,
    views: LabelledViews,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    seed: int,
    *,
    first_epoch: int = 0,
    losses: Sequence[float] = (),
    score: Callable[[np.ndarray], dict[str, float | None]] | None = None,
    after_epoch: Callable[[Metrics], None] = lambda metrics: None,
) -> None:
    """Train the tail and the method's heads for the epochs that are left, then let the method finish.

    ``losses`` are those of the epochs that are behind: a recipe may end where they are flat. ``score`` turns
    predictions into All/Old/New where somebody knows the truth; the loop never sees it. A method that trains nothing
    has one entry, of epoch 0.
    """
    method, processes = learner.method, learner.processes
    settles = method.settles(len(views.labels))
    if recipe.epochs and min(recipe.batch_size, len(views.labels)) < processes.count:
        raise UserError(f"{processes.count} processes cannot share a batch of {recipe.batch_size}; start fewer of them")

    behind = [*losses]

    def over(epochs: int) -> bool:
        flat = recipe.until_flat and processes.agreed(flat_at(behind) or 0) > 0
        return flat or epochs >= recipe.epochs

    def after(metrics: Metrics, last: bool) -> None:
        ready = method.predicts_while_training
        if last and (settles or not ready):
            chosen = clustering_images(views.labels.numpy(), seed)
            learner.settle(method.finish, views, chosen, views.labels.numpy(), seed, averaged=settles)
            ready = True
        if score is not None and ready:
            metrics |= score(learner.predict(views))
        after_epoch(metrics)

    if recipe.epochs == 0:
        after(EpochLog(-1).metrics(), last=True)
    epoch, ended = first_epoch, over(first_epoch)
    while not ended:
        metrics = train_epoch(learner, views, optimizer, recipe, seed, epoch)
        behind.append(metrics["loss"])
        epoch, ended = epoch + 1, over(epoch + 1)
        after(metrics, last=ended)


def train_epoch(
    learner: Learner, views: LabelledViews, optimizer: torch.optim.Optimizer, recipe: Recipe, seed: int, epoch: int
) -> Metrics:
    """One epoch of steps; nothing is finished and nothing is scored."""
    tail, method, compute, processes = learner.tail, learner.method, learner.compute, learner.processes
    by_rows = method.row_by_row()
    method.before_epoch(epoch, lambda: learner.evaluation_features(views), views.labels)
    tail.train()
    method.train()
    set_rate(optimizer, rate_at(recipe, epoch))
    generator = epoch_generator(seed, epoch)
    log = EpochLog(epoch)
    with processes.by_rows(by_rows):
        for batch, state in views.pairs(recipe, generator, compute.device, processes):
            labels = views.labels[batch].to(compute.device)
            with compute.autocast():
                own = tail(state).unflatten(0, (2, -1))  # [2, this process's part of B, D]
                pair = processes.whole(own, len(batch))  # [2, B, D]
                step = method.step(pair, labels, epoch, batch.to(compute.device))
            optimizer.zero_grad(set_to_none=True)
            compute.backward(step.loss)
            processes.add_gradients([tail, *by_rows])
            optimizer.step()
            method.after_step()
            log.add(step)
    log.check_finite(recipe.learning_rate)
    processes.share(tail, method)  # the same but for rounding that differs between machines
    return log.metrics()


class DivergedError(UserError):
    """Training ran away; nothing of the epoch is worth keeping."""


class Series:
    """Numbers of an epoch's steps, on their device, in one block of memory that doubles when it is full.

    A number kept as a tensor of its own lies where a step's large tensors were, and the next step's no longer fit
    there: memory would grow with every step.
    """

    def __init__(self) -> None:
        self._block = torch.empty(0)
        self._count = 0

    def append(self, value: Tensor) -> None:
        if self._count == len(self._block):
            block = torch.empty(max(1024, 2 * self._count), dtype=value.dtype, device=value.device)
            block[: self._count] = self._block
            self._block = block
        self._block[self._count] = value.detach()
        self._count += 1

    @property
    def values(self) -> Tensor:
        return self._block[: self._count]


class EpochLog:
    """Means of an epoch's terms and counts of what was selected, read off the device once, at the end."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.losses = Series()
        self.terms: defaultdict[str, Series] = defaultdict(Series)
        self.selected: defaultdict[str, Series] = defaultdict(Series)

    def add(self, step: Step) -> None:
        self.losses.append(step.loss)
        for name, term in step.terms.items():
            self.terms[name].append(term)
        for name, count in step.selected.items():
            self.selected[name].append(count)

    def check_finite(self, learning_rate: float) -> None:
        """Say at which step and in which term the loss stopped being a number, if it did."""
        losses = self.losses.values
        if losses.isfinite().all():
            return
        step = int((~losses.isfinite()).nonzero()[0])
        terms = [name for name, series in self.terms.items() if not series.values[step].isfinite()]
        raise DivergedError(
            f"the loss is {float(losses[step])} in epoch {self.epoch + 1} from step {step + 1} on"
            f"{f' (first: {terms[0]})' if terms else ''}; try a lower learning_rate than {learning_rate:g}"
        )

    def metrics(self) -> Metrics:
        """``selected`` sums views over the epoch; ``selected_by_step`` is the confident known ones, step by step."""
        by_step = {name: series.values.tolist() for name, series in self.selected.items()}
        return {
            "epoch": self.epoch + 1,
            "loss": _mean(self.losses.values) if len(self.losses.values) else None,
            "terms": {name: _mean(series.values) for name, series in self.terms.items()},
            "selected": {name: int(sum(counts)) for name, counts in by_step.items()},
            "selected_by_step": by_step.get(CONFIDENT, []),
        }


def _mean(values: Tensor) -> float:
    return round(float(values.double().mean()), 6)
