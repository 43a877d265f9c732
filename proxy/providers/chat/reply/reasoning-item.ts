// A reasoning item of a reply. It is shown as a summary if one was requested, and sealed if the account needs it back (AA50, AA22).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { newId } from '../../api-accounts/reply/new-id.ts';
import type { ItemStatus, ReplyOutput } from './reply-output.ts';

export interface ReasoningOptions {
  readonly showsSummary: boolean;
  /** Makes the capsule of the item; undefined if the account does not need it back. */
  readonly seal: ((text: string, details: readonly Json[]) => string | undefined) | undefined;
}

export class ReasoningItem {
  readonly #output: ReplyOutput;
  readonly #options: ReasoningOptions;
  readonly #id = newId('rs_pg');
  readonly #index: number;
  readonly #place: string;
  #text = '';
  /** The bytes of its text and its details. */
  #held = 0;
  readonly #details: Record<string, Json | undefined>[] = [];

  constructor(output: ReplyOutput, options: ReasoningOptions) {
    this.#output = output;
    this.#options = options;
    this.#index = output.added({ id: this.#id, type: 'reasoning', status: 'in_progress', summary: [] });
    this.#place = `"item_id":"${this.#id}","output_index":${this.#index},"summary_index":0`;
  }

  text(delta: string): void {
    this.#held += this.#output.hold(delta);
    if (this.#options.showsSummary) {
      if (this.#text === '') this.#output.write('response.reasoning_summary_part.added', `${this.#place},"part":${summaryPart('')}`);
      this.#output.write('response.reasoning_summary_text.delta', `${this.#place},"delta":${JSON.stringify(delta)}`);
    }
    this.#text += delta;
  }

  /** Adds details. The pieces of one detail come in successive chunks, and are joined. */
  details(pieces: readonly Json[]): void {
    if (!this.#options.seal) return;
    for (const piece of pieces) {
      if (!isObject(piece)) continue;
      this.#held += this.#output.keep(JSON.stringify(piece).length);
      const last = this.#details.at(-1);
      if (!last || last.type !== piece.type || last.index !== piece.index || last.id !== piece.id) this.#details.push({ ...piece });
      else for (const [name, value] of Object.entries(piece)) last[name] = joinedMember(name, last[name], value);
    }
  }

  end(status: ItemStatus): void {
    const { showsSummary, seal } = this.#options;
    const isShown = showsSummary && this.#text !== '';
    if (isShown) {
      this.#output.write('response.reasoning_summary_text.done', `${this.#place},"text":${JSON.stringify(this.#text)}`);
      this.#output.write('response.reasoning_summary_part.done', `${this.#place},"part":${summaryPart(this.#text)}`);
    }
    const capsule = seal?.(this.#text, this.#details as readonly JsonObject[]);
    const item = {
      id: this.#id,
      type: 'reasoning',
      status,
      summary: isShown ? [{ type: 'summary_text', text: this.#text }] : [],
      ...(capsule === undefined ? {} : { encrypted_content: capsule }),
    };
    this.#output.done(this.#index, item, this.#held);
  }
}

const summaryPart = (text: string): string => JSON.stringify({ type: 'summary_text', text });

const PIECES: ReadonlySet<string> = new Set(['text', 'summary', 'data', 'signature']);

const joinedMember = (name: string, before: Json | undefined, value: Json | undefined): Json | undefined =>
  PIECES.has(name) && typeof before === 'string' && typeof value === 'string' ? before + value : (value ?? before);
