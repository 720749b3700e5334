"""The loop: draw, step, schedule, checkpoint, journal; it trains, and nothing else."""
