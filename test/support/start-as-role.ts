import { createTestDatabase } from './test-database.ts';
import type { startTestService } from './test-service.ts';

/** Starts a service on a database of its own, with a role that owns nothing, so that privileges and policies count. `query`: as the owner. */
export const startAsRole = async (start: typeof startTestService, stack: AsyncDisposableStack) => {
  const { url, query, administer, drop } = await createTestDatabase();
  stack.defer(drop);
  const role = `limited_${process.pid}`;
  await query(`CREATE ROLE ${role} LOGIN PASSWORD 'limited'; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
  stack.defer(async () => void (await administer(`DROP ROLE ${role}`)));
  stack.defer(async () => void (await query(`DROP OWNED BY ${role}`)));
  const asRole = Object.assign(new URL(url), { username: role, password: 'limited' });
  return { service: await start({}, { databaseUrl: asRole.href }), query, role };
};
