// Removes the members of translated turns that agent backends do not know, because they refuse every unknown member by name (RB8, Q35).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { COMPATIBLE_TURNS, TRANSLATED_IMAGES } from '../route-groups.ts';

/** The members that the backend's own clients send. */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'instructions',
  'input',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'store',
  'stream',
  'include',
  'service_tier',
  'prompt_cache_key',
  'text',
  'client_metadata',
  'stream_options',
  'prompt_cache_options',
  'access_programs',
]);

/** Members that only a frame has. Responses are not stored, so an anchor is valid only on its own websocket (RB11). */
const KNOWN_IN_FRAMES: ReadonlySet<string> = new Set(['type', 'previous_response_id', 'generate']);

/** `keep_fields` of the account adds to the list. Native turns keep all members of their clients. */
export const knownFields = rule({
  name: 'known-fields',
  routes: [...COMPATIBLE_TURNS, ...TRANSLATED_IMAGES],
  apis: ['agent'],
  attempt({ account, carrier, body }) {
    for (const name in body) {
      const known = KNOWN.has(name) || (carrier === 'websocket' && KNOWN_IN_FRAMES.has(name));
      // Not deleted, because V8 then handles the whole body more slowly.
      if (!known && !account.keep_fields.includes(name)) body[name] = undefined;
    }
  },
  explain({ accounts }) {
    const kept = accounts.flatMap(({ id, keep_fields }) => (keep_fields.length > 0 ? [`; to ${id} also ${keep_fields.join(', ')}`] : []));
    return `sends the members that agent backends know${kept.join('')}`;
  },
});
