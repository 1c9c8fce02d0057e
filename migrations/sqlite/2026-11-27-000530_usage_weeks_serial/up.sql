-- SQLite has no parallel workers: its table remains.
SELECT 1;
