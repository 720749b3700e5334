"""LER with MAP: sharpen what is confidently known, with a margin by how often each class is predicted."""

from typing import Any, Literal

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import count, fraction, not_negative, one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.confident_known import confident_known
from legogcd.bricks.shared.running_mean import log_mean_prediction
from legogcd.bricks.shared.two_views import TwoViews
from legogcd.errors import UserError


def local_entropy(logits: Tensor, selected: Tensor, shift: Tensor | float = 0.0) -> Tensor:
    """Mean over all views of o·CE( softmax(z), softmax(z + Δ) ); z [2, B, K] is scaled, o [2, B], Δ [K].

    The target is not detached: without a margin its gradient is all there is.
    """
    per_view = -(torch.softmax(logits, dim=-1) * torch.log_softmax(logits + shift, dim=-1)).sum(dim=-1)  # [2, B]
    return torch.where(selected, per_view, 0).mean()


class LocalEntropy(Brick):
    """Local entropy regularization (LER) of confident known views, with the margin-aware pattern (MAP).

    ``1/2B Σ_i o_i·CE( softmax(z_i/τo), softmax(z_i/τo + Δ) )`` over all 2B views i, gradient through both arguments.
    o_i = 1 where the image is unlabelled, max softmax(z_i/τs) ≥ δ and the arg max is an Old class
    (:func:`~legogcd.bricks.confident_known`). p̃, a running mean over all views, sets the margin:

    * ``margin="paper"``: Δ_j = λ·log(1/p̃_j), p̃ of softmax(z/τs);
    * ``margin="released"``, as the released code computes it: Δ_j = λ·log p̃_j, p̃ of softmax(z) at temperature 1;
    * ``margin=None``: Δ = 0, LER without MAP; no p̃ is kept.

    p̃ starts uniform and is updated after use, in training mode only. It is the buffer ``mean_prediction`` [K], part of
    the state dict; without ``n_classes`` it is None until the first call or until a state is loaded.

    Args:
        threshold: δ, from 0 to 1.
        temperature: τo.
        margin: ``"paper"``, ``"released"`` or None.
        confidence_temperature: τs.
        margin_strength: λ.
        mean_temperature: of the predictions p̃ is the mean of; None: τs for ``"paper"``, 1 for ``"released"``.
        momentum: how much of p̃ an update keeps.
        n_classes: K, where it is known beforehand.
        warmup_epochs: so many epochs no view is selected; p̃ follows the predictions nonetheless.

    Reads ``logits`` [2, B, K], ``labels`` [B], ``n_known`` and ``epoch``. ``selected``: the mask o.

    >>> logits = torch.tensor([[[0.9, 0.1, 0.1], [0.1, 0.1, 0.9]], [[0.3, 0.2, 0.3], [0.1, 0.9, 0.1]]])
    >>> views = TwoViews(torch.zeros(2, 2, 8), logits, torch.tensor([-1, -1]), n_known=2, epoch=0)
    >>> brick = LocalEntropy(threshold=0.7, margin="paper")
    >>> brick(views) > 0
    tensor(True)
    >>> int(brick.selected.sum())
    2
    >>> brick.mean_prediction  # a thousandth of the way from uniform to this batch's mean
    tensor([0.3334, 0.3333, 0.3334])
    """

    mean_prediction: Tensor | None

    def __init__(
        self,
        threshold: float = 0.7,
        temperature: float = 0.05,
        margin: Literal["paper", "released"] | None = "paper",
        confidence_temperature: float = 0.1,
        margin_strength: float = 0.4,
        momentum: float = 0.999,
        n_classes: int | None = None,
        mean_temperature: float | None = None,
        warmup_epochs: int = 0,
    ) -> None:
        super().__init__()
        self.threshold = fraction("threshold", threshold)
        self.temperature = positive("temperature", temperature)
        self.margin = one_of("margin", margin, ("paper", "released", None))
        self.confidence_temperature = positive("confidence_temperature", confidence_temperature)
        self.margin_strength = not_negative("margin_strength", margin_strength)
        self.momentum = fraction("momentum", momentum)
        own = self.confidence_temperature if margin == "paper" else 1.0
        self.mean_temperature = own if mean_temperature is None else positive("mean_temperature", mean_temperature)
        self.warmup_epochs = count("warmup_epochs", warmup_epochs, at_least=0)
        self.register_buffer("mean_prediction", None)
        if n_classes is not None:
            k = count("n_classes", n_classes, at_least=1)
            self.mean_prediction = torch.full((k,), 1 / k) if margin is not None else None

    def forward(self, views: TwoViews) -> Tensor:
        confident = confident_known(views, self.threshold, self.confidence_temperature)
        self.selected = confident & (views.epoch >= self.warmup_epochs)
        logits = views.scaled_logits(self.temperature)  # [2, B, K]
        if self.margin is None:
            return local_entropy(logits, self.selected)
        mean_prediction = self._mean_prediction_for(logits)  # [K]
        strength = -self.margin_strength if self.margin == "paper" else self.margin_strength
        term = local_entropy(logits, self.selected, strength * log_mean_prediction(mean_prediction))
        self.mean_prediction = self._updated(mean_prediction, views) if self.training else mean_prediction
        return term

    def _mean_prediction_for(self, logits: Tensor) -> Tensor:
        k = logits.shape[-1]
        if self.mean_prediction is None:
            return logits.new_full((k,), 1 / k)
        if len(self.mean_prediction) != k:
            raise UserError(
                f"LocalEntropy keeps a mean prediction over {len(self.mean_prediction)} classes, the logits have {k}; "
                f"make a new LocalEntropy for another number of classes."
            )
        return self.mean_prediction.to(logits)

    @torch.no_grad()
    def _updated(self, mean_prediction: Tensor, views: TwoViews) -> Tensor:
        batch_mean = views.log_probabilities(self.mean_temperature).exp().mean(dim=(0, 1))  # [K]
        return self.momentum * mean_prediction + (1 - self.momentum) * batch_mean

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        saved = state_dict.get(f"{prefix}mean_prediction")
        if self.mean_prediction is None and self.margin is not None and saved is not None:
            self.mean_prediction = torch.empty_like(saved)  # room for what is about to be loaded
        super()._load_from_state_dict(state_dict, prefix, *args)
