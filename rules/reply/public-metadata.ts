// Filters metadata events, which repeat headers of the account. On the compatible surface only native clients on a websocket read them:
// their events keep the turn state and the headers that a public answer may have, with the exposed id of the model (Q3, Q8, Q10, Q15). Other
// clients fail on events outside the public API that have no prefix, and get none.
import { isObject, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { agentPrefix, turnStateName } from '../../proxy/turn/wire/agent-names.ts';
import { isPublicAnswerHeader, MODEL_HEADER } from '../../proxy/turn/wire/headers.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

export const publicMetadata = rule({
  name: 'public-metadata',
  routes: PUBLIC_RESPONSES,
  events: ['response.metadata'],
  event(event, _memory, turn) {
    if (!isNativeWebsocket(turn)) return null;
    const { headers } = event.data;
    if (!isObject(headers)) return event;
    const names = Object.keys(headers);
    const kept = names.filter((name) => isShown(name.toLowerCase(), turn.wire.agent));
    const id = turn.model?.id;
    const isRenamed = (name: string): boolean => id !== undefined && name.toLowerCase() === MODEL_HEADER && headers[name] !== id;
    if (kept.length === names.length && !names.some(isRenamed)) return event;
    const shown: JsonObject = Object.fromEntries(kept.map((name) => [name, isRenamed(name) ? id : headers[name]]));
    return kept.length === 0 ? null : { ...event, data: { ...event.data, headers: shown } };
  },
});

/**
 * Whether a native client is on a websocket. Such clients name their window or turn in headers of the upgrade. Over HTTP they read the
 * headers of the answer.
 */
const isNativeWebsocket = ({ route, headers, wire }: Turn): boolean =>
  route.method === 'WS' && Object.keys(headers).some((name) => name.startsWith(agentPrefix(wire.agent)));

const isShown = (name: string, agent: string): boolean => name === turnStateName(agent) || isPublicAnswerHeader(name);
