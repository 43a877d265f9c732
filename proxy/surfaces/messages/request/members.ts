// The members of a Messages request other than its messages, tools and thinking (section 5 of the surface's table).
import { isAbsent, isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { StopSequences } from '../stop-sequences.ts';
import { malformed, objectAt, unsupported } from './malformed.ts';
import { hasStrictForm } from './strict-form.ts';

/** Members that are refused, because the gateway cannot honour them. */
const REFUSED = ['safeguards', 'thread', 'compaction', 'container'] as const;

export function refuseUnsupported(body: JsonObject): void {
  for (const member of REFUSED) if (!isAbsent(body[member])) throw unsupported(member);
  const { mcp_servers: servers } = body;
  if (!isAbsent(servers) && !(isList(servers) && servers.length === 0)) throw unsupported('mcp_servers');
}

export function isStreamed({ stream }: JsonObject): boolean {
  if (stream !== undefined && typeof stream !== 'boolean') throw malformed('stream', 'must be a boolean');
  return stream === true;
}

export function maxTokensOf({ max_tokens: most }: JsonObject): number {
  if (typeof most !== 'number' || !Number.isInteger(most) || most < 0)
    throw malformed('max_tokens', 'must be a whole number of at least 1');
  return most;
}

/** The sampling parameters. A value of 1 is left out, because it is the default and some accounts refuse it. */
export function samplingOf({ temperature, top_p }: JsonObject): JsonObject {
  const asked = (value: Json | undefined): boolean => !isAbsent(value) && value !== 1;
  return { ...(asked(temperature) ? { temperature } : {}), ...(asked(top_p) ? { top_p } : {}) };
}

const MOST_SEQUENCES = 128;
const MOST_CHARACTERS = 8_192;

export function stopSequencesOf({ stop_sequences: given }: JsonObject): StopSequences | undefined {
  if (isAbsent(given)) return undefined;
  if (!isList(given)) throw malformed('stop_sequences', 'must be an array');
  if (given.length > MOST_SEQUENCES) throw malformed('stop_sequences', `must have at most ${MOST_SEQUENCES} sequences`);
  const sequences = given.map((sequence, i) => {
    if (typeof sequence !== 'string' || sequence.trim() === '')
      throw malformed(`stop_sequences.${i}`, 'must be a string that is not blank');
    return sequence;
  });
  if (sequences.join('').length > MOST_CHARACTERS) throw malformed('stop_sequences', `must have at most ${MOST_CHARACTERS} characters`);
  return sequences.length > 0 ? new StopSequences(sequences) : undefined;
}

export interface MessagesFormat {
  readonly format: JsonObject;
  /** The place in the client's request. */
  readonly place: string;
}

/** The JSON schema for the text of the reply (AM27). */
export function messagesFormat({ output_config: config, output_format: older }: JsonObject): MessagesFormat | undefined {
  const given = isAbsent(config) ? undefined : objectAt(config, 'output_config').format;
  if (!isAbsent(given) && !isAbsent(older)) throw malformed('output_format', 'and `output_config.format` must not both be present');
  const place = isAbsent(given) ? 'output_format' : 'output_config.format';
  const value = isAbsent(given) ? older : given;
  if (isAbsent(value)) return undefined;
  const { type, schema } = objectAt(value, place);
  if (type !== 'json_schema') throw malformed(`${place}.type`, 'must be json_schema');
  if (!isObject(schema)) throw malformed(`${place}.schema`, 'must be an object');
  return { format: { type, name: 'response', schema, strict: hasStrictForm(schema) }, place };
}
