/** What a feature may import of the rest of src/. Features import no other feature, except where a line below says so. */
const shared = ['http', 'bodies', 'openapi', 'batching', 'database', 'generated'];

/** What every folder may import. */
const everywhere = ['errors.ts', 'quote-value.ts'];

/**
 * Which folders of src/ a folder may import, besides itself. Unit tests may import more. The root files assemble the
 * folders, and `commands/` starts what they assemble. A folder that is not listed may import nothing.
 */
const mayImport = {
  http: [],
  bodies: ['http'],
  server: ['http'],
  openapi: ['http'],
  database: ['generated'],
  batching: ['database'],
  config: [],
  observability: ['config', 'http', 'server', 'batching', 'version.ts'],
  'embedded-postgres': ['secret-file.ts'],
  health: shared,
  idempotency: shared,
  plants: [...shared, 'idempotency'],
  imports: [...shared, 'plants'],
  exports: [...shared, 'plants'],
  changes: ['database'],
  tokens: shared,
  documentation: shared,
};

const REPOSITORY =
  '^src/[^/]+/([^/]+-repository|plant-pages|insert-plants|change-many|stored-responses|import-session)[.]ts$';
const UNIT_TEST = '[.]test[.]ts$';
const packages = (/** @type {string[]} */ ...names) => `(^|/)node_modules/(@types/)?(${names.join('|')})/`;

/** @type {(name: string, comment: string, from: object, to: object) => import('dependency-cruiser').IForbiddenRuleType} */
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    forbid('no-cycle', 'Files that import each other are one file.', {}, { circular: true }),
    {
      ...forbid('no-folder-cycle', 'Dependencies between folders point one way.', {}, { circular: true }),
      scope: 'folder',
    },
    ...Object.entries(mayImport).map(([folder, others]) =>
      forbid(
        `${folder}-imports`,
        `src/${folder}/ may import ${['itself', ...everywhere, ...others].join(', ')}, and nothing else of src/.`,
        { path: `^src/${folder}/`, pathNot: UNIT_TEST },
        { path: '^src/', pathNot: `^src/(${[folder, ...everywhere, ...others].join('|')})(/|$)` },
      ),
    ),
    forbid(
      'unknown-folder',
      'List every folder of src/ in .dependency-cruiser.js.',
      { path: '^src/[^/]+/', pathNot: `^src/(commands|generated|${Object.keys(mayImport).join('|')})/` },
      { path: '^src/' },
    ),
    forbid(
      'commands-are-the-top',
      'Only main.ts runs commands.',
      { path: '^src/', pathNot: '^src/(main[.]ts$|commands/)' },
      { path: '^src/commands/' },
    ),
    forbid(
      'no-http-in-repositories',
      'A repository knows no HTTP.',
      { path: REPOSITORY },
      { path: ['^src/(http|bodies|server|openapi)/', packages('express')] },
    ),
    forbid(
      'database-in-repositories-only',
      'Only repositories, src/database/, src/changes/ and the embedded PostgreSQL know Prisma and pg.',
      { path: '^src/', pathNot: ['^src/(database|changes|embedded-postgres|generated)/', REPOSITORY, UNIT_TEST] },
      { path: ['^src/generated/', packages('pg', 'pg-copy-streams', '@prisma/[^/]+')] },
    ),
    forbid(
      'changes-when-asked-only',
      'Only the command that follows changes loads what that needs, and only when it runs.',
      { path: '^src/', pathNot: ['^src/changes/', UNIT_TEST] },
      {
        path: ['^src/changes/', packages('pg-logical-replication')],
        dependencyTypesNot: ['dynamic-import', 'type-only'],
      },
    ),
    forbid(
      'no-tests-in-production',
      'src/ runs without test/, bench/ and development packages.',
      { path: '^src/', pathNot: UNIT_TEST },
      { path: ['^(test|bench|client)/', UNIT_TEST] },
    ),
    forbid(
      'no-dev-packages-in-production',
      'The image has no development packages.',
      { path: '^src/', pathNot: UNIT_TEST },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['node_modules', '^src/generated/'] },
    exclude: { path: ['^client/dist/', '^bench/peers/generated/', '^src/[^/]+/public/'] },
  },
};
