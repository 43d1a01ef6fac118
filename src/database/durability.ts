/** The settings that PostgreSQL needs to keep what it has confirmed. */
const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit'];
/** `rate_limits` may be UNLOGGED. */
const TABLES = ['plants', 'tokens', 'idempotency_keys', '_prisma_migrations'];

/**
 * A column: the settings of the session and the tables with which a crash can lose confirmed plants, such as `fsync = off`; empty if
 * there are none. UNLOGGED tables are found by the init forks of their indexes, because Citus does not read pg_class in every
 * statement.
 */
export const DURABILITY = `concat_ws(', ',
  ${SETTINGS.map((name) => `CASE current_setting('${name}') WHEN 'off' THEN '${name} = off' END`)},
  ${TABLES.map((name) => `CASE WHEN pg_relation_size(to_regclass('${name}_pkey'), 'init') > 0 THEN 'UNLOGGED table ${name}' END`)}
) AS weaknesses`;

/** In ms. */
const HOUR = 3_600_000;

const describeWeaknesses = (weaknesses: string): string =>
  `PostgreSQL can lose confirmed plants in a crash: ${weaknesses}. Set fsync, full_page_writes and synchronous_commit to on, for the ` +
  'server, the database and the role, and each table to LOGGED (ALTER TABLE … SET LOGGED)';

/**
 * Takes what checks read of `DURABILITY`, which come every second.
 * @param warn is called at the first check that finds weaknesses or others, and then once an hour
 */
export const createDurabilityWatch = (warn: (message: string) => void) => {
  const warnedAt = new Map<string, number>();
  return (weaknesses: string): void => {
    const now = performance.now();
    if (weaknesses === '' || now - (warnedAt.get(weaknesses) ?? Number.NEGATIVE_INFINITY) < HOUR) return;
    warnedAt.set(weaknesses, now);
    warn(describeWeaknesses(weaknesses));
  };
};
