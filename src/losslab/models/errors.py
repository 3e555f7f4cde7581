"""What can go wrong with a model."""


class EncoderError(ValueError):
    """An encoder that cannot be loaded; the message names it."""
