import { PgoutputPlugin } from 'pg-logical-replication';

/**
 * @param table the object id of plants, since others may share its publication; the package reads it as a signed number
 * @returns a function that turns a message of pgoutput into lines (docs/how-to/follow-changes.md), often none. Values are in binary,
 *   because the package removes a byte order mark from the beginning of a text.
 */
export const createChangeLines = (table: number): ((bytes: Buffer) => string) => {
  const plugin = new PgoutputPlugin({ protoVersion: 1, publicationNames: [] });
  let transaction = '';
  const line = (change: string, { id, name, tag }: Record<string, Buffer | null | undefined> = {}): string => {
    // Undefined: PostgreSQL does not log a large value that did not change.
    const named = name ? `"name":${JSON.stringify(name.toString())},` : '';
    const tagged = tag === undefined ? '' : `"tag":${tag && JSON.stringify(tag.toString())},`;
    return `{"change":"${change}",${id ? `"id":${id.readBigInt64BE()},` : ''}${named}${tagged}${transaction}}\n`;
  };
  return (bytes) => {
    const message = plugin.parse(bytes);
    if (message.tag === 'begin')
      transaction = `"committedAt":${JSON.stringify(new Date(Number(message.commitTime) / 1000))},"position":"${message.commitLsn?.replace(/\b0+\B/g, '')}"`;
    const relations = 'relations' in message ? message.relations : 'relation' in message ? [message.relation] : [];
    if (!relations.some(({ relationOid }) => relationOid >>> 0 === table)) return '';
    if (message.tag === 'truncate') return line('emptied');
    if (message.tag === 'insert') return line('created', message.new);
    if (message.tag !== 'update' && message.tag !== 'delete') return '';
    // The key is that of an id that changed; the old plant comes with REPLICA IDENTITY FULL.
    const [id, plant] = [(message.key ?? message.old)?.id, 'new' in message ? message.new : undefined];
    if (plant && (!id || id.equals(plant.id))) return line('updated', plant);
    return line('deleted', { id }) + (plant ? line('created', plant) : '');
  };
};
