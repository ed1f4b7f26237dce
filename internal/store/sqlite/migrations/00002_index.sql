-- The ledger file has the records; the database says where in it they are.

-- +goose Up
CREATE TABLE fed ( -- one row: how far the file is indexed
    seq     INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    at      INTEGER NOT NULL, -- offset behind the last record that is indexed
    rebuilt INTEGER NOT NULL  -- 1: requests and grants are here, 0: they are to be made from the records
) STRICT;
INSERT INTO fed SELECT 0, x'', 0, (SELECT count(*) FROM records) + (SELECT count(*) FROM requests) > 0;

DROP TABLE records;
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

-- +goose Down
DROP TABLE records;
CREATE TABLE records (
    seq     INTEGER PRIMARY KEY,
    time    INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    session TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    verdict TEXT    NOT NULL,
    rule    TEXT    NOT NULL,
    spool   INTEGER NOT NULL,
    body    BLOB    NOT NULL
) STRICT;
CREATE INDEX records_spool ON records (seq) WHERE spool = 1;
CREATE INDEX records_session ON records (session, seq);
CREATE INDEX records_time ON records (time);
DROP TABLE fed;
