-- AlterTable
ALTER TABLE "tokens" ADD COLUMN "last_used_at" TIMESTAMPTZ(3),
ADD COLUMN "previous_hash" BYTEA,
ADD COLUMN "previous_expires_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE UNIQUE INDEX "tokens_previous_hash_key" ON "tokens"("previous_hash");
