// A separate process that runs the request and attempt phases on a recorded turn of 40 KB, and for comparison only parses and writes its
// JSON.
import { Chains } from '../../../../proxy/turn/rules/rule-chain.ts';
import { RuleRun } from '../../../../proxy/turn/rules/rule-run.ts';
import type { Body } from '../../../../proxy/turn/turn.ts';
import { RULES } from '../../../../rules/index.ts';
import { ACCOUNT, turnOf } from '../../../support/turns/turn.ts';
import { recordedTurn } from '../../recorded-turn.ts';
import type { RulesCost } from '../rules.ts';

const BATCH = 100;

const [seconds = '1', mode = 'full'] = process.argv.slice(2);
const effective = mode === 'lite' ? 'lite' : 'full';

const text = recordedTurn();
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
