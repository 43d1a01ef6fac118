-- CreateTable
-- Rows are inserted once and deleted once, so the default of autovacuum would let a fifth of the table be dead rows.
CREATE TABLE "idempotency_keys" (
    "key" BYTEA NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "status" SMALLINT NOT NULL,
    "answer" JSON,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("key"),
    CONSTRAINT "idempotency_keys_answer_check" CHECK (octet_length("answer"::text) <= 65536)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- CreateIndex
CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");
