"""legogcd+: LegoGCD among whitened features, views distilled from their average, and an estimated class prior."""

from collections.abc import Mapping
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor

from legogcd.allocator import give_back
from legogcd.bricks import PriorAlignment
from legogcd.clustering import directions
from legogcd.clustering.kmeans.points import TooFewPointsError
from legogcd.methods.legogcd_plus.dense_groups import dense_start
from legogcd.methods.legogcd_plus.known_share import looked_at, share_among, surely_known
from legogcd.methods.legogcd_plus.settling import settled_centers
from legogcd.methods.legogcd_plus.whitening import Whitening
from legogcd.methods.parametric import Parametric
from legogcd.methods.recipes.legogcd_plus import LegoGCDPlusRecipe
from legogcd.methods.terms import Term


class LegoGCDPlus(Parametric):
    """LegoGCD with six changes (docs/accuracy.md has what each is worth).

    The prototypes see features whitened by the labelled images (`Whitening`). Self-distillation is that of the views'
    average (`ConsensusDistillation`), mean entropy that from an estimated prior (`PriorAlignment`). Both the prior and
    the k-means start know how many of the unlabelled images are surely of known classes (`known_share`). The start goes
    on by exchanging single points (`Exchange`). Supervised cross-entropy weighs more from epoch to epoch. Where classes
    are many and small, the prototypes end where exchanging finds classes among trained features (`settled_centers`).

    >>> from legogcd.methods import build_method
    >>> recipe = LegoGCDPlusRecipe(start="kmeans", whitened_dim=3, projector_hidden=8, projector_out=4)
    >>> method = build_method("legogcd+", dim=6, n_classes=4, n_known=2, recipe=recipe)
    >>> method.seen(torch.ones(5, 6)).shape, method.logits(torch.ones(5, 6)).shape
    (torch.Size([5, 3]), torch.Size([5, 4]))
    """

    recipe: LegoGCDPlusRecipe

    def __init__(
        self, dim: int, n_classes: int, n_known: int, recipe: LegoGCDPlusRecipe, terms: Mapping[str, Term]
    ) -> None:
        width = recipe.whitened_width(n_classes)
        whitening = Whitening(dim, width) if width else None
        super().__init__(dim, n_classes, n_known, recipe, terms, seen_dim=whitening.out if whitening else dim)
        self.whitening = whitening

    @property
    def prior(self) -> PriorAlignment | None:
        """The brick that holds the mean prediction to a prior; none where sizes are free."""
        brick = dict(self.named_bricks()).get("mean_entropy")
        assert brick is None or isinstance(brick, PriorAlignment)
        return brick

    def seen(self, features: Tensor) -> Tensor:
        return self.whitening(features) if self.whitening else features

    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Find the whitening and the known share, then start the prototypes among the whitened features."""
        if self.whitening is None:
            super().start(features, labels, seed)
            return
        random = np.random.default_rng(seed)
        rows = looked_at(labels, random)
        used = self.recipe.used_width(len(labels), len(self.prototypes.weight))
        looked = self.whitening.fit(features, labels, rows, used)
        give_back()
        share = self._expect(looked, labels, rows, random)
        del looked
        give_back()
        seen = self.whitening.of(features)
        directions(seen, out=seen)
        give_back()
        if self.recipe.new_from == "density":
            self.prototypes.start_at(dense_start(seen, labels, len(self.prototypes.weight), self.n_known, seed, share))
        else:
            self.start_prototypes(seen, labels, seed, known_share=share, exchange=True)

    def settles(self, n_images: int) -> bool:
        return self.recipe.settles(n_images, len(self.prototypes.weight))

    def finish(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Whiten the trained features anew and put the prototypes where `settled_centers` finds classes in them.

        Where training left fewer different images than there are classes, nothing is looked for.
        """
        assert self.whitening is not None
        anew = deepcopy(self.whitening)
        anew.fit(features, labels)
        expected = self.prior.expectation.current(torch.zeros(2)) if self.prior else torch.zeros(2)
        share = float(expected[0])  # as it was found at the start: trained labels would say too little
        k = len(self.prototypes.weight)
        agreement = self.recipe.settle_on == "agreement"
        try:
            centers = settled_centers(
                anew.of(features), labels, self._sorted(features), k, self.n_known, seed, share, agreement
            )
        except TooFewPointsError:
            return
        self.whitening.load_state_dict(anew.state_dict())
        self.prototypes.start_at(torch.from_numpy(centers))

    @torch.no_grad()
    def _sorted(self, features: np.ndarray) -> np.ndarray:
        """The class [N] that the prototypes give each of the features [N, D]."""
        device = self.prototypes.weight.device
        parts = torch.split(torch.from_numpy(features), 4096)
        return np.concatenate([self.logits(part.to(device)).argmax(-1).cpu().numpy() for part in parts])

    def _expect(self, looked: np.ndarray, labels: np.ndarray, rows: np.ndarray, random: np.random.Generator) -> float:
        """Tell the prior which share of the unlabelled images is surely of known classes; 0 where none was found.

        ``looked`` are the projected images at ``rows``, which it is found among. Nobody is told, and none is looked
        for, where the sizes of classes are to be equal or free.
        """
        found = share_among(looked, labels[rows], random) if self.recipe.sizes == "prior" else None
        if found is None or self.prior is None:
            return 0.0
        every_class_known = self.n_known == len(self.prototypes.weight)
        share = 1.0 if every_class_known else surely_known(found)
        n_labelled, n_unlabelled = int((labels >= 0).sum()), int((labels < 0).sum())
        self.prior.expect(share, labelled=n_labelled / (n_labelled + share * n_unlabelled))
        return share
