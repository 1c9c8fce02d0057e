DROP TABLE webhook_deliveries;
ALTER TABLE operators DROP COLUMN webhook_secret;
ALTER TABLE operators DROP COLUMN webhook_url;
