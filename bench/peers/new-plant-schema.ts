/** The shapes of `POST /plants` for the Fastify peers: checked by Ajv on the way in, written by fast-json-stringify. */
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

export type NewPlant = { id: number; name: string; tag?: string };
