const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/**
 * The target of a request as a path with its query. A client may send all of the URL (RFC 9112 §3.2.2).
 * @returns undefined for what is neither
 */
export const toOriginForm = (target: string): string | undefined => {
  if (target.startsWith('/') || target === '*') return target;
  const [authority] = ABSOLUTE_FORM.exec(target) ?? [];
  if (authority === undefined || URL.parse(target) === null) return undefined;
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
};
