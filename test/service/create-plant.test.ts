import { describe, expect, test } from '@jest/globals';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();

describe('POST /plants (specification §4)', () => {
  test('stores the plant and responds with 200 and the plant without its id', async () => {
    const response = await service.post({ id: 1, name: 'Fir', tag: 'Abies' });
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect(response.text).toBe('{"name":"Fir","tag":"Abies"}');
    expect(await service.stored('1')).toEqual({ id: '1', name: 'Fir', tag: 'Abies' });
  });

  test('responds without a tag, rather than with null, if none was sent', async () => {
    const response = await service.post({ id: 2, name: 'Fir' });
    expect(response.text).toBe('{"name":"Fir"}');
    expect(await service.stored('2')).toEqual({ id: '2', name: 'Fir', tag: null });
  });

  test('accepts the empty string as name and tag', async () => {
    expect((await service.post({ id: 3, name: '', tag: '' })).text).toBe('{"name":"","tag":""}');
    expect(await service.stored('3')).toEqual({ id: '3', name: '', tag: '' });
  });

  test('ignores other members, including nested ones that are named like fields', async () => {
    const response = await service.post(
      '{"id":4,"name":"Fir","colour":"green","x":{"id":1.5},"__proto__":{"tag":"no"}}',
    );
    expect(response.text).toBe('{"name":"Fir"}');
    expect(await service.stored('4')).toEqual({ id: '4', name: 'Fir', tag: null });
  });

  test('uses the last of several members with the same name', async () => {
    const response = await service.post('{"id":5,"name":"Fir","name":"Oak","id":6}');
    expect(response.text).toBe('{"name":"Oak"}');
    expect(await service.stored('6')).toEqual({ id: '6', name: 'Oak', tag: null });
    expect(await service.stored('5')).toBeUndefined();
  });

  test('accepts a name that fills the largest body and refuses one byte more', async () => {
    const body = (length: number) => `{"id":7,"name":"${'x'.repeat(length)}"}`;
    const room = 1_048_576 - body(0).length;
    expect((await service.post(body(room + 1))).body.error).toBe(1002);
    expect((await service.post(body(room))).status).toBe(200);
    expect((await service.stored('7'))?.name).toHaveLength(room);
  });

  test('is available only at /plants', async () => {
    for (const path of ['/plants/', '/Plants', '//plants', '/plants/1/']) {
      expect((await service.agent.post(path).set('Authorization', `Bearer ${service.token}`)).status).toBe(404);
    }
  });
});

describe('the id is an int64, exact to the last digit', () => {
  test.each([
    ['9223372036854775807', '9223372036854775807'],
    ['9223372036854775806', '9223372036854775806'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9223372036854775805.0', '9223372036854775805'],
    ['9.223372036854775804e18', '9223372036854775804'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['11.0', '11'],
    ['12e3', '12000'],
    ['13E+2', '1300'],
    ['1400e-2', '14'],
    ['-0', '0'],
  ])('%s is stored as %s', async (sent, stored) => {
    expect((await service.post(`{"id":${sent},"name":"x"}`)).status).toBe(200);
    expect((await service.stored(stored))?.id).toBe(stored);
  });

  test.each([
    '1.5',
    '"1"',
    'true',
    'null',
    '{}',
    '[]',
    '[1]',
    '9223372036854775808',
    '-9223372036854775809',
    '1e19',
    '1e999999999',
    '1e-999999999',
    '4503599627370497.2',
    '1e-400',
    '9223372036854775807.5',
    '0.1e0',
  ])('%s is refused and not stored', async (sent) => {
    const response = await service.post(`{"id":${sent},"name":"refused"}`);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: 1003,
      message: expect.stringMatching(/^id must be a JSON number .+, not .+\.$/),
    });
    expect(await service.database.query("SELECT 1 FROM plants WHERE name = 'refused'")).toEqual([]);
  });
});

describe('an id that is already taken', () => {
  test('is refused, even for the same plant, and the stored plant does not change', async () => {
    await service.post({ id: 100, name: 'first', tag: 'a' });
    for (const name of ['first', 'second']) {
      const response = await service.post({ id: 100, name, tag: 'a' });
      expect(response.status).toBe(400);
      expect(response.body).toEqual({ error: 1004, message: 'The id 100 is taken.' });
    }
    expect(await service.stored('100')).toEqual({ id: '100', name: 'first', tag: 'a' });
  });

  test('24 clients race for an id: one stores its plant, the others get code 1004', async () => {
    const responses = await Promise.all(
      Array.from({ length: 24 }, (_, client) => service.post({ id: 101, name: `client ${client}` })),
    );
    const winners = responses.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    const losers = responses.filter(({ status, body }) => status === 400 && body.error === 1004);
    expect(losers).toHaveLength(23);
    expect((await service.stored('101'))?.name).toBe(winners[0]?.body.name);
  });
});
