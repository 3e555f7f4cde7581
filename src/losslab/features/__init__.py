"""What a model reads of a text: frozen embeddings or token ids."""
