"""What is measured: `speed`, `accuracy` paired by seed, `faults` a run survives, `house` on the code itself."""
