// A separate process with a gateway behind a network that counts; it prints the round trips of a turn with and without limits.
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway } from '../../../support/gateway.ts';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { Link } from '../../../support/postgres/postgres-link.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import type { Trips } from './postgres.ts';

const [runs = '3'] = process.argv.slice(2);
const TURNS = 100;
/** The time of two renewals of the node's lease and a poll of changes. */
const UPKEEP_MS = 11_000;
const BATCH = /^(?:BEGIN|COMMIT|INSERT|UPDATE|DELETE)\b/;
const FREE_KEY = 'pg-key-without-limits';

const database = await freshDatabase();
const link = await Link.open(database);
await using gate = await startGateway({
  store: link.url(database),
  upstream: { accounts: ['north'], strict: false },
  config: (draft) => {
    draft.keys[0].limits = { requests_per_minute: 1e6, tokens_per_day: 1e9, usd_per_week: 1e6, concurrent: 100 };
    draft.keys.push({ id: 'free', pool: 'team', secret_sha256: [hash('sha256', FREE_KEY, 'hex')] });
  },
});

// The round trips that a node makes without turns are measured first, and subtracted.
await sleep(UPKEEP_MS);
const upkeep = new Set(link.statements.keys());

/** The round trips so far, without transactions and rows of pins, because batches do not belong to a turn. */
function trips(): number {
  const asked = [...link.statements].filter(([statement]) => !BATCH.test(statement) && !upkeep.has(statement));
  return asked.reduce((sum, [, times]) => sum + times, 0);
}

/** Measures the round trips of a turn in one run. */
async function run(key: string | undefined): Promise<number> {
  const headers = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  const before = trips();
  for (let i = 0; i < TURNS; i++) {
    const { status } = await gate.send('/backend-api/agent/responses', { body: turnBody('hi'), ...headers });
    if (status !== 200) throw new Error(`a turn was answered with ${status}`);
  }
  return (trips() - before) / TURNS;
}

for (const key of [undefined, FREE_KEY]) await run(key);
const told = { limited: [] as number[], free: [] as number[] };
for (let i = 0; i < Number(runs); i++) {
  told.limited.push(await run(undefined));
  told.free.push(await run(FREE_KEY));
}
console.log(JSON.stringify(told satisfies Trips));
process.exit(0);
