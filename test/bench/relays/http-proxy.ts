// The reference: http-proxy-3 with a keep-alive agent and no rules. Its argument is the port of the upstream.
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProxyServer } from 'http-proxy-3';

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 10_000 });
const proxy = createProxyServer({ target: `http://127.0.0.1:${process.argv[2]}`, agent });
proxy.on('error', (_error, _request, response) => void response.destroy());

const server = createServer((request, response) => void proxy.web(request, response));
server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
