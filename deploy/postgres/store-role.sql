-- The role of the running store: it reads and writes rows, and owns and changes nothing else.
--
-- Run it after the first `plant-store migrate`, as the role that migrates, on the store's database; a second time changes
-- nothing. Then give the role its password, and the stores a DATABASE_URL with it:
--
--   psql --file deploy/postgres/store-role.sql "$DATABASE_URL_OF_THE_OWNER"
--   psql --command '\password plant_store_server' "$DATABASE_URL_OF_THE_OWNER"

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'plant_store_server') THEN
    CREATE ROLE plant_store_server LOGIN;
  END IF;
END $$;

-- Before PostgreSQL 15 everyone could make tables in this schema.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO plant_store_server;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO plant_store_server;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO plant_store_server;
-- Which migrations are applied the store reads, and nothing more.
REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations FROM plant_store_server;
-- What later migrations make is the store's to use as well.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO plant_store_server;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO plant_store_server;
