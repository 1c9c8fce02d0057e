-- PostgreSQL adds the weeks of users up without sorting them: its table remains.
SELECT 1;
