"""Thymus in the frameworks that agents are built with: one module each, imported by its name, over one ``adapter``."""
