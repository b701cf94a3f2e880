"""Thymus."""
