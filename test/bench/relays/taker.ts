// A provider for uploads: it reads a body and drops it, or with the argument `stalled` reads nothing. Any other POST gets an empty
// response.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const stalled = process.argv[2] === 'stalled';
const JSON_TYPE = { 'content-type': 'application/json' };

const server = createServer((request, response) => {
  // Readers of a catalog state their version in a query.
  if (request.url?.split('?', 1)[0]?.endsWith('/models')) response.writeHead(200, JSON_TYPE).end('{"models":[{"slug":"model-a"}]}');
  else if (request.method === 'GET') response.writeHead(404).end();
  else if (request.url !== '/backend-api/transcribe') {
    request.resume();
    response.writeHead(200, JSON_TYPE).end('{"id":"resp_1","object":"response","status":"completed","output":[]}');
  } else if (!stalled) request.resume().once('end', () => response.writeHead(200, JSON_TYPE).end('{"text":""}'));
});
server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
