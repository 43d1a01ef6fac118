-- On Citus, after deploy/postgres/store-role.sql and deploy/citus/distribute.sql, as a superuser on the coordinator: Citus repeats it
-- on the workers. On one PostgreSQL, the store sets this for its connections.

\set ON_ERROR_STOP 1

-- How long a statement waits for a plant that another transaction has locked.
ALTER ROLE plant_store_server SET lock_timeout = '400ms';
