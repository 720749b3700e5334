"""How good a discovery is: accuracy after optimal matching, agreement of partitions, forgetting of the known."""

from legogcd.evaluation.accuracy import Accuracy, clustering_accuracy
from legogcd.evaluation.agreement import Agreement, agreement
from legogcd.evaluation.forgetting import forgetting
from legogcd.evaluation.scorer import Scorer
from legogcd.evaluation.scoring import scoring
from legogcd.evaluation.selected import selected_per_batch

__all__ = [
    "Accuracy",
    "Agreement",
    "Scorer",
    "agreement",
    "clustering_accuracy",
    "forgetting",
    "scoring",
    "selected_per_batch",
]
