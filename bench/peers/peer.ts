/** What the peers share: their settings, and the schemas of `POST /plants` for Fastify. */
export const databaseUrl = process.env.DATABASE_URL ?? '';
export const address = { host: '127.0.0.1', port: Number(process.env.PORT) };

export type NewPlant = { id: number; name: string; tag?: string };

/** Ajv validates the body; fast-json-stringify writes the answer. */
export const newPlantSchema = {
  body: {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'integer' }, name: { type: 'string' }, tag: { type: 'string' } },
  },
  response: {
    200: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, tag: { type: 'string' } } },
  },
};
