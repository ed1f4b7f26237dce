-- What replicas share. Names are bytes: a tool's name may hold any. Only what
-- CockroachDB and YugabyteDB have as well is used.

CREATE TABLE IF NOT EXISTS obstat_schema (version INT PRIMARY KEY);

CREATE TABLE IF NOT EXISTS obstat_chains ( -- one for each replica, anchored in the others'
    name  TEXT PRIMARY KEY,
    owner TEXT   NOT NULL,
    until BIGINT NOT NULL -- microseconds since 1970: the owner has it until then
);

CREATE TABLE IF NOT EXISTS obstat_records (
    chain   TEXT   NOT NULL,
    seq     BIGINT NOT NULL,
    n       BIGSERIAL, -- about the order in which they came
    time    BIGINT NOT NULL, -- nanoseconds since 1970
    kind    BYTEA  NOT NULL,
    agent   BYTEA  NOT NULL,
    session BYTEA  NOT NULL,
    tool    BYTEA  NOT NULL,
    verdict BYTEA  NOT NULL,
    rule    BYTEA  NOT NULL,
    line    BYTEA  NOT NULL, -- the sealed record
    PRIMARY KEY (chain, seq)
);
CREATE INDEX IF NOT EXISTS obstat_records_n ON obstat_records (n);
CREATE INDEX IF NOT EXISTS obstat_records_time ON obstat_records (time);
CREATE INDEX IF NOT EXISTS obstat_records_session ON obstat_records (session, n);

CREATE TABLE IF NOT EXISTS obstat_requests (
    id      BYTEA  PRIMARY KEY,
    n       BIGSERIAL, -- order of arrival
    state   TEXT   NOT NULL,
    grouped BYTEA  NOT NULL,
    version INT    NOT NULL,
    changed BIGINT NOT NULL, -- microseconds since 1970, by the database's clock
    body    BYTEA  NOT NULL
);
CREATE INDEX IF NOT EXISTS obstat_requests_state ON obstat_requests (state, n);
CREATE INDEX IF NOT EXISTS obstat_requests_changed ON obstat_requests (changed);

CREATE TABLE IF NOT EXISTS obstat_grants (
    id      BYTEA  PRIMARY KEY,
    n       BIGSERIAL,
    expires BIGINT NOT NULL, -- 0: never
    revoked BIGINT NOT NULL, -- 0: not
    body    BYTEA  NOT NULL
);

CREATE TABLE IF NOT EXISTS obstat_docs (
    kind    BYTEA NOT NULL,
    id      BYTEA NOT NULL,
    version INT   NOT NULL,
    body    BYTEA NOT NULL,
    PRIMARY KEY (kind, id)
);
