"""What a model reads of a document: frozen embeddings, TF-IDF, token ids; arrays of images."""
