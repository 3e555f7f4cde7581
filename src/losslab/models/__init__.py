"""Text classifiers: features or token ids in, logits out."""
