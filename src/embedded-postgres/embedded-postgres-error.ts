/** The embedded PostgreSQL cannot run here; `message` says why and what to do. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError';
}
