-- Sessions of administrators' browsers, known by a cookie and continued by use.
ALTER TABLE sessions ADD COLUMN console INTEGER NOT NULL DEFAULT 0;
