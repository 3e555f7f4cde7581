"""Raw files from a mirror or their publisher, or the manual steps that a licence requires."""
