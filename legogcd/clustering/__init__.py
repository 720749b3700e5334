"""The k-means family on features."""

from legogcd.clustering.directions import directions
from legogcd.clustering.kmeans.exchange import exchanged
from legogcd.clustering.kmeans.plain import Clustering, kmeans
from legogcd.clustering.kmeans.semi_supervised import semi_supervised_kmeans, starts_for

__all__ = ["Clustering", "directions", "exchanged", "kmeans", "semi_supervised_kmeans", "starts_for"]
