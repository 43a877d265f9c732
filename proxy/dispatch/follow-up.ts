// A follow-up: work after an account's answer and before the client gets it, such as further requests to the same account or a row in the
// store.
import type { JsonObject } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { ProviderApi } from '../turn/provider/provider-api.ts';
import type { RouteKind } from '../turn/routes/kinds.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Work } from '../turn/turn.ts';
import type { Upstream } from '../upstream/upstreams.ts';

export interface FollowedAnswer {
  readonly turn: LiveTurn;
  /** The account as the turn's configuration has it. Its lease lasts until the follow-up is over. */
  readonly account: AccountConfig;
  readonly upstream: Upstream;
  readonly provider: ProviderApi;
  /** The request as its rules left it. */
  readonly work: Work;
  readonly answer: JsonObject;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** Runs after commit: no other account is asked. @returns the client's answer. @throws Refusal */
export type FollowUp = (followed: FollowedAnswer) => Promise<JsonObject>;

export type FollowUps = Readonly<Partial<Record<RouteKind, FollowUp>>>;
