// A provider that speaks websocket: each frame is answered at once with one frame, the end of its turn. Prints `ready PORT`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { sampleModels } from '../../../proxy/rehearsal/sample-models.ts';
import { COMPLETED } from '../wire.ts';

const models = JSON.stringify({ models: sampleModels });
const answer = JSON.stringify(COMPLETED);
const ID = COMPLETED.id;
const completed = JSON.stringify({ type: 'response.completed', sequence_number: 0, response: COMPLETED });

const server = createServer((request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.end(request.method === 'GET' ? models : answer);
});
const websockets = new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false });
let responses = 0;
websockets.on('connection', (socket) => {
  socket.on('message', () => socket.send(completed.replace(ID, `resp_${++responses}`)));
});
server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));
