"""What a model reads of a text: token ids or frozen embeddings."""
