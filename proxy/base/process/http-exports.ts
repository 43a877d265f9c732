// Removes exports of `node:http` that belong to a second HTTP client. Reading them would load that client, which takes a tenth of the
// start.

/** Classes of the client behind `fetch`, which Node loads when they are read. They also exist as globals. */
const OF_FETCH = ['WebSocket', 'CloseEvent', 'MessageEvent'];

/** Call this before the first import of `node:http`, because the import reads all exports. */
export function dropExportsOfFetch(): void {
  const http = process.getBuiltinModule('node:http');
  for (const name of OF_FETCH) Object.defineProperty(http, name, { value: undefined });
}
