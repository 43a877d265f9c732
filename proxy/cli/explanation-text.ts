// An explained turn as lines of text: its refusal, its mode, its rules, its accounts.
import type { ExplainedTurn } from '../admin/explain/explanation.ts';
import type { ChainedRule } from './route-rules.ts';

/** Nothing for a request of which only the route was asked. */
export function turnLines(turn: ExplainedTurn | undefined): readonly string[] {
  if (!turn) return [];
  const { pool, key, model, refused, mode, accounts } = turn;
  const effective = mode && (mode.effective === null ? 'not resolved' : `${mode.effective} by ${mode.source}`);
  const width = Math.max(0, ...accounts.map(({ account }) => account.length));
  return [
    `  Pool ${pool}, ${key === null ? 'any key' : `key ${key}`}, ${model === null ? 'any model' : `model ${model}`}:`,
    `    answer    ${refused ?? 'goes to an account, unless its body is refused'}`,
    ...(mode ? [`    mode      ${mode.configured} is configured: ${effective}, since ${mode.why}`] : []),
    '    accounts, and why:',
    ...accounts.map(({ account, takes, why }) => `      ${account.padEnd(width)}  ${TAKES[takes]}: ${why}`),
  ];
}

const TAKES = { first: 'yes', overflow: 'if no other can', pinned: 'only if pinned', no: 'no', unknown: 'perhaps' } as const;

/** The rules of the route; behind each what it does to this turn, where that can be said. */
export function ruleLines(rules: readonly ChainedRule[], turn: ExplainedTurn | undefined): readonly string[] {
  const names = Math.max(0, ...rules.map(({ rule }) => rule.length));
  const phases = Math.max(0, ...rules.map((one) => one.phases.join(' ').length));
  const lines = rules.map((one) => {
    const does = turn?.rules[one.rule];
    const said = one.phases.join(' ');
    return `    ${one.rule.padEnd(names)}  ${does === undefined ? said : `${said.padEnd(phases)}  ${does}`}`;
  });
  return ['  rules, in order, with the phases that each takes part in:', ...lines];
}
