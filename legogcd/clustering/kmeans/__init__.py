"""k-means, plain and semi-supervised."""
