import type { Call } from './call.ts';
import { idOf } from './requests.ts';

const STRONG = /^"[\x21\x23-\x7e]*"$/;

/** The entity tags of all versions that were seen in one sequence. How the store makes them is its own affair. */
export const createEntityTags = () => {
  const tags = new Map<string, string>();
  const versions = new Map<string, string>();
  return {
    get: (version: string): string | undefined => tags.get(version),
    /** An entity tag of a former state of a plant. */
    earlier: (id: string, current: string | undefined): [version: string, tag: string] | undefined =>
      [...tags].findLast(([version]) => version !== current && version.startsWith(`{"id":${id},`)),
    /** Learns from an answer. @returns what is wrong with its ETag */
    learn: ({ request, answer }: Call): string | undefined => {
      const id = idOf(request);
      const tag = answer?.headers.etag;
      if (id === undefined || tag === undefined || answer?.status !== 200 || answer.text === '') return undefined;
      const version = request.kind === 'read' ? answer.text : `{"id":${id},${answer.text.slice(1)}`;
      const known = tags.get(version) ?? tag;
      if (!STRONG.test(tag)) return `The ETag ${tag} is not strong.`;
      if (known !== tag) return `The ETag of the same plant was ${known}, now it is ${tag}.`;
      // Different plants may have the same, since no request is about two.
      const other = versions.get(`${id} ${tag}`) ?? version;
      if (other !== version) return `${version} has the ETag of ${other}.`;
      tags.set(version, tag);
      versions.set(`${id} ${tag}`, version);
      return undefined;
    },
  };
};

export type EntityTags = ReturnType<typeof createEntityTags>;
