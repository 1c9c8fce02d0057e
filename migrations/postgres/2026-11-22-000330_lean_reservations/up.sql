-- There are as many rows as calls are open, times a few, and who looks for them
-- other than by their id looks at all of them: to keep these indexes cost each
-- call more than they ever saved.
DROP INDEX credit_reservations_of_instance;
DROP INDEX credit_reservations_of_window;
