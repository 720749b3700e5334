"""Who does the work: this process with its threads, or a Ray cluster. Shards are the unit either way."""

from legogcd.run import prediction_parts
from legogcd.run.options import RunOptions
from legogcd.run.prediction_parts import PartEngine
from legogcd.vision.views.store import Engine, here


def engine_for(options: RunOptions) -> Engine:
    """What encodes the shards that are missing."""
    if options.engine == "local":
        return here
    from legogcd.run.engines.ray import RayEngine

    return RayEngine(options.ray_address).encode


def sorting_engine_for(options: RunOptions) -> PartEngine:
    """What makes the parts of a prediction that are missing."""
    if options.engine == "local":
        return prediction_parts.here
    from legogcd.run.engines.ray import RayEngine

    return RayEngine(options.ray_address).sort
