"""What can go wrong in a training."""


class NonFiniteLossError(FloatingPointError):
    """A loss became NaN or infinite; the message says which and where."""


class TrainingFailedError(RuntimeError):
    """A process of a training ended without a result; the message has its last words."""
