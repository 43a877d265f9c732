// What a refusal costs at least: Node's own server saying no. Its arguments are the status and the length of the body.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const status = Number(process.argv[2]);
const body = JSON.stringify({ error: 'x'.repeat(Math.max(0, Number(process.argv[3]) - 12)) });
const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };

const server = createServer((_request, response) => {
  response.writeHead(status, headers);
  response.end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
