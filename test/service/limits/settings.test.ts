import { describe } from '@jest/globals';
import { readConfig } from '../../../src/config/config.ts';
import { parseDuration } from '../../../src/config/variable-kinds.ts';
import { limitRequests } from '../../../src/request-limits.ts';
import { edge, range, succeeds } from '../../support/limits/edge.ts';

const accepts = (environment: Record<string, string>) => succeeds(() => readConfig(environment));
const limitsWith = (environment: Record<string, string>) => limitRequests(readConfig(environment));

describe('a setting', () => {
  range('setting PORT', '-1', '0', '65535', '65536');
  range('setting METRICS_PORT', '-1', '0', '65535', '65536');
  range('setting DATABASE_CONNECTIONS', '0', '1', '1000', '1001');
  range('setting QUEUE_LIMIT', '0', '1', '1000000', '1000001');
  range('setting MAX_CONNECTIONS', '0', '1', '1000000', '1000001');
  range('setting IDEMPOTENCY_RETENTION', '999ms', '1s', '365d', '31536001');
  range('setting EXPORT_TIMEOUT', '999ms', '1s', '7d', '604801');
  range('setting REQUEST_TIMEOUT', '999ms', '1s', '1h', '3600001ms');
  range('setting KEEP_ALIVE_TIMEOUT', '999ms', '1s', '1d', '86400001ms');
  range('setting SHUTDOWN_DELAY', '-1', '0', '1h', '3600001ms');
  range('setting SHUTDOWN_TIMEOUT', '999ms', '1s', '1h', '3600001ms');
  range('setting WORKERS', '0', '1', '999', '1000');
  range('setting TRUST_PROXY', '-1', '0', '9', '10');
  range('setting RATE_LIMIT', '0/1', '1/1', '9999999/1', '10000000/1');
  range('setting BODY_LIMIT', '0', '1', '4194304', '4194305');

  edge('config/config.ts MAX_BODY_LIMIT', 'BODY_LIMIT is at most 1/256 of the heap', {
    is: [true, true, false],
    of: (bytes) => accepts({ BODY_LIMIT: String(bytes) }),
  });
  edge('config/variable-kinds.ts MAX_WINDOW', 'RATE_LIMIT has a window of at most a week', {
    is: [true, true, false],
    of: (seconds) => accepts({ RATE_LIMIT: `5/${seconds}` }),
  });
  edge('config/variable-kinds.ts {1,16}', 'that is a number has at most 16 digits', {
    is: [true, true, false],
    of: (digits) => accepts({ PORT: '3000'.padStart(digits, '0') }),
  });
  edge('config/variable-kinds.ts {1,10}', 'that is a duration has at most 10 digits', {
    is: [true, true, false],
    of: (digits) => parseDuration(`${'1'.padStart(digits, '0')}ms`) !== undefined,
  });
});

describe('limits that follow from settings', () => {
  edge('request-limits.ts MAX_SEARCHES', 'at most three searches run at once, with many DATABASE_CONNECTIONS', {
    is: [2, 3, 3],
    of: (searches) => limitsWith({ DATABASE_CONNECTIONS: String(6 + 2 * searches) }).searches.batches,
  });
  edge(
    'database/database.ts CONNECT_TIMEOUT',
    'connecting takes at most 1.5 s, and a fifth of a short REQUEST_TIMEOUT',
    {
      is: [1499, 1500, 1500],
      of: (milliseconds) => limitsWith({ REQUEST_TIMEOUT: `${5 * milliseconds}ms` }).connectTimeout,
    },
  );
});
