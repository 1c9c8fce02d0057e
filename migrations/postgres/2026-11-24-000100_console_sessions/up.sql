-- Sessions of administrators' browsers, known by a cookie and continued by use.
ALTER TABLE sessions ADD COLUMN console BOOLEAN NOT NULL DEFAULT FALSE;
