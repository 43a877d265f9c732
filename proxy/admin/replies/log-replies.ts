// Replies of the request log: their types and schemas, for server and clients.
import type { Described, DescribedRow, Description } from '../../../store/schema/described-fields.ts';
import { ATTEMPT, type AttemptRow, REQUEST, type RequestRow } from '../../../store/schema/logged-rows.ts';
import { ACCOUNTS_THEN, type AccountThen } from '../../mcp/accounts-then.ts';
import { counts, flag, integer, list, nullable, object, oneOf, type Schema, text } from '../../turn/json/field-schemas.ts';
import { checkOf } from '../api/reply-check.ts';

/** The JSON Schema of a stored row as the API returns it: all fields, with times in Unix milliseconds. */
const rowSchema = <Fields extends Description>(fields: Fields): Schema<DescribedRow<Fields>> =>
  object(schemasOf(fields)) as Schema<unknown> as Schema<DescribedRow<Fields>>;

const schemasOf = (fields: Description): Readonly<Record<string, Schema<unknown>>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]));

function schemaOf(field: Described): Schema<unknown> {
  const schema = schemaOfValue(field);
  return field.isNullable ? nullable(schema) : schema;
}

function schemaOfValue({ type, meaning, isTime, oneOf: words, members, optional = [] }: Described): Schema<unknown> {
  if (type === 'integer') return integer(isTime ? `${meaning} Unix milliseconds.` : meaning);
  if (type === 'boolean') return flag(meaning);
  if (type === 'text') return words ? oneOf(words, meaning) : text(meaning);
  if (!members) return counts(meaning);
  const of = (isOptional: boolean): Description =>
    Object.fromEntries(Object.entries(members).filter(([name]) => optional.includes(name) === isOptional));
  return object(schemasOf(of(false)), meaning, schemasOf(of(true)));
}

/** The reply of GET /api/requests/{id}. */
export interface TurnReply {
  readonly turn: RequestRow;
  readonly attempts: readonly AttemptRow[];
  /** The accounts of the Pool, with the reason why each was chosen or not. Absent in answers of earlier versions. */
  readonly accounts?: readonly AccountThen[];
}

/** The reply of GET /api/requests. */
export interface RequestsReply {
  /** The gateway's clock in Unix milliseconds. A client uses it to ask for requests that have ended since. */
  readonly now: number;
  /** The rows, newest first. */
  readonly rows: readonly RequestRow[];
  /** Whether further rows match, or may match, that the limit left out. */
  readonly more: boolean;
  /** The `cursor` for the next page; null on the last page. */
  readonly next_cursor: string | null;
  /** Present if the search took too long. Requests that began before this time were not searched. The next page continues there. */
  readonly searched_from?: number;
  /** The number of rows that cannot be written at the moment, which may include the newest requests. Absent if there are none. */
  readonly unwritten?: number;
}

const REQUEST_ROW = rowSchema(REQUEST);

export const TURN: Schema<TurnReply> = object(
  {
    turn: REQUEST_ROW,
    attempts: list('In order.', rowSchema(ATTEMPT)),
  },
  undefined,
  { accounts: ACCOUNTS_THEN },
);

export const REQUESTS: Schema<RequestsReply> = object(
  {
    now: integer("The gateway's clock, Unix milliseconds."),
    rows: list('Newest first.', REQUEST_ROW),
    more: flag('Whether further rows match, or may match.'),
    next_cursor: nullable(text('Pass it as cursor for the next page; null on the last page.')),
  },
  undefined,
  {
    searched_from: integer(
      'Present if the search took too long, Unix milliseconds: requests that began before this time were not searched; the next page continues there.',
    ),
    unwritten: integer('Rows that cannot be written at the moment: the newest requests may be among them.'),
  },
);

export const isTurnReply = checkOf(TURN);
export const isRequestsReply = checkOf(REQUESTS);
