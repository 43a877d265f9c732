// A second provider API that exists only in the tests, with its own paths, bodies, events, refusals, quota header and list of models. It
// proves that nothing of an account's wire is outside its provider.
import type { Failure, FailureCause } from '../../../proxy/turn/errors/failure.ts';
import { asList, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Lack } from '../../../proxy/turn/provider/lack.ts';
import type { ProviderApi } from '../../../proxy/turn/provider/provider-api.ts';
import { type Emit, type EventHandler, UnreadableReply } from '../../../proxy/turn/provider/provider-replies.ts';
import { ReplyEvent } from '../../../proxy/turn/reply/reply-event.ts';
import type { Body, Headers } from '../../../proxy/turn/turn.ts';

const KINDS: ReadonlySet<string> = new Set(['responses', 'public-responses', 'chat', 'messages']);

export const talkApi: ProviderApi = {
  name: 'talk',
  lacks({ kind, body }): Lack | undefined {
    if (!KINDS.has(kind)) return { reason: 'kind' };
    const at = asList(body?.input).findIndex((item) => isObject(item) && asList(item.content).some(isImage));
    return at < 0 ? undefined : { reason: 'modality', param: `input.${at}.content` };
  },
  requests: {
    begin: () => ({ path: '/talk', headers: {} }),
    json(out, { own }) {
      const headers = { ...own, 'content-type': 'application/json', 'accept-encoding': 'identity' };
      const body = { said: textsOf(out.body), most: out.body.max_output_tokens ?? null };
      return { method: 'POST', path: `${out.path}/${String(out.body.model)}`, headers, body: Buffer.from(JSON.stringify(body)) };
    },
    passed() {
      throw new Error('no turn of this API passes unread');
    },
  },
  replies: {
    headers: () => ({ 'content-type': 'text/event-stream' }),
    decoding: () => [new JoinedHalves(), new WordEvents()],
  },
  failures: {
    ofStatus: ({ status, headers, body }) => failure(troubleIn(JSON.parse(body.toString()) as JsonObject), status, headers),
    inBand: (data) => failure(String(data.code), 200, {}),
  },
  compaction: { knownWay: () => undefined, isPathMissing: () => false },
  quota: {
    eventTypes: () => [],
    fromHeaders({ 'x-used': used }) {
      const [percent, seconds] = (used ?? '').split('/').map(Number);
      if (!percent || !seconds) return undefined;
      return { source: 'headers', windows: [{ seconds, used: percent, resetsAt: undefined }], reached: undefined };
    },
    fromEvent: () => undefined,
  },
  catalog: {
    async read(get) {
      const { status, body, bytes } = await get('/shelf');
      const shelf = isObject(body) && isObject(body.shelf) ? body.shelf : undefined;
      const entries = shelf && Object.entries(shelf).map(([slug, size]) => ({ slug, context_window: size }));
      return { status, body: entries, bytes };
    },
  },
};

const isImage = (part: Json): boolean => isObject(part) && part.type === 'input_image';

const textsOf = ({ input }: Body): readonly string[] =>
  asList(input).flatMap((item) =>
    isObject(item) ? asList(item.content).flatMap((part) => (isObject(part) ? [String(part.text)] : [])) : [],
  );

const troubleIn = ({ trouble }: JsonObject): string => String(trouble);

const CAUSES: Readonly<Record<string, FailureCause>> = { busy: 'rate', spent: 'quota', nonsense: 'request' };

function failure(trouble: string, status: number, headers: Headers): Failure {
  const wait = headers['x-wait'];
  return {
    cause: CAUSES[trouble] ?? 'server',
    status,
    error: { code: null, type: null, param: null, message: `trouble: ${trouble}` },
    retryAfterMs: wait === undefined ? undefined : Number(wait) * 1000,
    resetsAt: undefined,
    answer: undefined,
  };
}

/** Joins a `{half}` and the `{half}` after it into one `{words}`. */
class JoinedHalves implements EventHandler {
  #half: string | undefined;

  event(event: ReplyEvent, emit: Emit): void {
    if (!event.hasData) return;
    const data = event.json();
    if (!data) throw new UnreadableReply();
    if (typeof data.half !== 'string') emit(event);
    else if (this.#half === undefined) this.#half = data.half;
    else {
      emit(ReplyEvent.of({ words: [this.#half + data.half] }));
      this.#half = undefined;
    }
  }
}

/** Splits `{words}` into a delta for each word, and adds the events before the first one and after the last one. */
class WordEvents implements EventHandler {
  readonly #message: JsonObject = { type: 'message', id: 'msg_talk', role: 'assistant', status: 'in_progress', content: [] };
  readonly #response: JsonObject = { id: 'resp_talk', object: 'response', status: 'in_progress', output: [] };
  #number = 0;
  #text = '';
  #began = false;
  #usage: JsonObject = {};
  #failed = false;

  event(event: ReplyEvent, emit: Emit): void {
    const data = event.json() ?? {};
    const send = this.#sender(emit);
    if (typeof data.trouble === 'string') {
      this.#failed = true;
      send('error', { code: data.trouble, message: data.trouble });
      return;
    }
    for (const word of asList(data.words)) {
      this.#begin(send);
      const delta = this.#text === '' ? String(word) : ` ${String(word)}`;
      this.#text += delta;
      send('response.output_text.delta', { ...PLACE, delta });
    }
    if (Array.isArray(data.spent)) {
      const [input, output] = data.spent as readonly number[];
      this.#usage = { input_tokens: input ?? 0, output_tokens: output ?? 0, total_tokens: (input ?? 0) + (output ?? 0) };
    }
  }

  end(emit: Emit): void {
    if (this.#failed) return;
    const send = this.#sender(emit);
    this.#begin(send);
    const part: JsonObject = { type: 'output_text', text: this.#text, annotations: [] };
    const item: JsonObject = { ...this.#message, status: 'completed', content: [part] };
    send('response.output_text.done', { ...PLACE, text: this.#text });
    send('response.content_part.done', { ...PLACE, part });
    send('response.output_item.done', { output_index: 0, item });
    send('response.completed', { response: { ...this.#response, status: 'completed', output: [item], usage: this.#usage } });
  }

  #begin(send: (type: string, members: JsonObject) => void): void {
    if (this.#began) return;
    this.#began = true;
    send('response.created', { response: this.#response });
    send('response.in_progress', { response: this.#response });
    send('response.output_item.added', { output_index: 0, item: this.#message });
    send('response.content_part.added', { ...PLACE, part: { type: 'output_text', text: '', annotations: [] } });
  }

  #sender(emit: Emit): (type: string, members: JsonObject) => void {
    return (type, members) => emit(ReplyEvent.of({ type, sequence_number: this.#number++, ...members }));
  }
}

const PLACE: JsonObject = { item_id: 'msg_talk', output_index: 0, content_index: 0 };
