// A node that owns every session that is forwarded to it, and answers each frame at once with the frames of a turn. Prints `ready PORT`,
// and for each line on its input the number of its turns. owner PATH SECRET FRAMES
import { createInterface } from 'node:readline';
import { type WebSocket, WebSocketServer } from 'ws';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import { HopListener } from '../../../proxy/nodes/hop-listener.ts';
import { HopSignature } from '../../../proxy/nodes/hop-signature.ts';
import type { Limits, Timeouts } from '../../../proxy/turn/settings.ts';
import { framesOf } from './frames.ts';

const [path = '', secret = '', count] = process.argv.slice(2);
const frames = framesOf(Number(count));
let turns = 0;

function turn(ws: WebSocket): void {
  turns += 1;
  frames(ws);
}

const listener = new HopListener({
  path,
  signature: new HopSignature(secret, Date.now),
  counters: new Counters(),
  limits: { header_bytes: 65_536, connections: 100_000 } as Limits,
  timeouts: { client_header_ms: 15_000 } as Timeouts,
  accept({ request, socket, head, headers }) {
    const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false });
    server.on('headers', (lines) => lines.push(...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)));
    server.handleUpgrade(request, socket, head, (ws) => ws.on('message', () => turn(ws)));
    return undefined;
  },
});
const { port } = await listener.listen('127.0.0.1', 0);
console.log(`ready ${port}`);
for await (const _ of createInterface({ input: process.stdin })) console.log(`turns ${turns}`);
