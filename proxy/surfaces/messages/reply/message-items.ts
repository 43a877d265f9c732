// The blocks of each kind of item of an account's reply (AM52).
import { asList, isObject, type JsonObject } from '../../../turn/json/json.ts';
import { jsonText } from '../../../turn/reply/event-bytes.ts';
import { SentText } from '../../../turn/reply/sent-text.ts';
import { toolUseId } from '../tool-identity.ts';
import type { BlockWriter, OpenBlock } from './block-writer.ts';
import type { DeltaKind, ItemBlocks, ItemOptions } from './item-blocks.ts';
import { MessageBlocks } from './message-blocks.ts';
import { ThinkingBlock } from './thinking-block.ts';

/** The blocks of an item; undefined if the client gets nothing of it. @param item the item when it was opened */
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

/** Writes the two blocks of a web search: the call, and its sources as results. A search without a query is left out. */
function writeSearch({ id, action }: JsonObject, writer: BlockWriter): void {
  if (!isObject(action)) return;
  const query = action.query ?? asList(action.queries)[0];
  if (typeof query !== 'string' || query === '') return;
  const use = searchUseId(typeof id === 'string' ? id : query);
  const call = writer.open({ type: 'server_tool_use', id: use, name: 'web_search', input: {} });
  call.text('partial_json', jsonText(JSON.stringify({ query })));
  call.close();
  const content = asList(action.sources).flatMap((source) => (isObject(source) ? resultOf(source) : []));
  writer.open({ type: 'web_search_tool_result', tool_use_id: use, content }).close();
}

/** The id of the call. It is derived from the search's own id, so that streams and whole messages have the same one. */
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

const EMPTY_INPUT = jsonText('{}');

/** Turns a function call of an account's reply into a tool_use block (AM55). */
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
      const missing = this.#written ? this.#sent.missing(given) : jsonText(given);
      if (missing === 'elsewhere') this.#block.replace('partial_json', jsonText(given));
      else if (missing) this.delta('arguments', 0, missing);
    }
    if (!this.#written && !cut) this.#block.text('partial_json', EMPTY_INPUT);
    this.#block.close({ cut });
  }

  cut(): void {
    this.#block.close({ cut: true });
  }
}
