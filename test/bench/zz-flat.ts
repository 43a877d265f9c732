import { openStage } from './stage.ts';
import { KEY } from './relays/gateway.ts';
import { relaysOf } from './relays/crew.ts';
import { startLoad } from './streams.ts';
import { requestOf } from './wire.ts';
const stage = await openStage(undefined);
for (const [name, start] of await relaysOf(stage)) {
  const relay = await start();
  for (const n of [100, 1000, 10000]) {
  const l = await startLoad(stage, { port: relay.port, requests: [requestOf({ path: '/backend-api/agent/responses', key: KEY, stream: { deltas: n, perSecond: 0 } })], connections: 8, warmSeconds: 1, seconds: 2 });
  console.log(name, n, JSON.stringify(await l.report()));
  }
}
process.exit(0);
