"""How the number of classes may be estimated: the names of the ways, which need no torch to be known."""

from legogcd.errors import UserError

PUBLISHED = "gcd-published"
APPROACHES = {
    "combined": "neighbours and silhouette, each weighted by how sure it is",
    "neighbours": "how often nearest neighbours of labelled images are of the same class, known and in all",
    "silhouette": "semi-supervised k-means: where unlabelled images lie best inside their clusters",
    "gcd": "the GCD paper's bounded search: where k-means agrees best with the labels",
    PUBLISHED: "the same as published: on all images in all dimensions, ten starts for each candidate; slow",
}


def check_approach(name: str) -> None:
    """Refuse a way that is none."""
    if name not in APPROACHES:
        raise UserError(f"no approach {name!r} to count classes; there are {', '.join(APPROACHES)}")
