// A follow-up is work between an account's answer and the client's, such as further requests to the same account or a row in the store.
import { type ErrorCode, Refusal, type RefusalDetails } from '../turn/errors/refusal.ts';
import type { JsonObject } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { ProviderApi } from '../turn/provider/provider-api.ts';
import type { RouteKind } from '../turn/routes/kinds.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { UpstreamErrorClass, Work } from '../turn/turn.ts';
import type { Upstream } from '../upstream/upstreams.ts';

export interface FollowedAnswer {
  readonly turn: LiveTurn;
  /** The account in the turn's configuration. Its lease lasts until the follow-up has ended. */
  readonly account: AccountConfig;
  readonly upstream: Upstream;
  readonly provider: ProviderApi;
  /** The request as the rules left it. */
  readonly work: Work;
  readonly answer: JsonObject;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** The refusal of a follow-up in which a further request failed. The account's answer itself was valid. */
export class FailedFollowUp extends Refusal {
  readonly errorClass: UpstreamErrorClass;

  constructor(code: ErrorCode, errorClass: UpstreamErrorClass, details: RefusalDetails = {}) {
    super(code, details);
    this.errorClass = errorClass;
  }
}

/** Runs after commit, so no other account is tried. @returns the client's answer @throws Refusal */
export type FollowUp = (followed: FollowedAnswer) => Promise<JsonObject>;

export type FollowUps = Readonly<Partial<Record<RouteKind, FollowUp>>>;
