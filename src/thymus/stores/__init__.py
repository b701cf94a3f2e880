"""Where memories are kept: in memory, in a SQLite file, or in a readable JSON file. All keep the same promises."""
