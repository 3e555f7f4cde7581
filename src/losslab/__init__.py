"""Losses for long-tailed text classification, compared on one corpus, one encoder and one budget."""

__version__ = "0.1.0"
