// What a message says of a database's URL: host and database, without user, password and parameters.

export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
