// Metadata events repeat headers of the account. Public streams keep only those that a public answer may have, and the turn state
// (Q3, Q8, Q10).

import { isPublicAnswerHeader } from '../../proxy/turn/headers.ts';
import type { JsonObject } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import { rule } from '../../proxy/turn/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

/** Native clients use this surface too, and send the turn state back. */
export const publicMetadata = rule({
  name: 'public-metadata',
  routes: PUBLIC_RESPONSES,
  events: ['response.metadata'],
  event(event, _memory, { wire }) {
    const { headers } = event.data;
    if (!isObject(headers)) return event;
    const names = Object.keys(headers);
    const kept = names.filter((name) => isShown(name.toLowerCase(), wire.agent));
    if (kept.length === names.length) return event;
    const shown: JsonObject = Object.fromEntries(kept.map((name) => [name, headers[name]]));
    return kept.length === 0 ? null : { ...event, data: { ...event.data, headers: shown } };
  },
});

const isShown = (name: string, agent: string): boolean => name === `x-${agent}-turn-state` || isPublicAnswerHeader(name);
