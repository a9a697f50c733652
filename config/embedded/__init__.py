"""What `make up` brings along: Postgres, Valkey, an engine, and the supervisor that runs them.

Nothing here is needed where DATABASE_URL, VALKEY_URL and the catalogue name real services.
"""
