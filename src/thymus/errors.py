"""Everything Thymus raises on purpose.

One root, so that ``except ThymusError`` catches all of it. The message of each error names the remedy: what to
change, install, unlock or free. An error never carries a sender's text unquoted.
"""

from __future__ import annotations


class ThymusError(Exception):
    """Root of every error that Thymus raises on purpose."""


class ConfigError(ThymusError):
    """A setting (flag, environment variable, URL) cannot be used; the message says which and what would do."""


class MissingExtraError(ThymusError):
    """A feature needs an optional package; the message has the ``pip install`` that brings it."""


class SourceError(ThymusError, ValueError):
    """A source string does not name a channel and an identity."""


class PolicyError(ThymusError, ValueError):
    """A policy, rule or predicate is not well formed, or a gate of that name does not exist."""


class TransitionError(ThymusError):
    """A status change that ``core.beliefs.TRANSITIONS`` does not list: nothing was changed."""


class InputError(ThymusError, ValueError):
    """What was handed in cannot be a message, a question or an id; the message says why and what would do."""


class MemoryNotFoundError(ThymusError, LookupError):
    """No memory has this id in this scope."""


class StoreError(ThymusError):
    """The store could not do what was asked; nothing was half written."""


class StoreLockedError(StoreError):
    """Another process held the store for longer than the time limit."""


class StoreFullError(StoreError):
    """The disk (or quota) is full: the write was rolled back."""


class StoreCorruptError(StoreError):
    """The file is not a Thymus store, or is damaged."""


class SchemaError(StoreError):
    """The store was written by a newer Thymus, or cannot be migrated."""


class StaleVersionError(StoreError):
    """The scope changed between reading its rivals and committing: decide again."""


class EmbedderError(ThymusError):
    """The embedding model is unknown, missing or unusable."""


class JudgeError(ThymusError):
    """A judge could not answer. The guard treats this as *unknown*, which is the careful side."""


class IngestError(ThymusError):
    """A file or folder could not be read as messages."""
