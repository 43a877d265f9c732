// Run as a separate process: the request and attempt phases on a recorded turn, grown to 40 KB, and only its JSON.
import { readFileSync } from 'node:fs';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { Chains } from '../../../proxy/turn/rules/rule-chain.ts';
import { RuleRun } from '../../../proxy/turn/rules/rule-run.ts';
import type { Body } from '../../../proxy/turn/turn.ts';
import { RULES } from '../../../rules/index.ts';
import { ACCOUNT, turnOf } from '../../support/turn.ts';
import type { RulesCost } from './rules.ts';

const BODY_BYTES = 40_000;
const BATCH = 100;

const [seconds = '1', mode = 'full'] = process.argv.slice(2);
const effective = mode === 'lite' ? 'lite' : 'full';

/** Texts are cut in recordings, and a first turn has more tools: more items of the same shapes make up for both. */
function grown(): string {
  const recorded = new URL('../../fixtures/native/full-turn.json', import.meta.url);
  const { body } = JSON.parse(readFileSync(recorded, 'utf8')) as { body: Body & { input: readonly Json[]; tools: readonly JsonObject[] } };
  const text = JSON.stringify({ ...body, input: [...body.input, ...body.input, ...body.input] });
  const filler = 'Read the file, change what is asked, and say what was done. '.repeat((BODY_BYTES - text.length) / 60);
  const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text: filler }] };
  return JSON.stringify({ ...body, model: 'model-a', input: [...body.input, message, ...body.input, ...body.input] });
}

const text = grown();
const chain = new Chains(RULES, turnOf().wire).of('responses');
const model = { id: 'model-a', mode: { configured: 'auto', effective, source: 'catalog' } } as const;
const turns = (): { turn: ReturnType<typeof turnOf>; body: Body }[] =>
  Array.from({ length: BATCH }, () => ({ turn: turnOf({ model }), body: JSON.parse(text) as Body }));

async function rules(batch: ReturnType<typeof turns>): Promise<void> {
  for (const { turn, body } of batch) {
    const run = new RuleRun(chain, turn);
    const work = { body };
    await run.request(work);
    await run.edit(work);
    run.attempt({ account: ACCOUNT, api: 'agent', carrier: 'http', path: '/', headers: {}, body: { ...work.body } });
  }
}

async function timed(work: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const spent = { rules: 0, json: 0, turns: 0 };
const start = performance.now();
const warm = start + (Number(seconds) * 1_000) / 3;
while (performance.now() - start < Number(seconds) * 1_000) {
  const batch = turns();
  const ofRules = await timed(() => rules(batch));
  const ofJson = await timed(() => {
    for (let i = 0; i < BATCH; i++) JSON.stringify(JSON.parse(text));
  });
  if (performance.now() < warm) continue;
  spent.rules += ofRules;
  spent.json += ofJson;
  spent.turns += BATCH;
}
const told: RulesCost = { rules: (spent.rules * 1_000) / spent.turns, json: (spent.json * 1_000) / spent.turns };
console.log(JSON.stringify(told));
