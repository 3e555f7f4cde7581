"""What can go wrong while targets are made."""


class TargetsError(ValueError):
    """Texts, labels or groups that cannot be used; the message says which and what to do."""
