"""Speed and memory, always against a plain implementation in the same run."""
