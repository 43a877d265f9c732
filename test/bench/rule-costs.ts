// `npm run bench -- rules`: the cost of each rule for a turn, by phase. A rule is called for a batch of turns between two readings of the
// clock, so the figures include neither a profiler nor the clock.
import { type Rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import { Chains } from '../../proxy/turn/rules/rule-chain.ts';
import type { Body, Outgoing, Work } from '../../proxy/turn/turn.ts';
import { RULES } from '../../rules/index.ts';
import { ACCOUNT, type TestTurn, turnOf } from '../support/turns/turn.ts';
import { median } from './figures/statistics.ts';
import { recordedTurn } from './recorded-turn.ts';

const BATCH = 200;
const WARM_ROUNDS = 40;
const ROUNDS = 60;

const PHASES = ['request', 'edit', 'attempt', 'end'] as const;
type Phase = (typeof PHASES)[number];

/** A turn of the batch, with the state that its rules keep. */
interface Passing {
  readonly turn: TestTurn;
  readonly work: Work;
  readonly memories: Map<Rule, unknown>;
  out: Outgoing;
}

/** The microseconds per turn of each round, by rule and phase. */
type Costs = Map<string, number[]>;

const nameOf = (rule: Rule, phase: Phase): string => `${rule.name} ${phase}`;

async function round(mode: 'full' | 'lite', text: string, costs: Costs | undefined): Promise<void> {
  const model = { id: 'model-a', mode: { configured: 'auto', effective: mode, source: 'catalog' } } as const;
  const batch = Array.from({ length: BATCH }, (): Passing => {
    const body = JSON.parse(text) as Body;
    const out = { account: ACCOUNT, api: 'agent', carrier: 'http', path: '/', headers: {}, body } as const;
    return { turn: turnOf({ model }), work: { body }, memories: new Map(), out };
  });
  const { rules } = new Chains(RULES, turnOf().wire).of('responses');
  for (const phase of PHASES) {
    if (phase === 'attempt') for (const one of batch) one.out = { ...one.out, body: { ...one.work.body } };
    for (const rule of phase === 'end' ? rules.toReversed() : rules) {
      if (!rule[phase]) continue;
      const began = performance.now();
      for (const one of batch) {
        const waits = call(rule, phase, one);
        if (waits instanceof Promise) one.memories.set(rule, await waits);
      }
      const spent = ((performance.now() - began) * 1_000) / BATCH;
      const known = costs?.get(nameOf(rule, phase));
      if (known) known.push(spent);
      else costs?.set(nameOf(rule, phase), [spent]);
    }
  }
}

function call(rule: Rule, phase: Phase, { turn, work, memories, out }: Passing): unknown {
  const memory = memories.get(rule);
  if (phase === 'request') {
    const made = rule.request?.(work, turn);
    if (!(made instanceof Promise)) memories.set(rule, made);
    return made;
  }
  if (memory === SKIP) return undefined;
  if (phase === 'edit') return rule.edit?.(work, memory, turn);
  if (phase === 'attempt') return rule.apis?.includes(out.api) === false ? undefined : rule.attempt?.(out, memory, turn);
  return rule.end?.({ kind: 'completed', shown: true }, memory, turn);
}

/** The table of a native turn of 40 KB, beginning with the most expensive rule. */
export async function ruleCosts(): Promise<string> {
  const text = recordedTurn();
  const all = new Map<'full' | 'lite', Costs>();
  for (const mode of ['full', 'lite'] as const) {
    const costs: Costs = new Map();
    for (let i = 0; i < WARM_ROUNDS + ROUNDS; i++) await round(mode, text, i < WARM_ROUNDS ? undefined : costs);
    all.set(mode, costs);
  }
  const cost = (mode: 'full' | 'lite', name: string): number => median(all.get(mode)?.get(name) ?? [0]);
  const { rules } = new Chains(RULES, turnOf().wire).of('responses');
  const names = rules.flatMap((rule) => PHASES.filter((phase) => rule[phase]).map((phase) => nameOf(rule, phase)));
  const rows = names
    .map((name) => ({ name, full: cost('full', name), lite: cost('lite', name) }))
    .sort((a, b) => b.full + b.lite - a.full - a.lite);
  const sum = { name: 'all', full: 0, lite: 0 };
  for (const { full, lite } of rows) [sum.full, sum.lite] = [sum.full + full, sum.lite + lite];
  const line = ({ name, full, lite }: typeof sum): string => {
    const [rule = '', phase = ''] = name.split(' ');
    return `| ${rule} | ${phase} | ${full.toFixed(2)} | ${lite.toFixed(2)} |`;
  };
  return ['| rule | phase | Full, µs | Lite, µs |', '| --- | --- | --- | --- |', ...[...rows, sum].map(line)].join('\n');
}
