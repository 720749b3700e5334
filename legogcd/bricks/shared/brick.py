"""What all bricks have in common."""

from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from legogcd.bricks.shared.collected import Collected
from legogcd.bricks.shared.two_views import TwoViews


class Brick(nn.Module):
    """One loss term over one step's two views.

    A brick is called with :class:`TwoViews` and returns a scalar tensor, without its weight: the recipe holds that.
    After a call ``selected`` tells which views took part in the term. A term in which none takes part is 0 and still
    has a (zero) gradient. No brick waits for the device.

    >>> import torch
    >>> class LogitNorm(Brick):
    ...     def forward(self, views):
    ...         self.selected = views.all_views
    ...         return views.logits.square().mean()
    >>> views = TwoViews(torch.ones(2, 3, 4), torch.ones(2, 3, 5), torch.full((3,), -1), n_known=2, epoch=0)
    >>> brick = LogitNorm()
    >>> brick(views), int(brick.selected.sum())
    (tensor(1.), 6)
    """

    selected: Tensor  # [2, B] boolean, set by a call
    looks: ClassVar[bool] = False  # at the whole collection before every epoch

    def sized(self, dim: int, n_classes: int, n_known: int) -> None:
        """Make what the brick learns by itself, if anything; ``dim`` is that of what the prototypes see."""

    def look(self, collected: Collected) -> None:
        """Look at the collection before an epoch. Nothing of it is saved: it is found anew where a run goes on."""

    def forward(self, views: TwoViews) -> Tensor:
        """The term's value: a scalar."""
        raise NotImplementedError

    if TYPE_CHECKING:  # nn.Module calls whatever forward is; this gives the call forward's types

        def __call__(self, views: TwoViews) -> Tensor: ...
