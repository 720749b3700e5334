"""What is measured: `speed` against a plain implementation, `accuracy` paired by seed, `faults` what breaks, `house` on the code itself."""
