-- +goose Up
CREATE TABLE records (
    seq     INTEGER PRIMARY KEY,
    time    INTEGER NOT NULL, -- nanoseconds since 1970, UTC
    kind    TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    session TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    verdict TEXT    NOT NULL,
    rule    TEXT    NOT NULL,
    spool   INTEGER NOT NULL, -- 1: taken in from the spool
    body    BLOB    NOT NULL  -- the record as the line it was sealed as
) STRICT;
CREATE INDEX records_spool ON records (seq) WHERE spool = 1;
CREATE INDEX records_session ON records (session, seq);
CREATE INDEX records_time ON records (time);

CREATE TABLE requests (
    id      TEXT PRIMARY KEY,
    n       INTEGER NOT NULL, -- order of arrival
    state   TEXT NOT NULL,
    body    BLOB NOT NULL
) STRICT;
CREATE INDEX requests_state ON requests (state, n);

CREATE TABLE grants (
    id      TEXT PRIMARY KEY,
    expires INTEGER NOT NULL, -- 0: never
    revoked INTEGER NOT NULL, -- 0: not
    body    BLOB NOT NULL
) STRICT;

-- +goose Down
DROP TABLE grants;
DROP TABLE requests;
DROP TABLE records;
