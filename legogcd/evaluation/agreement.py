"""Agreement of two partitions, which needs no matching."""

from typing import Any, NamedTuple

from legogcd.evaluation.label_pairs import label_pair


class Agreement(NamedTuple):
    """Normalised mutual information (0..1) and adjusted Rand index (at most 1, 0 by chance)."""

    nmi: float
    ari: float


def agreement(y_true: Any, y_pred: Any) -> Agreement:
    """NMI (arithmetic mean of the entropies) and ARI of class ids [N] and cluster ids [N].

    >>> agreement([0, 0, 1, 1], [4, 4, 2, 2])
    Agreement(nmi=1.0, ari=1.0)
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    classes, clusters = label_pair(y_true, y_pred)
    return Agreement(
        float(normalized_mutual_info_score(classes, clusters)), float(adjusted_rand_score(classes, clusters))
    )
