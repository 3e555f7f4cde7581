"""What a model reads of a text: frozen embeddings, TF-IDF, token ids."""
