import { defineConfig } from 'prisma/config';

/** For Prisma's own commands (`prisma generate`, `prisma migrate`, `prisma studio`); the store does not read it. */
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? '' },
});
