import { readdirSync, readFileSync } from 'node:fs';
import { order } from './relays/relay.ts';
import { loadJson } from './json-load.ts';
import { KEY, startGateway } from './relays/gateway.ts';
import { openStage } from './stage.ts';
import { requestOf } from './wire.ts';

const stage = await openStage(undefined);
const g = await startGateway(stage);
const req = requestOf({ path: process.argv[2] ?? '/backend-api/agent/responses', key: KEY });
await loadJson(stage, { port: g.port, request: req, connections: 64, seconds: 4 });
if (process.argv[3]) { await order(g, { order: 'profile' }); await loadJson(stage, { port: g.port, request: req, connections: 64, seconds: 8 }); await order(g, { order: 'profiled', file: process.argv[3] }); process.exit(0); }
const snap = () =>
  Object.fromEntries(
    readdirSync(`/proc/${g.child.pid}/task`).map((t) => {
      const s = readFileSync(`/proc/${g.child.pid}/task/${t}/stat`, 'utf8');
      const f = s.slice(s.lastIndexOf(')') + 2).split(' ');
      return [t, [s.slice(s.indexOf('('), s.lastIndexOf(')') + 1), Number(f[11]), Number(f[12])]];
    }),
  );
const a = snap();
const r = await loadJson(stage, { port: g.port, request: req, connections: 64, seconds: 5 });
const b = snap();
console.log(r);
let sum = 0;
for (const t in b) {
  const u = (b[t]![1] as number) - ((a[t]?.[1] as number) ?? 0),
    s = (b[t]![2] as number) - ((a[t]?.[2] as number) ?? 0);
  sum += u + s;
  if (u + s > 0)
    console.log(
      t === String(g.child.pid) ? 'MAIN' : t,
      b[t]![0],
      'user',
      ((u * 1e4) / r.requests).toFixed(1),
      'sys',
      ((s * 1e4) / r.requests).toFixed(1),
    );
}
console.log('sum', ((sum * 1e4) / r.requests).toFixed(1));
process.exit(0);
