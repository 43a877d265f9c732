// The chunks of one Chat stream as SSE. What they have in common is encoded once (D4, Q24).
import type { ErrorBody } from '../../turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../turn/json/json.ts';
import { CALLS, type CallType, type CompletionName, type FinishReason } from './chat-completion.ts';

/** A chunk before and after the text of its delta. The text is inserted in the form that JSON has between the quotes. */
export interface DeltaChunk {
  readonly before: Buffer;
  readonly after: Buffer;
}

export class ChatChunks {
  readonly #head: string;
  /** The end of every chunk. If the last chunk has the usage, the member is null in all others. */
  readonly #tail: string;
  #content: DeltaChunk | undefined;
  #refusal: DeltaChunk | undefined;

  constructor({ id, created, model }: CompletionName, { includeUsage }: { readonly includeUsage: boolean }) {
    const name = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.#head = `data: ${name.slice(0, -1)},"choices":[`;
    this.#tail = `]${includeUsage ? ',"usage":null' : ''}}\n\n`;
  }

  get content(): DeltaChunk {
    this.#content ??= this.#around('{"content":"', '"}');
    return this.#content;
  }

  get refusal(): DeltaChunk {
    this.#refusal ??= this.#around('{"refusal":"', '"}');
    return this.#refusal;
  }

  /** A delta of the arguments or the input of a call. */
  callDelta(index: number, type: CallType): DeltaChunk {
    const { type: wrapper, member } = CALLS[type];
    return this.#around(`{"tool_calls":[{"index":${index},"${wrapper}":{"${member}":"`, '"}}]}');
  }

  role(content: '' | null): string {
    return this.#choice(JSON.stringify({ role: 'assistant', content, refusal: null }));
  }

  annotations(annotations: readonly JsonObject[]): string {
    return this.#choice(JSON.stringify({ annotations }));
  }

  /** The first chunk of a call: its id, type and name. */
  call(index: number, type: CallType, id: Json | undefined, name: Json | undefined): string {
    const { type: wrapper, member } = CALLS[type];
    return this.#choice(JSON.stringify({ tool_calls: [{ index, id, type: wrapper, [wrapper]: { name, [member]: '' } }] }));
  }

  /** @param stated what the provider stated about the whole completion */
  final(reason: FinishReason, stated: JsonObject): string {
    return withMembers(this.#choice('{}', `"${reason}"`), stated);
  }

  usage(usage: JsonObject | null, stated: JsonObject): string {
    return withMembers(`${this.#head}]}\n\n`, { usage, ...stated });
  }

  error(error: Json | ErrorBody): string {
    return `data: ${JSON.stringify({ error })}\n\n`;
  }

  #choice(delta: string, reason = 'null'): string {
    return `${this.#head}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}${this.#tail}`;
  }

  #around(before: string, after: string): DeltaChunk {
    const [head = '', tail = ''] = this.#choice(`${before}${HERE}${after}`).split(HERE);
    return { before: Buffer.from(head), after: Buffer.from(tail) };
  }
}

/** A mark that no JSON text contains unescaped. */
const HERE = '\0';

const END = '}\n\n';

function withMembers(chunk: string, members: JsonObject): string {
  const more = JSON.stringify(members).slice(1, -1);
  return more === '' ? chunk : `${chunk.slice(0, -END.length)},${more}${END}`;
}
