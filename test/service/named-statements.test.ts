import { afterAll, beforeAll, expect } from '@jest/globals';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { INSERT_FREE } from '../../src/imports/import-statements.ts';
import { idTaken } from '../../src/plants/plant.ts';
import { createPlantRepository, type PlantRepository } from '../../src/plants/plant-repository.ts';
import { entityTag } from '../../src/plants/plant-representation.ts';
import { onCitus, unless } from '../support/skip.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const { test } = unless(onCitus('pg_prepared_statements and plans are those of the coordinator'));

let pool: ReturnType<typeof createPool>;
let database: Database;
// Before the test database is dropped.
afterAll(() => database.$disconnect());
const testDatabase = useTestDatabase();
let repository: PlantRepository;
beforeAll(() => {
  // One connection, which keeps all named statements.
  pool = createPool({ url: testDatabase.url, connections: 1, connectTimeout: 5000, statementTimeout: 10_000 });
  database = createDatabase({ pool, onConnectionLost: () => {} });
  repository = createPlantRepository({ database, retention: 60_000 });
});

let id = 0n;
const plants = (count: number) => Array.from({ length: count }, () => ({ id: ++id, name: 'Fir' }));
const keyed = (key: string) => ({ key, fingerprint: '00', onReplay: () => {} });

const useAll = async () => {
  const [first] = plants(1) as [{ id: bigint; name: string }];
  await repository.insert([first]);
  await repository.insert(plants(2));
  await repository.insert(plants(64));
  await pool.query(INSERT_FREE, [[`${++id}`], ['Fir'], [null]]);
  await repository.insert(plants(2).map((plant) => ({ ...plant, keyed: keyed(`${plant.id}`.padStart(8, '0')) })));
  await repository.findByIds([first.id, 999_999n]);
  await repository.find(first.id);
  await repository.list([{ limit: 10 }, { limit: 20, after: 3n }]);
  await repository.search({ limit: 10, q: 'Fir' });
  for (const change of [{ name: 'Yew' }, { tag: 'a' }, { name: 'Yew', tag: null }])
    await repository.change({ id: first.id, change });
  await repository.change({ id: first.id, change: { name: 'Oak' }, preconditions: { ifNoneMatch: ['"x"'] } });
  await repository.change({
    id: first.id,
    change: { tag: 'a' },
    preconditions: { ifMatch: [entityTag({ name: 'Oak' })] },
  });
  for (const preconditions of [
    { ifMatch: [] },
    { ifNoneMatch: '*' as const },
    { ifMatch: ['"x"'], ifNoneMatch: ['"y"'] },
  ])
    await expect(repository.change({ id: first.id, change: { tag: 'b' }, preconditions })).rejects.toThrow();
  await repository.change({ id: first.id + 1n, change: 'delete' });
  await repository.change({
    id: first.id + 2n,
    change: 'delete',
    preconditions: { ifMatch: [entityTag({ name: 'Fir' })] },
  });
  await repository.change({ id: first.id, change: 'delete', keyed: keyed(`f${first.id}`.padStart(8, '0')) });
};

test('an INSERT that reads no table keeps a plan, which serves a large table as well; others are planned each time', async () => {
  // PostgreSQL knows that the tables are empty: a plan from now would scan them.
  await testDatabase.query('VACUUM ANALYZE plants');
  await testDatabase.query('VACUUM ANALYZE idempotency_keys');
  for (let round = 0; round < 8; round++) await useAll();
  const named = await database.$queryRaw<{ name: string; generic: bigint }[]>`
    SELECT name, generic_plans AS generic FROM pg_prepared_statements ORDER BY name`;
  const inserts = ['insert_free', 'insert_plant', 'insert_plants'];
  const plannedEachTime = [
    'delete_plant',
    'delete_plant_if_match',
    'find_plants',
    'insert_keyed',
    'update_plant',
    'update_plant_if_match',
    'update_plant_if_match_if_none_match',
    'update_plant_if_none',
    'update_plant_if_none_match',
  ];
  expect(new Set(named.map(({ name }) => name))).toEqual(new Set([...inserts, ...plannedEachTime]));
  for (const { name, generic } of named) expect([name, generic > 0n]).toEqual([name, inserts.includes(name)]);
  await testDatabase.query("INSERT INTO plants SELECT i, 'Fir' FROM generate_series(1000000, 1200000) i");
  const plans = await Promise.all([
    database.$queryRawUnsafe(`EXPLAIN EXECUTE insert_plant('1000000', 'Fir', NULL)`),
    database.$queryRawUnsafe(`EXPLAIN EXECUTE insert_free('{1000000,1}', '{Fir,Fir}', '{NULL,NULL}')`),
    database.$queryRawUnsafe(`EXPLAIN EXECUTE insert_plants('{1000000,1}', '{Fir,Fir}', '{NULL,NULL}')`),
    database.$queryRawUnsafe(`EXPLAIN EXECUTE find_plants(1, '{1000000}', TRUE)`),
  ]);
  expect(JSON.stringify(plans)).toContain('Conflict Arbiter Indexes: plants_pkey');
  expect(JSON.stringify(plans)).not.toMatch(/Seq Scan|json_array_elements/);
  expect(await repository.insert([{ id: 1_000_000n, name: 'Yew' }])).toEqual([idTaken(1_000_000n)]);
});

test('a column whose type changes, and one that is added, fail no statement', async () => {
  for (let round = 0; round < 8; round++) await useAll();
  await testDatabase.query(
    'ALTER TABLE plants ALTER COLUMN name TYPE varchar, ALTER COLUMN tag TYPE varchar, ADD height int',
  );
  await testDatabase.query('ALTER TABLE plants ALTER COLUMN id TYPE numeric');
  await repository.insert(plants(1));
  await testDatabase.query('ALTER TABLE plants ALTER COLUMN id TYPE bigint');
  await useAll();
});
