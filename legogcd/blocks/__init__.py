"""The bricks: one loss term a file, each a callable over one step's two views that returns a scalar.

>>> import torch
>>> from legogcd.blocks import LocalEntropy, MeanEntropy, TwoViews
>>> _ = torch.manual_seed(0)
>>> views = TwoViews(
...     projections=torch.randn(2, 4, 16),  # two views of four images
...     logits=torch.rand(2, 4, 5),  # five classes, the first three known
...     labels=torch.tensor([0, 2, -1, -1]),
...     n_known=3,
...     epoch=0,
... )
>>> loss = 2.0 * MeanEntropy()(views) + LocalEntropy(threshold=0.7)(views)
>>> loss.shape
torch.Size([])
"""

from legogcd.blocks.adaptive_margin_ce import AdaptiveMarginCE
from legogcd.blocks.adaptive_threshold import AdaptiveThreshold
from legogcd.blocks.brick import Brick
from legogcd.blocks.consensus_distillation import ConsensusDistillation
from legogcd.blocks.debiased_distillation import DebiasedDistillation
from legogcd.blocks.dual_view_kl import DualViewKL
from legogcd.blocks.info_nce import InfoNCE
from legogcd.blocks.known_anchor import KnownAnchor
from legogcd.blocks.local_entropy import LocalEntropy
from legogcd.blocks.mean_entropy import MeanEntropy
from legogcd.blocks.momentum_distillation import MomentumDistillation
from legogcd.blocks.neighbor_consistency import NeighborConsistency
from legogcd.blocks.neighbor_pairs import NeighborPairs
from legogcd.blocks.prior_alignment import PriorAlignment
from legogcd.blocks.prototype_separation import PrototypeSeparation
from legogcd.blocks.rank_statistics import RankStatistics
from legogcd.blocks.selection import confident_known
from legogcd.blocks.self_distillation import SelfDistillation
from legogcd.blocks.sinkhorn import sinkhorn_knopp
from legogcd.blocks.sup_con import SupCon
from legogcd.blocks.supervised_ce import SupervisedCE
from legogcd.blocks.swapped_prediction import SwappedPrediction
from legogcd.blocks.two_views import TwoViews
from legogcd.blocks.view_consistency import ViewConsistency, sigmoid_ramp

__all__ = [
    "AdaptiveMarginCE",
    "AdaptiveThreshold",
    "Brick",
    "ConsensusDistillation",
    "DebiasedDistillation",
    "DualViewKL",
    "InfoNCE",
    "KnownAnchor",
    "LocalEntropy",
    "MeanEntropy",
    "MomentumDistillation",
    "NeighborConsistency",
    "NeighborPairs",
    "PriorAlignment",
    "PrototypeSeparation",
    "RankStatistics",
    "SelfDistillation",
    "SupCon",
    "SupervisedCE",
    "SwappedPrediction",
    "TwoViews",
    "ViewConsistency",
    "confident_known",
    "sigmoid_ramp",
    "sinkhorn_knopp",
]
