-- Creates a database with three roles: the owner of the tables, the role of
-- requests, and the role that sees the rows of all users. Run it once as a
-- superuser, with three passwords:
--
--   psql -v owner_password=… -v requests_password=… -v maintenance_password=… \
--       -f postgres-roles.sql
--
-- Then give the server all three connection strings. The owner's is needed for
-- migrations only:
--
--   Database__MigrationConnectionString=postgres://pia_owner:…@db/pia
--   Database__ConnectionString=postgres://pia_requests:…@db/pia
--   Database__MaintenanceConnectionString=postgres://pia_maintenance:…@db/pia
--
-- Migrations grant the other two access to the tables, and switch row-level
-- security on.

\set ON_ERROR_STOP on

CREATE ROLE pia_owner LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'owner_password';
CREATE ROLE pia_requests LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'requests_password';
CREATE ROLE pia_maintenance LOGIN NOSUPERUSER BYPASSRLS PASSWORD :'maintenance_password';

CREATE DATABASE pia OWNER pia_owner ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE pia FROM PUBLIC;
GRANT CONNECT ON DATABASE pia TO pia_requests, pia_maintenance;

\connect pia
ALTER SCHEMA public OWNER TO pia_owner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
