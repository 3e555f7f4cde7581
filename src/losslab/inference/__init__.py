"""A trained model on new texts: model folders, labels and explanations, other formats."""
