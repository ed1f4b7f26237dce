-- The ledger file has the records; the database says where in it they are, and
-- holds requests and grants. Version 1 had the records themselves, which are in
-- the file by now.

DROP TABLE IF EXISTS records;
CREATE TABLE records (
    seq     INTEGER PRIMARY KEY,
    time    INTEGER NOT NULL, -- nanoseconds since 1970, UTC
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

-- Until version 3 requests had neither a group nor a cursor, and an approval that
-- was used up was called used.
CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, n INTEGER, state TEXT, body BLOB);
ALTER TABLE requests RENAME TO requests_before;
DROP INDEX IF EXISTS requests_state;
DROP INDEX IF EXISTS requests_changed;
CREATE TABLE requests (
    id      TEXT PRIMARY KEY,
    n       INTEGER NOT NULL, -- order of arrival
    state   TEXT NOT NULL,
    grouped TEXT NOT NULL,
    changed INTEGER NOT NULL, -- cursor of the last change
    body    BLOB NOT NULL
) STRICT;
INSERT INTO requests SELECT id, n, replace(state, 'used', 'done'), '', n + 1, CAST(replace(CAST(body AS TEXT), '"state":"used"', '"state":"done"') AS BLOB) FROM requests_before;
DROP TABLE requests_before;
CREATE INDEX requests_state ON requests (state, n);
CREATE INDEX requests_changed ON requests (changed);

CREATE TABLE IF NOT EXISTS grants (
    id      TEXT PRIMARY KEY,
    expires INTEGER NOT NULL, -- 0: never
    revoked INTEGER NOT NULL, -- 0: not
    body    BLOB NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS docs ( -- tokens, policies and the like, by kind and name
    kind    TEXT NOT NULL,
    id      TEXT NOT NULL,
    version INTEGER NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;

DROP TABLE IF EXISTS fed;
CREATE TABLE fed ( -- one row: how far the file is indexed
    seq     INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    at      INTEGER NOT NULL, -- offset behind the last record that is indexed
    rebuilt INTEGER NOT NULL  -- 1: requests and grants are here, 0: they are to be made from the records
) STRICT;
INSERT INTO fed SELECT 0, x'', 0, EXISTS (SELECT 1 FROM requests) OR EXISTS (SELECT 1 FROM grants);
