// Exact replies and catalog entries for scripts of the tests' upstream.
import type { ReplyFault } from '../../proxy/rehearsal/faults/fault.ts';
import { modelsWithin } from '../../proxy/rehearsal/model/sample-models.ts';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';

type Head = { readonly status?: number; readonly headers?: Readonly<Record<string, string>> };

/** A stream with exactly these events. */
export function replyEvents(events: readonly Json[], { status = 200, headers = {} }: Head = {}): ReplyFault {
  return { kind: 'reply', status, headers, body: { events } };
}

/** A JSON answer. */
export function replyJson(json: Json, { status = 200, headers = {} }: Head = {}): ReplyFault {
  return { kind: 'reply', status, headers, body: { json } };
}

/** A reply with exactly these bytes. It is SSE unless the headers say otherwise. */
export function replyBytes(bytes: string | Uint8Array, { status = 200, headers = {} }: Head = {}): ReplyFault {
  const base64 = Buffer.from(bytes).toString('base64');
  return { kind: 'reply', status, headers: { 'content-type': 'text/event-stream; charset=utf-8', ...headers }, body: { base64 } };
}

/** A complete catalog entry, with these members changed. */
export function modelEntry(changes: JsonObject & { readonly slug: string }): JsonObject {
  return { ...modelsWithin()[0], display_name: changes.slug, ...changes };
}

/** The smallest body that a strict provider takes, with these members changed. */
export function turnBody(said: string, changes: JsonObject = {}): JsonObject {
  return {
    model: 'model-a',
    stream: true,
    store: false,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: said }] }],
    reasoning: { effort: 'medium' },
    include: ['reasoning.encrypted_content'],
    ...changes,
  };
}
