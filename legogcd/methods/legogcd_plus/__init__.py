"""legogcd+, ours: LegoGCD behind whitened features, with an estimated class prior."""

from legogcd.methods.legogcd_plus.method import LegoGCDPlus

__all__ = ["LegoGCDPlus"]
