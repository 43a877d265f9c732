// The blocks of each kind of item of an account's reply (AM52).
import type { JsonObject } from '../../../turn/json/json.ts';
import type { BlockWriter } from './block-writer.ts';
import type { ItemBlocks, ItemOptions } from './item-blocks.ts';
import { MessageBlocks } from './message-blocks.ts';
import { writeSearch } from './search-blocks.ts';
import { ThinkingBlock } from './thinking-block.ts';
import { ToolUseBlock } from './tool-use-block.ts';

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
