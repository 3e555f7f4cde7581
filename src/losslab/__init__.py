"""Losses for long-tailed text classification: one corpus, one encoder, one budget."""

__version__ = "0.1.0"
