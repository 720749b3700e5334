"""What is measured: `speed` against a plain implementation, `accuracy` paired by seed, `house` on the code itself."""
