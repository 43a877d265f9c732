// One item of an account's reply as blocks: a message's parts, reasoning, a function call, a web search (AM36, AM52 to AM55).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { type Losses, SentText } from '../../../turn/reply/sent-text.ts';
import { signatureOf } from '../signature.ts';
import { toolUseId } from '../tool-identity.ts';
import { type BlockWriter, encoded, type OpenBlock } from './block-writer.ts';
import { type LaneMemory, Lanes } from './lanes.ts';

/** How the client gets reasoning: as text, as signed blocks without text, or not (AM35). */
export type ThinkingDisplay = 'text' | 'omitted' | 'none';

export interface ItemOptions {
  readonly thinking: ThinkingDisplay;
  /** The client's name of a tool, by the name that the account has for it (AM43). */
  readonly clientName: (upstream: string) => string;
  readonly memory: LaneMemory;
  readonly losses: Losses;
}

/** Texts of an item that come in deltas. */
export type DeltaKind = 'text' | 'refusal' | 'summary' | 'reasoning' | 'arguments';

/** The blocks of an item; its events come in order, and the items of a reply one after the other. */
export interface ItemBlocks {
  /** @param part the place of the part inside the item; 0 where it has none */
  delta?(kind: DeltaKind, part: number, text: Buffer): void;
  /** @param finished the part as it is when it ends */
  partDone?(part: number, finished: JsonObject | undefined): void;
  annotation?(part: number, annotation: JsonObject): void;
  /** The item as it is when it ends: what no delta brought is written now. */
  done(item: JsonObject): void;
  /** The reply ended inside the item. */
  cut(): void;
}

/** The blocks of an item; undefined where a client gets nothing of it. @param item as it opened */
export function itemBlocks(item: JsonObject, writer: BlockWriter, options: ItemOptions): ItemBlocks | undefined {
  switch (item.type) {
    case 'message':
      return new MessageBlocks(writer, options);
    case 'reasoning':
      return options.thinking === 'none' ? undefined : new ThinkingBlock(writer, options);
    case 'function_call':
      return new ToolUseBlock(item, writer, options);
    case 'web_search_call':
      return { done: (ended) => writeSearch(ended, writer), cut: () => undefined };
    default:
      return undefined;
  }
}

/** A part of a message. */
interface TextPart {
  readonly block: OpenBlock;
  readonly sent: SentText;
  written: boolean;
  cited: boolean;
}

/** Each part is a block of its own. */
class MessageBlocks implements ItemBlocks {
  readonly #writer: BlockWriter;
  readonly #losses: Losses;
  readonly #parts: Lanes<number>;
  readonly #blocks = new Map<number, TextPart>();

  constructor(writer: BlockWriter, { memory, losses }: ItemOptions) {
    this.#writer = writer;
    this.#losses = losses;
    this.#parts = new Lanes(memory);
  }

  delta(_kind: DeltaKind, part: number, text: Buffer): void {
    if (this.#parts.isFirst(part)) this.#write(part, text);
    else {
      const kept = Buffer.from(text);
      this.#parts.write(part, kept.length, () => this.#write(part, kept));
    }
  }

  annotation(part: number, annotation: JsonObject): void {
    const citation = citationOf(annotation);
    if (citation) this.#parts.write(part, JSON.stringify(citation).length, () => this.#cite(part, citation));
  }

  partDone(part: number, finished: JsonObject | undefined): void {
    if (this.#losses() > 0) {
      // Without the text the finished item has it.
      if (!finished) return;
      this.#parts.write(part, 0, () => this.#complete(part, finished));
    }
    this.#close(part);
  }

  done(item: JsonObject): void {
    for (const [index, part] of asList(item.content).entries()) {
      if (isObject(part)) this.#parts.write(index, 0, () => this.#complete(index, part));
      this.#close(index);
    }
    this.cut();
  }

  cut(): void {
    for (const part of this.#parts.open) this.#close(part);
  }

  #close(part: number): void {
    this.#parts.write(part, 0, () => this.#of(part).block.close());
    this.#parts.finish(part);
  }

  #of(part: number): TextPart {
    let known = this.#blocks.get(part);
    if (!known) {
      known = { block: this.#writer.textBlock(), sent: new SentText(this.#losses), written: false, cited: false };
      this.#blocks.set(part, known);
    }
    return known;
  }

  #write(part: number, text: Buffer): void {
    const known = this.#of(part);
    known.written = true;
    known.sent.wrote(text);
    known.block.text('text', text);
  }

  #cite(part: number, citation: JsonObject): void {
    const known = this.#of(part);
    known.cited = true;
    known.block.delta({ type: 'citations_delta', citation });
  }

  #complete(index: number, part: JsonObject): void {
    const { block, sent, written, cited } = this.#of(index);
    const text = part.type === 'refusal' ? part.refusal : part.text;
    if (typeof text === 'string' && text !== '') {
      const missing = written ? sent.missing(text) : encoded(text);
      if (missing === 'elsewhere') block.replace('text', encoded(text));
      else if (missing) this.#write(index, missing);
    }
    if (cited) return;
    for (const annotation of asList(part.annotations).filter(isObject)) {
      const citation = citationOf(annotation);
      if (citation) this.#cite(index, citation);
    }
  }
}

function citationOf({ type, url, title }: JsonObject): JsonObject | undefined {
  if (type !== 'url_citation' || typeof url !== 'string') return undefined;
  return { type: 'web_search_result_location', url, title: title ?? null, cited_text: '', encrypted_index: '' };
}

const BLANK_LINE = encoded('\n\n');

/** The parts of a summary, joined by blank lines. A summary has precedence over raw reasoning, whatever comes after the first text. */
class ThinkingBlock implements ItemBlocks {
  readonly #writer: BlockWriter;
  readonly #display: ThinkingDisplay;
  readonly #parts: Lanes<number>;
  #kind: DeltaKind | undefined;
  #block: OpenBlock | undefined;
  readonly #written = new Set<number>();

  constructor(writer: BlockWriter, { thinking, memory }: ItemOptions) {
    this.#writer = writer;
    this.#display = thinking;
    this.#parts = new Lanes(memory);
  }

  delta(kind: DeltaKind, part: number, text: Buffer): void {
    if (this.#display === 'omitted') return;
    this.#kind ??= kind;
    if (this.#kind !== kind) return;
    if (this.#parts.isFirst(part)) this.#write(part, text);
    else {
      const kept = Buffer.from(text);
      this.#parts.write(part, kept.length, () => this.#write(part, kept));
    }
  }

  partDone(part: number): void {
    this.#parts.finish(part);
  }

  done(item: JsonObject): void {
    if (this.#display !== 'omitted') this.#complete(item);
    const { encrypted_content: ciphertext } = item;
    this.#sign(typeof ciphertext === 'string' && ciphertext !== '' ? ciphertext : undefined);
  }

  cut(): void {
    for (const part of this.#parts.open) this.#parts.finish(part);
    this.#sign(undefined);
  }

  #complete(item: JsonObject): void {
    const summary = textsIn(item.summary);
    const kind = this.#kind ?? (summary.some((text) => text !== '') ? 'summary' : 'reasoning');
    for (const [part, text] of (kind === 'summary' ? summary : textsIn(item.content)).entries()) {
      this.#parts.write(part, 0, () => {
        if (!this.#written.has(part) && text !== '') this.#write(part, encoded(text));
      });
      this.#parts.finish(part);
    }
    for (const part of this.#parts.open) this.#parts.finish(part);
  }

  #write(part: number, text: Buffer): void {
    this.#block ??= this.#writer.open({ type: 'thinking', thinking: '', signature: '' });
    if (!this.#written.has(part) && this.#written.size > 0) this.#block.text('thinking', BLANK_LINE);
    this.#written.add(part);
    this.#block.text('thinking', text);
  }

  #sign(ciphertext: string | undefined): void {
    if (!this.#block) {
      if (ciphertext === undefined) return;
      if (this.#display === 'text') {
        this.#writer.open({ type: 'redacted_thinking', data: signatureOf(ciphertext) }).close();
        return;
      }
      this.#block = this.#writer.open({ type: 'thinking', thinking: '', signature: '' });
    }
    this.#block.delta({ type: 'signature_delta', signature: ciphertext === undefined ? '' : signatureOf(ciphertext) });
    this.#block.close();
  }
}

const textsIn = (parts: Json | undefined): readonly string[] =>
  asList(parts).map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''));

const EMPTY_INPUT = encoded('{}');

class ToolUseBlock implements ItemBlocks {
  readonly #block: OpenBlock;
  readonly #sent: SentText;
  #written = false;

  constructor(item: JsonObject, writer: BlockWriter, { clientName, losses }: ItemOptions) {
    this.#sent = new SentText(losses);
    const { call_id, id, name } = item;
    this.#block = writer.open({
      type: 'tool_use',
      id: toolUseId(typeof call_id === 'string' ? call_id : String(id ?? '')),
      name: clientName(typeof name === 'string' ? name : ''),
      input: {},
      caller: { type: 'direct' },
    });
  }

  delta(_kind: DeltaKind, _part: number, text: Buffer): void {
    this.#written = true;
    this.#sent.wrote(text);
    this.#block.text('partial_json', text);
  }

  done({ arguments: given, status }: JsonObject): void {
    const cut = status === 'incomplete';
    if (typeof given === 'string' && given !== '') {
      const missing = this.#written ? this.#sent.missing(given) : encoded(given);
      if (missing === 'elsewhere') this.#block.replace('partial_json', encoded(given));
      else if (missing) this.delta('arguments', 0, missing);
    }
    if (!this.#written && !cut) this.#block.text('partial_json', EMPTY_INPUT);
    this.#block.close({ cut });
  }

  cut(): void {
    this.#block.close({ cut: true });
  }
}

/** A search with a query is two blocks: the call, and its sources as results. */
function writeSearch({ id, action }: JsonObject, writer: BlockWriter): void {
  if (!isObject(action)) return;
  const query = action.query ?? asList(action.queries)[0];
  if (typeof query !== 'string' || query === '') return;
  const use = searchUseId(typeof id === 'string' ? id : query);
  const call = writer.open({ type: 'server_tool_use', id: use, name: 'web_search', input: {} });
  call.text('partial_json', encoded(JSON.stringify({ query })));
  call.close();
  const content = asList(action.sources).flatMap((source) => (isObject(source) ? resultOf(source) : []));
  writer.open({ type: 'web_search_tool_result', tool_use_id: use, content }).close();
}

/** Of the search's own id: streams and whole messages have the same one. */
const searchUseId = (id: string): string => `srvtoolu_${id.replaceAll(/[^A-Za-z0-9_]/g, '')}`;

function resultOf({ url, title }: JsonObject): JsonObject[] {
  if (typeof url !== 'string') return [];
  return [
    {
      type: 'web_search_result',
      url,
      title: typeof title === 'string' && title !== '' ? title : url,
      encrypted_content: '',
      page_age: null,
    },
  ];
}
