"""The other systems of the paper's tables, each with its own recipe."""
