"""The tables of the run store."""

__all__ = ["SCHEMA"]

SCHEMA = """
CREATE TABLE task (
    key TEXT PRIMARY KEY,
    kernel TEXT NOT NULL,
    device TEXT NOT NULL,
    problem TEXT NOT NULL,
    toolchain TEXT NOT NULL,
    source TEXT NOT NULL,
    settings TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE measurement (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL REFERENCES task(key),
    configuration TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('started', 'done')),
    attempts INTEGER NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER,
    started REAL NOT NULL,
    finished REAL,
    status TEXT,
    samples BLOB,
    compile_s REAL,
    verify_s REAL,
    benchmark_s REAL,
    metrics TEXT,
    detail TEXT,
    remarks TEXT,
    UNIQUE (task, configuration)
);
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL REFERENCES task(key),
    space TEXT NOT NULL,
    size TEXT NOT NULL,
    objective TEXT NOT NULL,
    optimizer TEXT NOT NULL,
    request TEXT NOT NULL,
    version TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started REAL NOT NULL,
    ended REAL,
    stopped TEXT,
    decision TEXT,
    notes TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE trial (
    run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    measurement INTEGER NOT NULL REFERENCES measurement(id),
    cost REAL,
    clock_s REAL NOT NULL,
    PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX run_task ON run(task);
CREATE INDEX trial_measurement ON trial(measurement);
"""
