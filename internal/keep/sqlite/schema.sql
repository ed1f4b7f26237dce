-- The ledger file has the records; the database says where in it they are, and
-- holds requests and grants.

CREATE TABLE records (
    seq     INTEGER PRIMARY KEY,
    time    INTEGER NOT NULL, -- nanoseconds since 1970, UTC; of a machine's record, when it was taken
    kind    TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    session TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    verdict TEXT    NOT NULL,
    rule    TEXT    NOT NULL,
    at      INTEGER NOT NULL  -- offset in the file
) STRICT;
CREATE INDEX records_session ON records (session, seq);
CREATE INDEX records_time ON records (time);
CREATE INDEX records_kind ON records (kind, seq);
CREATE INDEX records_agent ON records (agent, seq);
CREATE INDEX records_tool ON records (tool, seq);
CREATE INDEX records_verdict ON records (verdict, seq);
CREATE INDEX records_rule ON records (rule, seq);

CREATE TABLE counts ( -- of records, by the hour; see package tally
    hour INTEGER NOT NULL,
    dim  TEXT    NOT NULL,
    name TEXT    NOT NULL,
    what TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (hour, dim, name, what)
) STRICT, WITHOUT ROWID;

CREATE TABLE calls ( -- distinct calls of a day
    day    INTEGER NOT NULL,
    digest TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    asked  INTEGER NOT NULL,
    denied INTEGER NOT NULL,
    seq    INTEGER NOT NULL, -- the last record of it
    PRIMARY KEY (day, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
    id      TEXT PRIMARY KEY,
    n       INTEGER NOT NULL, -- order of arrival
    state   TEXT NOT NULL,
    grouped TEXT NOT NULL,
    changed INTEGER NOT NULL, -- cursor of the last change
    body    BLOB NOT NULL
) STRICT;
CREATE INDEX requests_state ON requests (state, n);
CREATE INDEX requests_changed ON requests (changed);

CREATE TABLE grants (
    id      TEXT PRIMARY KEY,
    expires INTEGER NOT NULL, -- 0: never
    revoked INTEGER NOT NULL, -- 0: not
    body    BLOB NOT NULL
) STRICT;

CREATE TABLE docs ( -- tokens, policies and the like, by kind and name
    kind    TEXT NOT NULL,
    id      TEXT NOT NULL,
    version INTEGER NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;

CREATE TABLE fed ( -- one row: how far the file is indexed
    seq     INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    at      INTEGER NOT NULL, -- offset behind the last record that is indexed
    rebuilt INTEGER NOT NULL  -- 1: requests and grants are here, 0: they are to be made from the records
) STRICT;
INSERT INTO fed VALUES (0, x'', 0, 0);
