-- The database role of the running service. It can read and write rows, and owns nothing.
--
-- Run this after the first `plant-store migrate`, as the role that migrates, on the same database. It is safe to run again.
-- Then set the role's password, and use the role in the DATABASE_URL of the service:
--
--   psql --file deploy/postgres/store-role.sql "$DATABASE_URL_OF_THE_OWNER"
--   psql --command '\password plant_store_server' "$DATABASE_URL_OF_THE_OWNER"

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'plant_store_server') THEN
    CREATE ROLE plant_store_server LOGIN;
    -- Through a pooler the service cannot set its time limit, three fifths of REQUEST_TIMEOUT, itself.
    ALTER ROLE plant_store_server SET statement_timeout = '6s';
  END IF;
END $$;

-- Before PostgreSQL 15, every role could create tables in this schema.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO plant_store_server;
-- Some imports keep the ids of earlier rows in a temporary table. By default every role may create temporary tables.
DO $$
BEGIN
  EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO plant_store_server', current_database());
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO plant_store_server;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO plant_store_server;
-- The service only reads which migrations are applied.
REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations FROM plant_store_server;
-- Covers tables and sequences of later migrations.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO plant_store_server;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO plant_store_server;
