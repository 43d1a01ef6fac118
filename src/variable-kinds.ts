import { isIP, isIPv4 } from 'node:net';
import { z } from 'zod';

/** A variable of one of these words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words, fallback: Words[number]) =>
  z
    .enum(words)
    .default(fallback)
    .describe(`one of ${words.join(', ')}`);

export const digits = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum);

/** A variable that is a whole number, said with its unit and range. */
export const wholeNumber = (unit: string, minimum: number, maximum: number, fallback: number) =>
  digits(minimum, maximum).default(fallback).describe(`${unit}, ${minimum} to ${maximum}`);

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** A URL whose answer is believed: over TLS, or from this machine. */
export const trustedUrl = (example: string) =>
  z
    .string()
    .refine((text) => {
      const { protocol, hostname } = URL.parse(text) ?? {};
      return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname ?? ''));
    })
    .optional()
    .describe(`an https URL such as ${example}, or an http URL of this machine`);

/** A variable that is a list of texts with commas between them, each of which is valid. */
const listOf = (isValid: (text: string) => boolean) =>
  z
    .string()
    .transform((text) => text.split(',').map((item) => item.trim()))
    .refine((items) => items.every(isValid));

/** Origins of pages (RFC 6454 §6.2), to the letter in which a browser sends them. */
export const origins = () =>
  listOf((text) => /^https?:/.test(text) && URL.parse(text)?.origin === text)
    .default([])
    .describe('origins such as https://garden.example.com, with commas between them');

const NAMED_RANGES = ['loopback', 'linklocal', 'uniquelocal'];

const isAddressRange = (text: string) => {
  const [address = '', prefix = '1', ...rest] = text.split('/');
  const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= (isIPv4(address) ? 32 : 128);
  return isIP(address) !== 0 && isPrefix && rest.length === 0;
};

/** Proxies in front of the store: how many, or which (https://expressjs.com/en/guide/behind-proxies.html). */
export const proxies = () =>
  z
    .union([
      z.string().regex(/^\d$/).transform(Number),
      listOf((text) => NAMED_RANGES.includes(text) || isAddressRange(text)),
    ])
    .default(0)
    .describe('how many proxies there are, 0 to 9, or their addresses, such as 10.0.0.0/8, loopback');

/** Requests in a number of seconds. */
export const rate = () =>
  z
    .string()
    .regex(/^[1-9]\d{0,6}\/[1-9]\d{0,4}$/)
    .transform((text) => text.split('/').map(Number))
    .transform(([requests = 0, seconds = 0]) => ({ requests, seconds }))
    .optional()
    .describe('requests/seconds such as 600/60');
