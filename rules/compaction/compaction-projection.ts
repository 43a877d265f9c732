// Sends a compaction to an account as a request to its compact path, or as a turn that ends in a trigger (Q27).
import { surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { COMPACTION_TRIGGER, isTrigger } from '../../proxy/turn/trigger-item.ts';
import type { Body, Outgoing } from '../../proxy/turn/turn.ts';
import { explainPerAccount } from '../helpers/explain.ts';
import { inputItems } from '../helpers/user-message.ts';
import { COMPACTIONS } from '../route-groups.ts';

/** The end of the compact path. Without it the path is that of ordinary turns. */
const SUFFIX = '/compact';

/**
 * The members of a public turn that the compact path accepts. Bodies of native clients are written for this path, so all their members
 * pass (Q15).
 */
const COMPACT_MEMBERS: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'service_tier',
  'prompt_cache_key',
  'metadata',
  'client_metadata',
]);

const EXPLAINED = {
  auto: 'its compact path, or a turn that ends in a compaction_trigger where it has none',
  route: 'its compact path',
  trigger: 'a turn that ends in a compaction_trigger',
  summary: 'a turn that asks for a summary',
  none: 'none',
} as const;

/**
 * Runs after the Lite rewrite (F2.15). A websocket has no paths, so a compaction on it always is a turn that ends in a trigger,
 * whatever the account's `compact` is.
 */
export const compactionProjection = rule({
  name: 'compaction-projection',
  routes: COMPACTIONS,
  apis: ['agent'],
  attempt(out, _memory, turn) {
    const responses = out.path.endsWith(SUFFIX) ? out.path.slice(0, -SUFFIX.length) : out.path;
    if (out.carrier === 'websocket' || out.account.compact === 'trigger') {
      out.path = responses;
      makeTurn(out);
    } else {
      out.path = responses + SUFFIX;
      if (surfaceOf(turn.route.kind) === 'public') keepCompactMembers(out.body);
    }
  },
  explain: (facts) => explainPerAccount(facts, ({ compact }) => EXPLAINED[compact]),
});

/** Makes an ordinary turn without the members that F1.4 adds to ordinary turns. */
function makeTurn({ body, headers }: Outgoing): void {
  const items = inputItems(body.input);
  body.input = isTrigger(items.at(-1)) ? items : [...items, COMPACTION_TRIGGER];
  body.stream = true;
  body.store = false;
  headers.accept = 'text/event-stream';
}

function keepCompactMembers(body: Body): void {
  for (const member of Object.keys(body)) if (!COMPACT_MEMBERS.has(member)) delete body[member];
}
