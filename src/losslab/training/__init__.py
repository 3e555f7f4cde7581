"""Fitting a model with a loss: one rule for every loss."""
