// Turns a function call of an account's reply into a tool_use block (AM55).
import type { JsonObject } from '../../../turn/json/json.ts';
import { SentText } from '../../../turn/reply/sent-text.ts';
import { toolUseId } from '../tool-identity.ts';
import { type BlockWriter, encoded, type OpenBlock } from './block-writer.ts';
import type { DeltaKind, ItemBlocks, ItemOptions } from './item-blocks.ts';

const EMPTY_INPUT = encoded('{}');

export class ToolUseBlock implements ItemBlocks {
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
