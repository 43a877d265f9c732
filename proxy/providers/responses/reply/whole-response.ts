// A whole JSON answer in the place of a stream: how its stream would have begun and ended (AA32).
import { randomUUID } from 'node:crypto';
import { isText, type JsonObject } from '../../../turn/json/json.ts';

/** The type of the event that would have ended its stream; undefined for JSON that is no complete response. */
export function endOfWhole({ object, output, status }: JsonObject): string | undefined {
  if (object !== 'response' && !Array.isArray(output)) return undefined;
  if (status === 'failed') return 'response.failed';
  if (status === 'incomplete') return 'response.incomplete';
  return status === undefined || status === null || status === 'completed' ? 'response.completed' : undefined;
}

/** The response as the events that begin its stream have it. */
export const openedResponse = (response: JsonObject): JsonObject => ({
  ...response,
  id: isText(response.id) ? response.id : `resp_${randomUUID().replaceAll('-', '')}`,
  object: 'response',
  status: 'in_progress',
  output: [],
  usage: null,
});
