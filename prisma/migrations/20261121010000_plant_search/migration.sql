-- Plants by a part of their name, whatever the case: https://www.postgresql.org/docs/18/pgtrgm.html
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX "plants_name_idx" ON "plants" USING GIN ("name" gin_trgm_ops);

-- Plants of a tag in the order of their ids. By the tag's hash, as a B-tree takes no key of more than 2704 bytes.
CREATE INDEX "plants_tag_idx" ON "plants" (md5("tag"), "id") WHERE "tag" IS NOT NULL;
