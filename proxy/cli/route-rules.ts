// The rules, for commands that print them; loaded on demand, since most commands do not need them.
import type { Rule } from '../../rules/rule.ts';
import type { RouteKind } from '../turn/kinds.ts';

export interface ChainedRule {
  readonly rule: string;
  readonly phases: readonly string[];
}

export async function loadChains(): Promise<(kind: RouteKind | undefined) => readonly ChainedRule[]> {
  const [{ describeChain }, rules] = await Promise.all([import('../turn/rule-chain.ts'), loadRules()]);
  return (kind) => describeChain(rules, kind);
}

export const loadRules = async (): Promise<readonly Rule[]> => (await import('../../rules/index.ts')).RULES;
