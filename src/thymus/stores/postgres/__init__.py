"""The store for many users and several processes: PostgreSQL with pgvector (extra ``[postgres]``)."""
