// A provider that speaks websocket, and answers each frame at once with the frames of a turn. Prints `ready PORT`. upstream [FRAMES]
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { modelsWithin } from '../../../proxy/rehearsal/model/sample-models.ts';
import { COMPLETED } from '../wire.ts';
import { framesOf } from './frames.ts';

const models = JSON.stringify({ models: modelsWithin() });
const answer = JSON.stringify(COMPLETED);
const frames = framesOf(Number(process.argv[2] ?? 1));

const server = createServer((request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.end(request.method === 'GET' ? models : answer);
});
const websockets = new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false });
websockets.on('connection', (socket) => socket.on('message', () => frames(socket)));
server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
