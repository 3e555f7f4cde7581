"""Raw files: from a mirror, from their publisher, or with the steps a licence leaves to the user."""
