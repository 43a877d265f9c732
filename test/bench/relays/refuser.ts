// The lowest possible cost of a refusal: the server of Node refuses every request. Its arguments are the status, the length of the body,
// and whether it reads and parses the request first.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const status = Number(process.argv[2]);
const body = JSON.stringify({ error: 'x'.repeat(Math.max(0, Number(process.argv[3]) - 12)) });
const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };

const refuse = (response: ServerResponse): void => {
  response.writeHead(status, headers);
  response.end(body);
};

const server = createServer((request, response) => {
  if (process.argv[4] !== 'parsed') return refuse(response);
  const parts: Buffer[] = [];
  request
    .on('data', (part: Buffer) => parts.push(part))
    .once('end', () => {
      JSON.parse(Buffer.concat(parts).toString('utf8'));
      refuse(response);
    });
});
server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
