import { expect, test } from '@jest/globals';
import { createSessions } from '../../src/database/session.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { waitUntil } from '../support/wait-until.ts';

const database = useTestDatabase();

test('a session that is being opened when they are closed is closed, too', async () => {
  const sessions = createSessions({ url: database.url, connectTimeout: 5000, statementTimeout: 5000 });
  const opening = sessions.open();
  sessions.close();
  await expect(opening).rejects.toThrow('Connection terminated');
  await waitUntil('the end of its connection', async () => {
    const open = 'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    return (await database.query(open)).length === 0;
  });
});
