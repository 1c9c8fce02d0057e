-- A file has no roles.
SELECT 1;
