-- Stores all of these plants, or none if an id is taken. A plain INSERT takes PostgreSQL less time than ON CONFLICT. The function
-- keeps a taken id from leaving an error in the log of PostgreSQL.
-- \x3b is a semicolon. Prisma's driver adapter splits migrations at semicolons, also within strings.
CREATE FUNCTION "try_insert_plants"("ids" BIGINT[], "names" TEXT[], "tags" TEXT[]) RETURNS BOOLEAN LANGUAGE plpgsql AS E'
BEGIN
    INSERT INTO "plants" ("id", "name", "tag") SELECT * FROM unnest("ids", "names", "tags")\x3b
    RETURN TRUE\x3b
EXCEPTION WHEN unique_violation THEN
    RETURN FALSE\x3b
END';
