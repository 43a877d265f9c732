// A whole JSON answer instead of a stream: the beginning and the end that its stream would have (AA32).
import { randomUUID } from 'node:crypto';
import { isText, type JsonObject } from '../../../turn/json/json.ts';

/** The type of the event that would end the stream; undefined if the JSON is not a complete response. */
export function endOfWhole({ object, output, status }: JsonObject): string | undefined {
  if (object !== 'response' && !Array.isArray(output)) return undefined;
  if (status === 'failed') return 'response.failed';
  if (status === 'incomplete') return 'response.incomplete';
  return status === undefined || status === null || status === 'completed' ? 'response.completed' : undefined;
}

/** The response in the form of the events that begin a stream. */
export const openedResponse = (response: JsonObject): JsonObject => ({
  ...response,
  id: isText(response.id) ? response.id : `resp_${randomUUID().replaceAll('-', '')}`,
  object: 'response',
  status: 'in_progress',
  output: [],
  usage: null,
});
