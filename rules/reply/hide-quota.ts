// Removes quota from native replies if the Pool hides it (Q8): events here, headers of the reply if its head is made.
import { isObject, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Event, Turn } from '../../proxy/turn/turn.ts';
import { isQuotaHeader } from '../../proxy/turn/wire/headers.ts';
import { NATIVE_IMAGES, NATIVE_TURNS } from '../route-groups.ts';

export const hideQuota = rule({
  name: 'hide-quota',
  routes: [...NATIVE_TURNS, ...NATIVE_IMAGES],
  request: (_work, turn) => (turn.pool.hide_account_quota ? undefined : SKIP),
  events: ['agent.*', 'response.metadata'],
  event(event, _memory, turn) {
    return event.type === `${turn.wire.agent}.rate_limits` ? null : withoutQuotaHeaders(event, turn);
  },
});

/** Metadata events carry headers that came after the reply's head. */
function withoutQuotaHeaders(event: Event, { wire }: Turn): Event {
  const { headers } = event.data;
  if (!isObject(headers)) return event;
  const names = Object.keys(headers);
  const kept = names.filter((name) => !isQuotaHeader(name.toLowerCase(), wire.agent));
  if (kept.length === names.length) return event;
  const shown: JsonObject = Object.fromEntries(kept.map((name) => [name, headers[name]]));
  return { ...event, data: { ...event.data, headers: shown } };
}
