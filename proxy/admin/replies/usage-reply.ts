// The reply of GET /api/usage: its type and its schema, for server and clients.
import { integer, list, nullable, number, object, oneOf, type Schema, text, time } from '../../turn/json/field-schemas.ts';
import { checkOf } from '../api/reply-check.ts';

/** The ways to group usage. Days and hours are those of UTC. */
export const USAGE_GROUPS = ['key', 'pool', 'model', 'account', 'day', 'hour'] as const;

export type UsageBy = (typeof USAGE_GROUPS)[number];

export interface UsageSumsReply {
  readonly request_count: number;
  /** Null in sums by key, because their rows count only turns that were sent to an account. */
  readonly failed_count: number | null;
  readonly unknown_count: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number;
  /** Mean values. Null if there are none, and in sums by key. */
  readonly duration_ms: number | null;
  readonly first_event_ms: number | null;
}

export interface UsageRowReply extends UsageSumsReply {
  readonly key: string | null;
  readonly pool: string | null;
  readonly model: string | null;
  readonly account: string | null;
  /** The beginning of the day or hour. */
  readonly from: string | null;
}

export interface UsageReply {
  readonly since: string;
  readonly until: string;
  readonly total: UsageSumsReply;
  readonly rows: readonly UsageRowReply[];
  readonly next_cursor: string | null;
}

const SUMS = {
  request_count: integer('Requests; in sums by key those that were sent to an account.'),
  failed_count: nullable(integer('Requests that ended with an error; null in sums by key.')),
  unknown_count: integer('Requests of unknown usage: their tokens are in none of the sums.'),
  input_tokens: integer('Tokens of prompts.'),
  cached_input_tokens: integer('Part of input_tokens that providers had cached.'),
  output_tokens: integer('Tokens that models wrote.'),
  cost_usd: number('US dollars at the configured prices; a model without prices costs 0.'),
  duration_ms: nullable(number('Mean time of a request; null in sums by key.')),
  first_event_ms: nullable(number('Mean time to the first event of an answer; null in sums by key.')),
};

export const USAGE: Schema<UsageReply> = object({
  since: time('The first moment that counts: the beginning of an hour, in sums by key of a day.'),
  until: time('The first moment that does not count.'),
  total: object(SUMS, 'Over all rows, also those of other pages.'),
  rows: list(
    'The newest first, then by name.',
    object({
      key: nullable(text('Id of the key; null if not summed by key.')),
      pool: nullable(text('Id of the Pool; null if not summed by Pool, empty for requests without a key.')),
      model: nullable(text('Exposed model id; null if not summed by model, empty if none is known.')),
      account: nullable(text('Label of the account; null if not summed by account, empty if no account was tried.')),
      from: nullable(time('Beginning of the day or of the hour; null if not summed by either.')),
      ...SUMS,
    }),
  ),
  next_cursor: nullable(text('Pass it as cursor for the next page; null on the last page.')),
});

export const USAGE_GROUP = oneOf(USAGE_GROUPS, 'What a row is of.');

export const isUsageReply = checkOf(USAGE);
