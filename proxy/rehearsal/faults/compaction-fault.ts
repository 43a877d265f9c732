// Breaks the compaction of an answer: the answer then has none, two, or one without a usable ciphertext.
import { asList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { CompactionFault } from './fault.ts';

const isCompaction = (item: Json | undefined): item is JsonObject => isObject(item) && item.type === 'compaction';

/** Breaks the compaction in the events of a turn, and in the response of its terminal event. */
export const withBrokenItems = (events: readonly Json[], { is }: CompactionFault): readonly Json[] =>
  renumbered(events.flatMap((event) => (isObject(event) ? brokenEvents(event, is) : [event])));

/** Numbers the events again. Events before `response.created` have no number. */
function renumbered(events: readonly Json[]): readonly Json[] {
  let next = 0;
  return events.map((event) => (isObject(event) && 'sequence_number' in event ? { ...event, sequence_number: next++ } : event));
}

function brokenEvents(event: JsonObject, is: CompactionFault['is']): readonly Json[] {
  const { item, response } = event;
  if (isCompaction(item)) return brokenItems(item, is).map((broken, i) => ({ ...event, output_index: i, item: broken }));
  return [isObject(response) ? { ...event, response: withBrokenOutput(response, { is }) } : event];
}

export const withBrokenOutput = (response: JsonObject, { is }: Pick<CompactionFault, 'is'>): JsonObject => ({
  ...response,
  output: asList(response.output).flatMap((item): readonly Json[] => (isCompaction(item) ? brokenItems(item, is) : [item])),
});

function brokenItems(item: JsonObject, is: CompactionFault['is']): readonly JsonObject[] {
  const { encrypted_content: _, ...unsealed } = item;
  switch (is) {
    case 'missing':
      return [];
    case 'twice':
      return [item, item];
    case 'blank':
      return [{ ...item, encrypted_content: ' ' }];
    case 'unsealed':
      return [unsealed];
  }
}
