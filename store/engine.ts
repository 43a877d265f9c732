// Which engine a store's URL names.

/** @returns the path of `sqlite:PATH`; undefined for another URL */
export const sqlitePath = (url: string): string | undefined => /^sqlite:(.+)$/s.exec(url)?.[1];

export const isPostgres = (url: string): boolean => /^postgres(?:ql)?:\/\//.test(url) && URL.canParse(url);
