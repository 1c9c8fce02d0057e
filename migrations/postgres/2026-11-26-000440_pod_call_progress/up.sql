-- Progress that a pod reported last, sealed.
ALTER TABLE pod_calls ADD COLUMN progress BYTEA;
