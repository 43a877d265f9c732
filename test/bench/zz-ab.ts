// A/B of gateway variants: node --import tsx zz-ab.ts 'label=root,loader' ...
import { openStage } from './stage.ts';
import { writeConfig, KEY, USUAL, firstStatus, GATEWAY_ENV } from './relays/gateway.ts';
import { startNode, cpuOf, type Relay } from './relays/relay.ts';
import { startReference } from './relays/crew.ts';
import { loadJson } from './json-load.ts';
import { startLoad } from './streams.ts';
import { requestOf } from './wire.ts';
import { median, spread, shown } from './statistics.ts';
const [what = 'json', runs = '7', ...variants] = process.argv.slice(2);
const stage = await openStage(undefined);
const list: { name: string; relay: Relay }[] = [{ name: 'http-proxy-3', relay: await startReference(stage) }];
for (const v of variants) {
  const name = v.slice(0, v.indexOf('=')), spec = v.slice(v.indexOf('=') + 1);
  const [root = '/work/main', loader = 'tsx', ...env] = spec.split(',');
  const args = loader === 'tsx' ? ['--import', `${root}/node_modules/tsx/dist/esm/index.mjs`] : loader === 'none' ? [] : ['--import', loader];
  const relay = await startNode(stage, [...args, `${root}/proxy/main.ts`, 'serve', '--config', writeConfig(stage, USUAL)], { ...GATEWAY_ENV, ...Object.fromEntries(env.map((e) => e.split(':'))) });
  while ((await firstStatus(relay.port, { path: '/v1/responses', key: KEY })) !== 200) await new Promise((r) => setTimeout(r, 50));
  list.push({ name, relay });
}
const path = what.startsWith('v1') ? '/v1/responses' : '/backend-api/agent/responses';
const kind = what.replace('v1', '');
const res = new Map<string, number[]>();
const one = async (relay: Relay, seconds: number) => {
  if (kind.includes('json') || kind === '') {
    const c0 = cpuOf(relay);
    const { requests } = await loadJson(stage, { port: relay.port, request: requestOf({ path, key: KEY }), connections: 64, seconds });
    return (cpuOf(relay) - c0) / requests;
  }
  const flat = kind.includes('flat');
  const l = await startLoad(stage, { port: relay.port, requests: [requestOf({ path, key: KEY, stream: flat ? { deltas: 10000, perSecond: 0 } : { deltas: 1e6, perSecond: 50 } })], connections: flat ? 8 : 200, warmSeconds: 1, seconds });
  const c0 = cpuOf(relay);
  const r = await l.report();
  return (cpuOf(relay) - c0) / r.events;
};
for (const { relay } of list) await one(relay, 3);
for (let i = 0; i < Number(runs); i++) for (let j = 0; j < list.length; j++) { const { name, relay } = list[(i + j) % list.length]!; const v = await one(relay, 2); res.set(name, [...(res.get(name) ?? []), v]); }
const ref = res.get('http-proxy-3')!;
for (const [name, v] of res) console.log('minx', (Math.min(...v) / Math.min(...ref)).toFixed(3), name.padEnd(16), 'min', shown(Math.min(...v)), 'med', shown(median(v)), `(${spread(v)})`, 'x', median(v.map((x, i) => x / ref[i]!)).toFixed(3));
process.exit(0);
