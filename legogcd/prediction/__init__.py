"""A finished run on other images, as many as there are: what each is, how sure, and whether to rely on it."""

from legogcd.prediction.run import COLUMNS, Predicted, Predictor, predict_run
from legogcd.prediction.tables import FORMATS, check_format

__all__ = ["COLUMNS", "FORMATS", "Predicted", "Predictor", "check_format", "predict_run"]
