// A separate process that reserves and settles turns as fast as PostgreSQL can, and prints how many a second one of its cores serves.
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore, type Settlement } from '../../../../store/store.ts';
import { joinedAs, limitedTurn, pinRow, requestRow, usageRow } from '../../../store/samples.ts';
import { ownPostgres } from '../../../support/postgres/postgres.ts';
import { cpuOfChildren } from '../../accounting.ts';

const [seconds = '2'] = process.argv.slice(2);
const KEYS = 64;
/** More callers would wait for a connection of the store. */
const CALLERS = 12;
/** A node settles together the turns that ended since the last settlement. */
const SETTLE_EVERY_MS = 5;
const BOUNDS = { concurrent: 1e6, requests_per_minute: 1e9, tokens_per_day: 1e12, nanos_per_week: 1e15 };

const server = await ownPostgres();
const store = await openStore(await server.fresh(), { clock: Date.now });
const node = await joinedAs(store, 'a', 600_000);
let turns = 0;
let ended: Settlement[] = [];
let stopped = false;

async function caller(): Promise<void> {
  while (!stopped) {
    const n = turns++;
    const key = `key-${n % KEYS}`;
    const turn = limitedTurn({ node, key, grant: `grant-${n}`, tokens: 100, cost_nanos: 100 });
    const taken = await store.limits.take(turn, BOUNDS);
    if (taken.outcome !== 'granted') throw new Error(`a turn was ${taken.outcome}`);
    ended.push({ grant: turn.grant, key, used: usageRow({ key_id: key }), at: Date.now(), minute: true });
    store.requests.append(requestRow({ id: `r${String(n).padStart(9, '0')}`, at: Date.now() }));
    store.pins.put(pinRow({ hash: `pin-${n}` }));
  }
}

async function settle(): Promise<void> {
  while (!stopped || ended.length > 0) {
    const batch = ended;
    ended = [];
    if (batch.length > 0) await store.limits.settle(batch);
    await sleep(SETTLE_EVERY_MS);
  }
}

const work = [settle(), ...Array.from({ length: CALLERS }, caller)];
// By then the connections are open and the plans are made.
await sleep(1_000);
const before = { turns, cpu: cpuOfChildren(server.pid) };
await sleep(Number(seconds) * 1_000);
const cpu = (cpuOfChildren(server.pid) - before.cpu) / 1e6;
console.log(((turns - before.turns) / cpu).toFixed(0));
stopped = true;
await Promise.all(work);
process.exit(0);
