// Pages of lists: the number of rows, and the cursor at which the next page begins.
import type { ListPlace } from '../../store/store.ts';
import { integer, nullable, text } from '../turn/json/field-schemas.ts';
import { ToolError } from './tool.ts';

const MOST_ROWS = 200;
const ROWS = 20;

/** The arguments of a tool that lists rows. */
export const PAGE_ARGS = {
  limit: integer(`Most rows of the answer. ${ROWS} by default.`, { minimum: 1, maximum: MOST_ROWS, default: ROWS }),
  cursor: text('The next_cursor of the previous answer, with the same other arguments: returns the page after it.', { maxLength: 200 }),
};

/** The field of an answer with the cursor of the next page. */
export const NEXT_CURSOR = { next_cursor: nullable(text('Pass it as cursor for the next page; null on the last page.')) };

export interface PageArgs {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next_cursor: string | null;
}

/** A page of rows that are all in memory, in their order. */
export function pageOf<Row>(all: readonly Row[], { limit = ROWS, cursor }: PageArgs): Page<Row> {
  const from = offsetOf(cursor);
  return { rows: all.slice(from, from + limit), next_cursor: from + limit < all.length ? encode(from + limit) : null };
}

/**
 * A page of the rows that `read` reads from an offset. It reads one more row than the page has, to find out whether another page follows.
 */
export async function pageByOffset<Row>(
  { limit = ROWS, cursor }: PageArgs,
  read: (page: { readonly offset: number; readonly limit: number }) => Promise<readonly Row[]>,
): Promise<Page<Row>> {
  const offset = offsetOf(cursor);
  const rows = await read({ offset, limit: limit + 1 });
  return { rows: rows.slice(0, limit), next_cursor: rows.length > limit ? encode(offset + limit) : null };
}

/** A page of log rows. The next page begins after the last row of this one, even if rows are added between the two. */
export async function pageOfLog<Row extends ListPlace>(
  { limit = ROWS, cursor }: PageArgs,
  read: (page: { readonly before: ListPlace | undefined; readonly limit: number }) => Promise<readonly Row[]>,
): Promise<Page<Row>> {
  const rows = await read({ before: placeOfCursor(cursor), limit: limit + 1 });
  const last = rows[limit - 1];
  return { rows: rows.slice(0, limit), next_cursor: rows.length > limit && last ? placeText(last) : null };
}

const encode = (place: unknown): string => Buffer.from(JSON.stringify(place)).toString('base64url');

function decode(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

const INVALID = 'cursor is not a next_cursor of this tool; leave it out to begin with the first page';

function offsetOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const offset = decode(cursor);
  if (typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0) throw new ToolError(INVALID);
  return offset;
}

/** The cursor of the page that follows a row of a log. */
export const placeText = ({ at, id }: ListPlace): string => encode([at, id]);

/** @throws ToolError */
export function placeOfCursor(cursor: string | undefined): ListPlace | undefined {
  if (cursor === undefined) return undefined;
  const place = decode(cursor);
  if (!Array.isArray(place) || !Number.isSafeInteger(place[0]) || typeof place[1] !== 'string') throw new ToolError(INVALID);
  return { at: place[0], id: place[1] };
}
