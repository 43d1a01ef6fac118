-- CreateTable
-- UNLOGGED: a counter of the last minutes is not worth a write to disk for each request, nor to survive a crash.
-- Free space in each page lets PostgreSQL count a request without touching the index.
CREATE UNLOGGED TABLE "rate_limits" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL,
    "expire" BIGINT NOT NULL,

    CONSTRAINT "rate_limits_pkey" PRIMARY KEY ("key")
) WITH (fillfactor = 50);
