"""The bricks: one loss term per file, each a callable over one step's two views that returns a scalar.

>>> import torch
>>> from legogcd.bricks import LocalEntropy, MeanEntropy, TwoViews
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

from legogcd.bricks.adaptive_margin_ce import AdaptiveMarginCE
from legogcd.bricks.class_distributions import ClassDistributions
from legogcd.bricks.consensus_distillation import ConsensusDistillation
from legogcd.bricks.dual_view_kl import DualViewKL
from legogcd.bricks.hierarchical_contrast import HierarchicalContrast
from legogcd.bricks.info_nce import InfoNCE
from legogcd.bricks.known_head import KnownHead
from legogcd.bricks.local_entropy import LocalEntropy
from legogcd.bricks.mean_entropy import MeanEntropy
from legogcd.bricks.mean_shift_contrast import MeanShiftContrast
from legogcd.bricks.neighbor_pairs import NeighborPairs
from legogcd.bricks.prior_alignment import PriorAlignment
from legogcd.bricks.rank_statistics import RankStatistics
from legogcd.bricks.self_distillation import SelfDistillation
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.collected import Collected
from legogcd.bricks.shared.confident_known import confident_known
from legogcd.bricks.shared.sinkhorn import sinkhorn_knopp
from legogcd.bricks.shared.two_views import TwoViews
from legogcd.bricks.sup_con import SupCon
from legogcd.bricks.supervised_ce import SupervisedCE
from legogcd.bricks.swapped_prediction import SwappedPrediction
from legogcd.bricks.view_consistency import ViewConsistency, sigmoid_ramp

__all__ = [
    "AdaptiveMarginCE",
    "Brick",
    "ClassDistributions",
    "Collected",
    "ConsensusDistillation",
    "DualViewKL",
    "HierarchicalContrast",
    "InfoNCE",
    "KnownHead",
    "LocalEntropy",
    "MeanEntropy",
    "MeanShiftContrast",
    "NeighborPairs",
    "PriorAlignment",
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
