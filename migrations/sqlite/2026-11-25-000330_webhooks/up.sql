-- Webhooks of operators, and their deliveries. next_at is set until a delivery has
-- succeeded or is abandoned.
ALTER TABLE operators ADD COLUMN webhook_url TEXT;
ALTER TABLE operators ADD COLUMN webhook_secret BLOB;

CREATE TABLE webhook_deliveries (
    id           BLOB NOT NULL PRIMARY KEY,
    user_id      BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    operator_id  BLOB NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    created_at   INTEGER NOT NULL,
    next_at      INTEGER,
    delivered_at INTEGER,
    attempts     INTEGER NOT NULL,
    failure      TEXT,
    payload      TEXT NOT NULL
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_of_operator ON webhook_deliveries (operator_id, created_at);
CREATE INDEX webhook_deliveries_of_user ON webhook_deliveries (user_id);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
