"""Classifiers: features, token ids or pixels in, logits out."""
