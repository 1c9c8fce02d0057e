-- The weeks of users are added up by one process: each parallel worker would hand over
-- sums of nearly all users, which takes as long as adding all of them up.
ALTER TABLE usage_by_user SET (parallel_workers = 0);
