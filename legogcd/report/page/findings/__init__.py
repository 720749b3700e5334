"""What in a run deserves a second look, one file per kind: pure functions over arrays, most suspicious first."""

from legogcd.report.page.findings.finding import Finding, FindingKind
from legogcd.report.page.findings.groups_like_one import GROUPS_LIKE_ONE, groups_like_one
from legogcd.report.page.findings.groups_like_two import GROUPS_LIKE_TWO, groups_like_two
from legogcd.report.page.findings.near_duplicates import NEAR_DUPLICATES, listed_sets, near_duplicates
from legogcd.report.page.findings.outliers import OUTLIERS, outliers
from legogcd.report.page.findings.strangers import STRANGERS, strangers
from legogcd.report.page.findings.wrong_labels import WRONG_LABELS, wrong_labels

__all__ = [
    "FINDING_KINDS",
    "NEAR_DUPLICATES",
    "Finding",
    "FindingKind",
    "groups_like_one",
    "groups_like_two",
    "listed_sets",
    "near_duplicates",
    "outliers",
    "strangers",
    "wrong_labels",
]

FINDING_KINDS = (WRONG_LABELS, NEAR_DUPLICATES, OUTLIERS, STRANGERS, GROUPS_LIKE_TWO, GROUPS_LIKE_ONE)
"""In the order of the page."""
