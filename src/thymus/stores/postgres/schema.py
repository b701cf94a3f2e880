"""The tables of a PostgreSQL store, who may see which row, and how a database is made ready and brought up to date.

Tenant and user lead every key, so that each scope is one range of every table, and a database can be parted or
distributed by tenant. Row-level security repeats it: every read and write runs as a role that owns nothing and cannot
bypass it, for the scope that the transaction names. Text from outside, and the names of tenants and users, are kept as
UTF-8 bytes: PostgreSQL's text cannot carry every string that Python can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from psycopg import errors, sql

from thymus.errors import ConfigError, SchemaError, StoreError
from thymus.stores.schema import other_embedder

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA: Final = "thymus"
WRITER: Final = "thymus_app"
"""The role that reads and writes one scope at a time."""
AUDITOR: Final = "thymus_audit"
"""The role that reads all scopes, for ``verify`` and ``scopes``, and writes nothing."""
SKETCHED: Final = 20_000
"""Up to so many beliefs in a scope each is compared, if only by sketch; a larger one goes through an HNSW index."""

_KEY = "tenant bytea NOT NULL, owner bytea NOT NULL"
_TABLES: Final = ("scopes", "ledger", "moves", "evidence", "beliefs", "postings", "edges")

ROLES: Final = f"""
DO $$ BEGIN CREATE ROLE {WRITER} NOLOGIN NOSUPERUSER NOBYPASSRLS; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE {AUDITOR} NOLOGIN NOSUPERUSER NOBYPASSRLS; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT {WRITER}, {AUDITOR} TO CURRENT_USER;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
"""
"""What takes an administrator, once a cluster and once a database."""

_VERSION_1 = (
    f"""
CREATE TABLE settings (name text PRIMARY KEY, value text NOT NULL);

-- version, hash: of the last ledger row; large: more than SKETCHED beliefs.
CREATE TABLE scopes (
    {_KEY}, born bigint GENERATED ALWAYS AS IDENTITY, version bigint NOT NULL, beliefs bigint NOT NULL,
    hash bytea NOT NULL, large boolean NOT NULL DEFAULT false, PRIMARY KEY (tenant, owner)
);

CREATE TABLE ledger (
    {_KEY}, seq bigint NOT NULL, body text NOT NULL, hash bytea NOT NULL, PRIMARY KEY (tenant, owner, seq)
);

-- Which later ledger rows changed a belief; the row of its birth is beliefs.entry.
CREATE TABLE moves (
    {_KEY}, belief bigint NOT NULL, entry bigint NOT NULL, PRIMARY KEY (tenant, owner, belief, entry)
);

-- entry: the ledger row that brought it.
CREATE TABLE evidence (
    {_KEY}, id bytea NOT NULL, entry bigint NOT NULL, body text NOT NULL, nonce bytea, text bytea NOT NULL,
    PRIMARY KEY (tenant, owner, id), UNIQUE (tenant, owner, entry)
);

-- What was said never changes, but for erasure: then nonce, vector and terms are NULL, and the text is empty.
-- voice: 0 for the user's own, else a digest of the origins; terms: 64-bit digests of the words.
CREATE TABLE beliefs (
    {_KEY}, seq bigint NOT NULL, id bytea NOT NULL, evidence bytea NOT NULL, entry bigint NOT NULL,
    body text NOT NULL, nonce bytea, text bytea NOT NULL, status smallint NOT NULL, voice bigint NOT NULL,
    large boolean NOT NULL, vector halfvec(%(dim)s), terms bytea,
    PRIMARY KEY (tenant, owner, seq), UNIQUE (tenant, owner, id)
);
CREATE INDEX beliefs_of_evidence ON beliefs (tenant, owner, evidence);
CREATE INDEX beliefs_standing ON beliefs (tenant, owner, status, voice, seq);
CREATE INDEX beliefs_near ON beliefs USING hnsw (vector halfvec_ip_ops) WHERE large;

-- term: digest of a word, mixed with its scope and a class of beliefs.
CREATE TABLE postings (
    {_KEY}, term bigint NOT NULL, seq bigint NOT NULL, voice bigint NOT NULL, PRIMARY KEY (tenant, owner, term, seq)
);

CREATE TABLE edges (
    {_KEY}, claim bigint NOT NULL, rival bigint NOT NULL, entry bigint NOT NULL, relation text NOT NULL,
    PRIMARY KEY (tenant, owner, claim, rival)
);
CREATE INDEX edges_of_rival ON edges (tenant, owner, rival);
"""
    + "".join(
        f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY one_scope ON {table} TO {WRITER}
    USING (
        tenant = decode(current_setting('thymus.tenant', true), 'hex')
        AND owner = decode(current_setting('thymus.owner', true), 'hex')
    );
CREATE POLICY every_scope ON {table} FOR SELECT TO {AUDITOR} USING (true);
"""
        for table in _TABLES
    )
    + f"""
GRANT USAGE ON SCHEMA {SCHEMA} TO {WRITER}, {AUDITOR};
GRANT SELECT, INSERT, UPDATE, DELETE ON {", ".join(_TABLES)} TO {WRITER};
REVOKE UPDATE, DELETE ON ledger, moves FROM {WRITER};
GRANT SELECT ON {", ".join(_TABLES)}, settings TO {AUDITOR};
GRANT SELECT ON settings TO {WRITER};
"""
)

_VERSION_2 = f"""
-- Who may call the service, and what signs its cookies; the roles that read and write memories see neither.
CREATE TABLE tokens (
    number bigint GENERATED ALWAYS AS IDENTITY, id text PRIMARY KEY, digest bytea NOT NULL, tenant text NOT NULL,
    owner text NOT NULL, role text NOT NULL, name text NOT NULL, created bigint NOT NULL, expires bigint,
    revoked bigint, used bigint
);
CREATE TABLE keys (name text PRIMARY KEY, value bytea NOT NULL);
REVOKE ALL ON tokens, keys FROM PUBLIC, {WRITER}, {AUDITOR};
"""

_VERSION_3 = """
-- See sketch.py. centre: float32, of a scope of more than sketch.EXACT beliefs; until its next act, none in a database
-- of an earlier version, where each belief is compared. sketch: NULL without a centre, or erased.
ALTER TABLE scopes ADD centre bytea;
ALTER TABLE beliefs ADD sketch bytea;
CREATE INDEX beliefs_sketched ON beliefs (tenant, owner, seq) INCLUDE (status, voice, sketch) WHERE sketch IS NOT NULL;
"""

MIGRATIONS: Final[tuple[str, ...]] = (_VERSION_1, _VERSION_2, _VERSION_3)
"""SQL from version n to n + 1; ``settings.version`` counts those done."""


def settle(connection: Connection[Any], name: str, embedder: str, dim: int) -> None:
    """Make a database ready, or compare it with what it was made for. One process at a time does it.

    :raises StoreError: it holds vectors of another embedder, or this account may not make it ready.
    :raises SchemaError: it was made by a later version of Thymus.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('thymus schema'))")
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise SchemaError(
                f"{name} has schema version {version}, and this Thymus knows {len(MIGRATIONS)}: "
                "pip install --upgrade thymus-memory"
            )
        if version < len(MIGRATIONS):
            if version == 0:
                _prepare(connection, name)
            connection.execute(sql.SQL("SET LOCAL search_path = {}, public").format(sql.Identifier(SCHEMA)))
            for statements in MIGRATIONS[version:]:
                connection.execute(statements.replace("%(dim)s", str(int(dim))).encode())
            made_for = {"version": str(len(MIGRATIONS)), "embedder": embedder, "dim": str(dim)}
            for setting, value in made_for.items():
                connection.execute(
                    "INSERT INTO thymus.settings VALUES (%s, %s) "
                    "ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE settings.name = 'version'",
                    (setting, value),
                )
        kept = dict(connection.execute("SELECT name, value FROM thymus.settings").fetchall())
    kept.pop("version", None)
    asked = {"embedder": embedder, "dim": str(dim)}
    if kept != asked:
        raise StoreError(other_embedder(name, kept, asked))


def _version(connection: Connection[Any]) -> int:
    if connection.execute("SELECT to_regclass('thymus.settings')").fetchone() == (None,):
        return 0
    found = connection.execute("SELECT value FROM thymus.settings WHERE name = 'version'").fetchone()
    return int(found[0]) if found else 0


def _prepare(connection: Connection[Any], name: str) -> None:
    try:
        with connection.transaction():
            connection.execute(ROLES.encode())
    except errors.InsufficientPrivilege as error:
        raise ConfigError(
            f"this account may not make {name} ready: have an administrator run, in that database,{ROLES}"
            "and grant this account CREATE on the schema, and both roles"
        ) from error
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise ConfigError(
            f"{name} has no pgvector: install the extension on the database's machine (docs/how-to/postgres.md)"
        ) from error
