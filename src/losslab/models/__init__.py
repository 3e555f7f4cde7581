"""Models that turn texts, or features of texts, into logits."""
