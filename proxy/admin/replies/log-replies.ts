// Replies of the request log: their types and schemas, for server and clients.
import { ATTEMPT, type AttemptRow, REQUEST, type RequestRow } from '../../../store/schema/logged-rows.ts';
import { ACCOUNTS_THEN, type AccountThen } from '../../mcp/accounts-then.ts';
import { flag, integer, list, nullable, object, type Schema, text } from '../../turn/json/field-schemas.ts';
import { checkOf } from '../api/reply-check.ts';
import { rowSchema } from './stored-rows.ts';

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
