// Sends one metadata event in each turn on the backend websocket, with the authoritative models ETag (EV1, Q14).
import { isObject, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Event, Head, Turn } from '../../proxy/turn/turn.ts';
import { turnStateName } from '../../proxy/turn/wire/agent-names.ts';
import { NATIVE_TURNS } from '../route-groups.ts';

/** The tag of model lists, and the model that replaced the requested one (AA77). */
const OWN = ['x-models-etag', 'x-poolgate-model'];

interface Metadata {
  /** Headers of the gateway's own; set at commit. */
  own: JsonObject;
  sent: boolean;
  /** Whether the account answers over HTTP. */
  overHttp: boolean;
}

/**
 * The account's own event is absorbed and its other headers kept. Further ones are dropped. A refused turn gets no event from the gateway.
 */
export const turnMetadata = rule<Metadata>({
  name: 'turn-metadata',
  routes: NATIVE_TURNS,
  request: (_work, turn) => (turn.client === 'websocket' ? { own: {}, sent: false, overHttp: false } : SKIP),
  attempt(out, memory) {
    memory.overHttp = out.carrier === 'http';
  },
  head(head, memory, turn) {
    memory.own = ownHeaders(head, turn, memory);
    const type = `${turn.wire.agent}.response.metadata`;
    if (head.held?.has(type) || head.refuses) return undefined;
    memory.sent = true;
    return [{ type, data: { type, headers: memory.own } }];
  },
  events: ['agent.response.metadata'],
  event: (event, memory) => (memory.sent ? null : absorbed(event, memory)),
});

/**
 * The headers of the gateway's own, and the turn state of an account that answers over HTTP: there it is a header, which a frame cannot
 * have.
 */
function ownHeaders({ headers }: Head, { wire }: Turn, { overHttp }: Metadata): JsonObject {
  const own: Record<string, string> = {};
  for (const name of overHttp ? [...OWN, turnStateName(wire.agent)] : OWN) {
    const value = headers[name];
    if (value !== undefined) own[name] = value;
  }
  return own;
}

function absorbed({ type, data }: Event, memory: Metadata): Event {
  memory.sent = true;
  const { headers } = data;
  const kept = Object.entries(isObject(headers) ? headers : {}).filter(([name]) => !Object.hasOwn(memory.own, name.toLowerCase()));
  return { type, data: { ...data, headers: { ...Object.fromEntries(kept), ...memory.own } } };
}
