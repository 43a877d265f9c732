// Turns a web search of an account's reply into two blocks: the call, and its sources as results.
import { asList, isObject, type JsonObject } from '../../../turn/json/json.ts';
import { type BlockWriter, encoded } from './block-writer.ts';

/** Writes the blocks. A search without a query is left out. */
export function writeSearch({ id, action }: JsonObject, writer: BlockWriter): void {
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
