"""Training: batches, the trainer, early stopping, checkpoints, DDP, a training as data."""
