-- On Citus, after deploy/postgres/store-role.sql and `plant-store distribute`, as a superuser on the coordinator: Citus repeats it
-- on the workers. On one PostgreSQL, the statements of the store set this themselves.

-- How long a statement waits for a plant that another transaction has locked.
ALTER ROLE plant_store_server SET lock_timeout = '400ms';
