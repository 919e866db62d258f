"""From texts and their features to numbers."""
