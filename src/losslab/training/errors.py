"""What can go wrong in a training."""


class NonFiniteLossError(FloatingPointError):
    """A loss became NaN or infinite; the message says which and where."""
