/** What a connection to PostgreSQL is for. */
export type ConnectionPurpose = 'requests' | 'bulk';

// The best plan of a search depends on its pattern, so PostgreSQL must not reuse the plan of a named statement.
const PLAN = 'plan_cache_mode=force_custom_plan';

/**
 * New names wait in a list, and whoever makes it longer than `gin_pending_list_limit`, in kB, merges it into the search
 * index, which takes seconds in a large table. See docs/decisions/0038.
 */
const SETTINGS: Record<ConnectionPurpose, readonly string[]> = {
  // Rarely reached: src/plants/search-index.ts merges the list in the background.
  requests: [PLAN, 'gin_pending_list_limit=65536'],
  // Imports merge the list themselves, with enough memory (kB) to do so in one pass.
  bulk: [PLAN, 'gin_pending_list_limit=32768', 'work_mem=131072'],
};

/** Adds the settings of this service's connections to the options of DATABASE_URL. */
export const withSettings = (url: string, purpose: ConnectionPurpose): string => {
  const result = new URL(url);
  const own = result.searchParams.get('options') ?? '';
  const settings = SETTINGS[purpose].map((setting) => `-c ${setting}`);
  result.searchParams.set('options', [own, ...settings].join(' ').trim());
  return result.href;
};
