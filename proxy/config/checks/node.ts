// Checks the section of this node. An internal listener is useful only with other nodes, and needs a secret (Q34).
import type { Problem } from '../schema/finding.ts';
import { meet } from './addresses.ts';
import { isMapping, mapping } from './config-rows.ts';

/** The settings for communication with other nodes. */
const OF_SEVERAL = ['listen', 'address', 'secret'] as const;

export function* checkNode(data: unknown): Generator<Problem> {
  const { node, store, listen, admin, metrics } = mapping(data);
  if (!isMapping(node)) return;
  const given = OF_SEVERAL.filter((name) => node[name] !== undefined);
  if (!isMapping(store)) {
    const message = 'several nodes need a PostgreSQL store; with SQLite there is one node, and it has only an id';
    yield* given.map((name): Problem => ({ path: ['node', name], at: 'key', message }));
    return;
  }
  if (node.listen === undefined) {
    const message = 'this has no effect without node.listen';
    yield* given.map((name): Problem => ({ path: ['node', name], at: 'key', message }));
    return;
  }
  if (node.secret === undefined) yield { path: ['node'], at: 'first-key', message: "'secret' is missing; the internal listener needs it" };
  const own = mapping(node.listen);
  for (const [name, other] of Object.entries({ listen: mapping(listen), admin: mapping(admin), metrics: mapping(metrics) })) {
    if (meet(own, other)) yield { path: ['node', 'listen', 'port'], message: `this port is used by ${name}` };
  }
}
