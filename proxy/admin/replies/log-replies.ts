// Replies of the request log: their types and schemas for both sides.
import { ATTEMPT, type AttemptRow, REQUEST, type RequestRow } from '../../../store/schema/logged-rows.ts';
import { ACCOUNTS_THEN, type AccountThen } from '../../mcp/accounts-then.ts';
import { flag, integer, list, nullable, object, type Schema, text } from '../../turn/json/field-schemas.ts';
import { checkOf } from '../api/reply-check.ts';
import { rowSchema } from './stored-rows.ts';

/** GET /api/requests/{id}. */
export interface TurnReply {
  readonly turn: RequestRow;
  readonly attempts: readonly AttemptRow[];
  /** The accounts of its Pool, and why each was chosen or not; absent in answers of former versions. */
  readonly accounts?: readonly AccountThen[];
}

/** GET /api/requests. */
export interface RequestsReply {
  /** The gateway's clock, Unix milliseconds: with it a client asks for what has ended since. */
  readonly now: number;
  /** Newest first. */
  readonly rows: readonly RequestRow[];
  /** Whether further rows match, which the limit left off, or may match. */
  readonly more: boolean;
  /** The `cursor` of the next page; null on the last one. */
  readonly next_cursor: string | null;
  /** Present where the search took too long: of the requests that began before this time none was looked at. The next page goes on there. */
  readonly searched_from?: number;
  /** Rows of the store that cannot be written at the moment: the newest requests may be among them. Absent where all are. */
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
      'Present where the search took too long, Unix milliseconds: requests that began before this time were not looked at; the next page goes on there.',
    ),
    unwritten: integer('Rows that cannot be written at the moment: the newest requests may be among them.'),
  },
);

export const isTurnReply = checkOf(TURN);
export const isRequestsReply = checkOf(REQUESTS);
