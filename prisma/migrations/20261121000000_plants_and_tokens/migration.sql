-- CreateTable
CREATE TABLE "plants" (
    "id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "tag" TEXT,

    CONSTRAINT "plants_pkey" PRIMARY KEY ("id")
);

-- Plants of a tag in the order of their ids. By the tag's hash, as a B-tree takes no key of more than 2704 bytes.
-- PostgreSQL will not change this function's answers: tables partitioned by hash are laid out by them.
CREATE INDEX "plants_tag_hash_idx" ON "plants" (hashtextextended("tag", 0), "id") WHERE "tag" IS NOT NULL;

-- CreateTable
CREATE TABLE "tokens" (
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "tokens_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "tokens_hash_key" ON "tokens"("hash");

-- CreateTable
-- UNLOGGED: counters need not survive a crash, so they are not written to the WAL.
-- Free space in each page lets PostgreSQL count a request without touching the index.
CREATE UNLOGGED TABLE "rate_limits" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL,
    "expire" BIGINT NOT NULL,

    CONSTRAINT "rate_limits_pkey" PRIMARY KEY ("key")
) WITH (fillfactor = 50);
