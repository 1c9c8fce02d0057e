-- Packages of plugins in pieces, so that a download holds but one in memory.
-- A piece begins at the byte first_byte of the package.
CREATE TABLE plugin_packages (
    plugin_id  UUID NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    hash       TEXT COLLATE "C" NOT NULL,
    first_byte BIGINT NOT NULL,
    bytes      BYTEA NOT NULL,
    PRIMARY KEY (plugin_id, hash, first_byte)
);
-- Cabinets are compressed already.
ALTER TABLE plugin_packages ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE plugin_icons (
    plugin_id UUID NOT NULL PRIMARY KEY REFERENCES plugins (id) ON DELETE CASCADE,
    png       BYTEA NOT NULL
);

-- Certificates of those who may sign packages.
CREATE TABLE trusted_certificates (
    id         UUID NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    thumbprint TEXT COLLATE "C" NOT NULL UNIQUE,
    der        BYTEA NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL
);
