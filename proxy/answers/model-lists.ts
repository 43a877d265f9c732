// The two model lists. They are answered from the catalogs in memory, without a request to an account (ML3, D1, A1).
import { withDeadline } from '../base/time/clock.ts';
import type { Listing } from '../models/lists/listings.ts';
import type { ModelDirectory } from '../models/model-directory.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Answer } from '../turn/surface.ts';
import { type ClientVersion, parseVersion } from '../turn/wire/client-version.ts';
import type { AnswerHandler } from './answer-handler.ts';
import { withAliases } from './message-answers.ts';

/** How long the first list may wait. Native clients wait 5 s for a list, and accept an empty one. */
const FIRST_ROUND_MS = 4_000;

/** `GET /backend-api/agent/models` and its alias, with the ETag that native turns repeat (Q14). */
export function catalogAnswers(models: ModelDirectory, ready: Promise<void>): AnswerHandler {
  return async (turn) => {
    await firstRound(models, turn, ready);
    return conditional(models.backendList(turn.pool, turn.key, listedVersion(turn)), turn.headers['if-none-match']);
  };
}

/** `GET /v1/models`, in the form of the client's API. */
export function modelAnswers(models: ModelDirectory, ready: Promise<void>): AnswerHandler {
  return async (turn) => {
    await firstRound(models, turn, ready);
    const { surface, pool, key, query } = turn;
    if (surface.modelPage) {
      const page = surface.modelPage(withAliases(models.named(pool, key), turn), new URLSearchParams(query));
      return { status: 200, headers: {}, body: JSON.stringify(page) };
    }
    return { status: 200, headers: {}, body: models.publicList(turn.pool, turn.key).body };
  };
}

/** Waits for the first round of catalogs, if the Pool has no model yet just after the very first start. */
async function firstRound(models: ModelDirectory, turn: LiveTurn, ready: Promise<void>): Promise<void> {
  if (models.models(turn.pool).all().length === 0) await withDeadline(ready, turn, FIRST_ROUND_MS);
}

/** The client version for the list: the one in the request's query, otherwise the one in its headers, as in turns. */
function listedVersion({ query, clientVersion }: LiveTurn): ClientVersion | undefined {
  return parseVersion(new URLSearchParams(query).get('client_version') ?? undefined) ?? clientVersion?.numbers;
}

function conditional({ body, etag }: Listing, ifNoneMatch: string | undefined): Answer {
  const headers = { etag, 'cache-control': 'private, no-cache' };
  return matches(ifNoneMatch, etag) ? { status: 304, headers, body: '' } : { status: 200, headers, body };
}

/** Compares ETags weakly: `W/` makes no difference. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag));
}
