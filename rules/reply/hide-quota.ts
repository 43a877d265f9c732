// A Pool may keep its accounts' quota to itself: native replies then lose the events that tell of it (Q8). Headers go with the head.

import type { JsonObject } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import type { Event, Turn } from '../../proxy/turn/turn.ts';
import { rule, SKIP } from '../rule.ts';
import { isQuotaHeader } from './quota-header.ts';

/** Only Pools that hide anything have their events read for it. */
export const hideQuota = rule<'hides'>({
  name: 'hide-quota',
  routes: ['responses', 'compact'],
  request: (_work, turn) => (turn.pool.hide_account_quota ? 'hides' : SKIP),
  events: ['agent.*', 'response.metadata'],
  event(event, _memory, turn) {
    return event.type === `${turn.wire.agent}.rate_limits` ? null : withoutQuotaHeaders(event, turn);
  },
});

/** Metadata events carry headers that came too late for the head. */
function withoutQuotaHeaders(event: Event, { wire }: Turn): Event {
  const { headers } = event.data;
  if (!isObject(headers)) return event;
  const names = Object.keys(headers);
  const kept = names.filter((name) => !isQuotaHeader(name.toLowerCase(), wire.agent));
  if (kept.length === names.length) return event;
  const shown: JsonObject = Object.fromEntries(kept.map((name) => [name, headers[name]]));
  return { ...event, data: { ...event.data, headers: shown } };
}
