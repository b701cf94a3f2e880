"""The benchmark of ``thymus-memory``: scenarios, readers, grading and statistics over its public API alone."""
