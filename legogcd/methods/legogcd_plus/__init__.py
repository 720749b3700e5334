"""legogcd+, ours: LegoGCD behind whitened features, with an estimated class prior."""
