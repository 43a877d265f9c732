// The lowest possible cost of a websocket relay: both sides use ws, each frame is passed on, and there are no rules. Its argument is the
// port of the upstream.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

const server = createServer();
const clients = new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false });

clients.on('connection', (client, { url = '' }) => {
  const upstream = new WebSocket(`ws://127.0.0.1:${process.argv[2]}${url}`, { perMessageDeflate: false });
  const early: Buffer[] = [];
  client.on('message', (data: Buffer) => {
    if (upstream.readyState === WebSocket.OPEN) upstream.send(data, { binary: false });
    else early.push(data);
  });
  upstream.on('open', () => {
    for (const data of early.splice(0)) upstream.send(data, { binary: false });
  });
  upstream.on('message', (data: Buffer) => client.send(data, { binary: false }));
  client.on('close', () => upstream.terminate());
  upstream.on('close', () => client.terminate());
  client.on('error', () => undefined);
  upstream.on('error', () => undefined);
});

server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
