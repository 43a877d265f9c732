// `GET /v1/files` and `GET /v1/files/{file_id}`: metadata of the Pool's files. Content and delete are refused after the check of the owner
// (D6, D8).
import type { FileRow } from '../../store/store.ts';
import { fileObject } from '../files/file-object.ts';
import type { Files } from '../files/files.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { AnswerHandler } from './answer-handler.ts';

/** The largest `limit`; the public API allows 1 to 10,000. */
const MOST_ROWS = 10_000;

const HEADERS = { 'cache-control': 'no-store' };

export function fileListAnswers(files: Files): AnswerHandler {
  return async ({ pool, query }) => {
    const asked = new URLSearchParams(query);
    const limit = limitOf(asked.get('limit'));
    const order = orderOf(asked.get('order'));
    const after = asked.get('after');
    const last = after === null ? undefined : await files.read(pool.id, after);
    if (after !== null && !last) throw new Refusal('file_not_found', { param: 'after' });
    const place = last && { at: last.created_at, id: last.id };
    const purpose = asked.get('purpose') ?? undefined;
    const rows = await files.list({ pool: pool.id, purpose, order, after: place, limit: limit + 1 });
    const data = rows.slice(0, limit).map(fileObject);
    const body = {
      object: 'list',
      data,
      has_more: rows.length > limit,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    return { status: 200, headers: HEADERS, body: JSON.stringify(body) };
  };
}

export function fileReadAnswers(files: Files): AnswerHandler {
  return async (turn) => ({ status: 200, headers: HEADERS, body: JSON.stringify(fileObject(await ownFile(turn, files))) });
}

/** Refuses the request. Like any other it has a row, with the code of the refusal (D8). */
export function fileDeniedAnswers(files: Files): AnswerHandler {
  return async (turn) => {
    await ownFile(turn, files);
    throw new Refusal('unsupported_endpoint');
  };
}

async function ownFile({ pool, params }: LiveTurn, files: Files): Promise<FileRow> {
  const row = await files.read(pool.id, params.file_id ?? '');
  if (!row) throw new Refusal('file_not_found');
  return row;
}

function limitOf(value: string | null): number {
  if (value === null) return MOST_ROWS;
  const limit = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  if (limit < 1 || limit > MOST_ROWS) {
    throw new Refusal('invalid_request', { param: 'limit', message: `\`limit\` must be a number from 1 to ${MOST_ROWS}.` });
  }
  return limit;
}

function orderOf(value: string | null): 'asc' | 'desc' {
  if (value === null || value === 'desc') return 'desc';
  if (value === 'asc') return 'asc';
  throw new Refusal('invalid_request', { param: 'order', message: '`order` must be asc or desc.' });
}
