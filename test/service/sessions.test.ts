import { expect, test } from '@jest/globals';
import { createSessions } from '../../src/database/session.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();

test('closing closes sessions that are being opened, and no more are opened', async () => {
  const sessions = createSessions({ url: database.url, connectTimeout: 5000, statementTimeout: 5000 });
  const opening = sessions.open();
  sessions.close();
  await expect(opening).rejects.toThrow('Connection terminated');
  await expect(sessions.open()).rejects.toThrow('Connection terminated');
  await waitUntil('the end of its connection', async () => {
    const open = 'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    return (await database.query(open)).length === 0;
  });
});
