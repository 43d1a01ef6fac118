/** What an error is: the kind of a StoreError, or the name of another. */
export const nameOf = ({ name, kind = name }: Error & { kind?: string }): string => kind;
