-- Packages of plugins in pieces, so that a download holds but one in memory.
-- A piece begins at the byte first_byte of the package.
CREATE TABLE plugin_packages (
    plugin_id  BLOB NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    hash       TEXT NOT NULL,
    first_byte INTEGER NOT NULL,
    bytes      BLOB NOT NULL,
    PRIMARY KEY (plugin_id, hash, first_byte)
) STRICT;

CREATE TABLE plugin_icons (
    plugin_id BLOB NOT NULL PRIMARY KEY REFERENCES plugins (id) ON DELETE CASCADE,
    png       BLOB NOT NULL
) STRICT;

-- Certificates of those who may sign packages.
CREATE TABLE trusted_certificates (
    id         BLOB NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    thumbprint TEXT NOT NULL UNIQUE,
    der        BLOB NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
