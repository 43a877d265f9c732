// What `node:http` exports beside HTTP/1.1: reading it loads a second HTTP client, which is a tenth of a start.

/** Classes of the client behind `fetch`, which Node loads when they are read. They are global too. */
const OF_FETCH = ['WebSocket', 'CloseEvent', 'MessageEvent'];

/** The first import of a built-in module reads all its exports. Call this before. */
export function dropExportsOfFetch(): void {
  const http = process.getBuiltinModule('node:http');
  for (const name of OF_FETCH) Object.defineProperty(http, name, { value: undefined });
}
