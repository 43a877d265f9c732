// The rules of a route kind, for commands that print them; loaded when asked for, since the rules bring half the gateway along.
import type { RouteKind } from '../turn/kinds.ts';

export interface ChainedRule {
  readonly rule: string;
  readonly phases: readonly string[];
}

export async function loadChains(): Promise<(kind: RouteKind | undefined) => readonly ChainedRule[]> {
  const [{ describeChain }, { RULES }] = await Promise.all([import('../turn/rule-chain.ts'), import('../../rules/index.ts')]);
  return (kind) => describeChain(RULES, kind);
}
