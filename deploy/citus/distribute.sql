-- Distributes the tables, and the rows that they have, over the workers of a Citus cluster; see docs/how-to/citus.md.
--
-- Stop all instances. On the coordinator, as the role that owns the tables, after `plant-store migrate`:
--
--   psql --file deploy/citus/distribute.sql "$DATABASE_URL_OF_THE_OWNER"
--
-- `--set shards=16` divides the plants into another number of shards than 8. It is safe to run again: tables that are distributed stay
-- as they are. If something is missing it says so, and changes nothing.
--
-- For a store in another schema than that of the search path, put PGOPTIONS='-c search_path=garden' before it, as psql knows no ?schema=.

\set ON_ERROR_STOP 1
\set QUIET 1
\if :{?shards}
\else
  \set shards 8
\endif

BEGIN;
-- Copying the rows may take long. Citus reports each step as a notice.
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = 0;
SET LOCAL client_min_messages = warning;
SET LOCAL plant_store.shards = :'shards';

DO $$
DECLARE
  citus text := (SELECT extversion FROM pg_extension WHERE extname = 'citus');
  owner name := (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = to_regclass('plants'));
  missing text[];
  others record;
  missed text;
BEGIN
  IF citus IS NULL THEN
    RAISE EXCEPTION 'This database does not have the extension Citus.'
      USING HINT = 'Add citus to shared_preload_libraries on every node, and as a superuser run on every node, in this database: CREATE EXTENSION citus';
  END IF;
  -- The first version with tables of a single shard.
  IF split_part(citus, '.', 1)::int < 12 THEN
    RAISE EXCEPTION 'Citus is %, but Plant Store requires 12 or later.', citus;
  END IF;
  IF (SELECT groupid <> 0 FROM pg_dist_local_group) THEN
    RAISE EXCEPTION 'This is a worker.' USING HINT = 'Connect to the coordinator of the Citus cluster.';
  END IF;
  IF NOT EXISTS (SELECT FROM citus_get_active_worker_nodes()) THEN
    RAISE EXCEPTION 'The Citus cluster has no workers.'
      USING HINT = 'As a superuser run on the coordinator, for each: SELECT citus_add_node(''HOST'', 5432)';
  END IF;
  IF owner IS NULL THEN
    RAISE EXCEPTION 'There is no table plants in the search path (%).', current_setting('search_path')
      USING HINT = 'Run first, on the same database and schema: plant-store migrate';
  END IF;
  IF NOT pg_has_role(owner, 'USAGE') THEN
    RAISE EXCEPTION 'The role % does not own the tables.', current_user
      USING HINT = format('Connect as the role that migrates: %I', owner);
  END IF;

  missing := ARRAY(
    SELECT name FROM unnest(ARRAY['tokens', '_prisma_migrations', 'rate_limits', 'plants']) AS name
    WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = name::regclass)
  );
  IF missing = '{}' THEN
    RAISE INFO 'All tables are distributed already.';
    RETURN;
  END IF;

  -- A store chooses its statements when it starts. With those for one PostgreSQL, its pages would fail.
  SELECT count(*), string_agg(DISTINCT usename, ', ') AS roles INTO others FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL AND application_name NOT ILIKE 'citus%';
  IF others.count > 0 THEN
    RAISE EXCEPTION '% other sessions use this database (roles: %).', others.count, others.roles
      USING HINT = 'Stop all instances and end the other sessions first.';
  END IF;

  FOREACH missed IN ARRAY missing LOOP
    CASE missed
      WHEN 'plants' THEN
        PERFORM create_distributed_table('plants', 'id', colocate_with => 'none', shard_count => current_setting('plant_store.shards')::int);
      -- One shard, so that one worker counts all requests of a statement.
      WHEN 'rate_limits' THEN
        PERFORM create_distributed_table('rate_limits', NULL, colocate_with => 'none');
      ELSE
        PERFORM create_reference_table(missed);
    END CASE;
    -- The rows that were copied are still in the local table, where nothing can see them.
    PERFORM truncate_local_data_after_distributing_table(missed::regclass);
    RAISE INFO 'Distributed %.', missed;
  END LOOP;
END $$;
COMMIT;
