import { z } from 'zod';
import { errors } from '../errors.ts';
import { parametersOf } from '../openapi/openapi.ts';

/** What operations that take an Idempotency-Key have in addition. */
export const idempotent = {
  parameters: parametersOf(
    'header',
    z.object({
      'Idempotency-Key': z
        .string()
        .regex(/^[!-~]{1,257}$/)
        .optional()
        .describe(
          'A text that no other request of this token has, such as a UUID: 1 to 255 visible ASCII characters, optionally in ' +
            'double quotes. The same request with the same key has the same response, and is carried out once.',
        ),
    }),
  ),
  errors: [errors.keyInvalid, errors.keyReused, errors.keyNotSupported],
};
