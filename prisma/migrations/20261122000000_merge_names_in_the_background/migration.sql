SET lock_timeout = '2s';

-- Back to PostgreSQL's default of 4 MB, which connections can override. Those of the service set a higher limit and merge
-- the list themselves, see docs/decisions/0038.
ALTER INDEX "plants_name_idx" RESET (gin_pending_list_limit);

RESET lock_timeout;

-- Merges the names that were stored last into the index. Only the index's owner may do so, hence SECURITY DEFINER. Everyone
-- may call it: it changes nothing that a query can see. It does nothing if the index does not exist.
CREATE OR REPLACE FUNCTION merge_pending_names() RETURNS bigint
  LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT
  AS 'SELECT pg_catalog.gin_clean_pending_list(pg_catalog.to_regclass(
    pg_catalog.quote_ident(pg_catalog.current_schema()) || ''.plants_name_idx''))';
