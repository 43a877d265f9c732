// The two model lists, answered from catalog state; no upstream request is ever made for them (ML3, D1, A1).
import type { Answer, Handler } from '../clients/http/http-turn.ts';
import type { Listing } from '../models/listings.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import type { LiveTurn } from '../turn/live-turn.ts';

/** Native clients give a list 5 s, and take an empty one for the truth. */
const FIRST_ROUND_MS = 4_000;

/** `GET /backend-api/agent/models` and its alias: with the ETag that native turns repeat (Q14). */
export function catalogAnswers(models: ModelDirectory, ready: Promise<void>): Handler {
  return async ({ turn }) => {
    await something(models, turn, ready);
    return conditional(models.backendList(turn.pool, turn.key), turn.headers['if-none-match']);
  };
}

/** `GET /v1/models`. */
export function modelAnswers(models: ModelDirectory, ready: Promise<void>): Handler {
  return async ({ turn }) => {
    await something(models, turn, ready);
    return { status: 200, headers: {}, body: models.publicList(turn.pool, turn.key).body };
  };
}

/** A Pool that knows no model yet, right after its very first start, waits a little for the first round of catalogs. */
async function something(models: ModelDirectory, turn: LiveTurn, ready: Promise<void>): Promise<void> {
  if (models.models(turn.pool).all().length > 0) return;
  const late = Promise.withResolvers<void>();
  const cancel = turn.after(FIRST_ROUND_MS, late.resolve);
  await Promise.race([ready, late.promise]);
  cancel();
}

function conditional({ body, etag }: Listing, ifNoneMatch: string | undefined): Answer {
  const headers = { etag, 'cache-control': 'private, no-cache' };
  return matches(ifNoneMatch, etag) ? { status: 304, headers, body: '' } : { status: 200, headers, body };
}

/** Weak comparison: `W/` says nothing here. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag));
}
