"""Training: batches, the trainer, early stopping, DDP, a training as data."""
