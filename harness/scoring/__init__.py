"""Scores of texts, and estimates with intervals from stored scores."""
