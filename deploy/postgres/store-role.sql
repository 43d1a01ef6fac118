-- The database role of the running service. It can read and write rows, and owns nothing.
--
-- Run this after the first `plant-store migrate`, as the role that owns the tables, on the same database. It needs CREATEROLE, unless
-- the role of the service exists. It is safe to run again. If something is missing it says so, and changes nothing.
-- Then set the role's password, and use the role in the DATABASE_URL of the service:
--
--   psql --file deploy/postgres/store-role.sql "$DATABASE_URL_OF_THE_OWNER"
--   psql --command '\password plant_store_server' "$DATABASE_URL_OF_THE_OWNER"
--
-- For a store in another schema than that of the search path, put PGOPTIONS='-c search_path=garden' before both, as psql knows no ?schema=.

-- An error ends psql with a status other than 0.
\set ON_ERROR_STOP 1

-- One statement, so that it is done as a whole or not at all.
DO $$
DECLARE
  store record;
  owned record;
BEGIN
  SELECT nspname AS schema, pg_get_userbyid(relowner) AS owner INTO store
  FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE pg_class.oid = to_regclass('plants');
  IF NOT FOUND THEN
    RAISE EXCEPTION 'There is no table plants in the search path (%).', current_setting('search_path')
      USING HINT = 'Run first, on the same database and schema: plant-store migrate';
  END IF;
  -- Default privileges, for tables of later migrations, are those of the role that creates them.
  IF store.owner <> current_user THEN
    RAISE EXCEPTION 'The role % does not own the tables.', current_user
      USING HINT = format('Connect as the role that migrates: %I', store.owner);
  END IF;

  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'plant_store_server') THEN
    IF NOT (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) THEN
      RAISE EXCEPTION 'The role % may not create the role plant_store_server.', current_user
        USING HINT = format('As a superuser run: ALTER ROLE %I CREATEROLE', current_user);
    END IF;
    CREATE ROLE plant_store_server LOGIN;
    -- Through a pooler the service cannot set its time limits itself: that of a statement, three fifths of REQUEST_TIMEOUT, and
    -- that of waiting for a lock.
    ALTER ROLE plant_store_server SET statement_timeout = '6s';
    ALTER ROLE plant_store_server SET lock_timeout = '400ms';
  END IF;
  IF NOT (SELECT rolcanlogin FROM pg_roles WHERE rolname = 'plant_store_server') THEN
    RAISE EXCEPTION 'The role plant_store_server may not log in.'
      USING HINT = 'As a superuser run: ALTER ROLE plant_store_server LOGIN';
  END IF;
  IF pg_has_role('plant_store_server', store.owner, 'MEMBER') THEN
    RAISE EXCEPTION 'The role plant_store_server owns the tables, as a superuser, a member of their owner or their owner itself.'
      USING HINT = 'The service must connect as a role that owns nothing.';
  END IF;

  -- Before PostgreSQL 15, every role could create tables in the schema public.
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', store.schema);
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO plant_store_server', store.schema);
  -- Some imports keep the ids of earlier rows in a temporary table. By default every role has both privileges.
  EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO plant_store_server', current_database());
  -- Not ALL TABLES: others may have tables in the same schema.
  FOR owned IN
    SELECT oid::regclass AS name, relkind FROM pg_class
    WHERE relnamespace = to_regnamespace(quote_ident(store.schema)) AND pg_get_userbyid(relowner) = current_user AND relkind IN ('r', 'p', 'S')
  LOOP
    IF owned.relkind = 'S' THEN
      EXECUTE format('GRANT USAGE ON SEQUENCE %s TO plant_store_server', owned.name);
    ELSE
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO plant_store_server', owned.name);
    END IF;
  END LOOP;
  -- The service only reads which migrations are applied.
  EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %I._prisma_migrations FROM plant_store_server', store.schema);
  -- Covers tables and sequences of later migrations.
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO plant_store_server', store.schema);
  EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT USAGE ON SEQUENCES TO plant_store_server', store.schema);

  -- PostgreSQL only warns if a role may not grant or revoke something.
  IF has_schema_privilege('plant_store_server', store.schema, 'CREATE') THEN
    RAISE EXCEPTION 'The role plant_store_server may create tables in the schema %.', store.schema
      USING HINT = format('As the owner of the schema or a superuser run: REVOKE CREATE ON SCHEMA %I FROM PUBLIC', store.schema);
  END IF;
  IF NOT has_schema_privilege('plant_store_server', store.schema, 'USAGE') THEN
    RAISE EXCEPTION 'The role plant_store_server may not use the schema %.', store.schema
      USING HINT = format('As the owner of the schema or a superuser run: GRANT USAGE ON SCHEMA %I TO plant_store_server', store.schema);
  END IF;
  -- Of several privileges in one text, one is enough.
  IF NOT (has_database_privilege('plant_store_server', current_database(), 'CONNECT')
      AND has_database_privilege('plant_store_server', current_database(), 'TEMPORARY')) THEN
    RAISE EXCEPTION 'The role plant_store_server may not connect to the database, or may not create temporary tables in it.'
      USING HINT = format('As the owner of the database or a superuser run: GRANT CONNECT, TEMPORARY ON DATABASE %I TO plant_store_server', current_database());
  END IF;
END $$;
