// The interface through which continuity and quota read the replies of accounts. An observer does not change a reply.
import type { Continuation, LivePin } from '../continuation.ts';
import type { Failure } from '../errors/failure.ts';
import type { JsonObject } from '../json/json.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { ProviderApi } from '../provider/provider-api.ts';
import type { AccountConfig, WireWords } from '../settings.ts';
import type { Headers } from '../turn.ts';
import type { ReplyEvent } from './reply-event.ts';

/** The account that replied, and the turn that it replied to. */
export interface ReplySource {
  readonly turn: LiveTurn;
  readonly account: AccountConfig;
  readonly provider: ProviderApi;
  readonly continuation: Continuation;
  /** Remembers a response that can be continued only on the websocket it came over; undefined over HTTP. */
  readonly keepResponse: ((id: string, pin?: LivePin) => void) | undefined;
  /** Whether its account was asked not to store the response: it ends with its websocket, and over HTTP nothing can continue it (RB11). */
  readonly isUnstored: boolean;
}

/** The events of a reply's head, which were held until its commit. */
export interface HeldEvents {
  find(type: string): ReplyEvent | undefined;
}

/** Sees the reply of every attempt as the account sent it, before rules and before commit. */
export interface ReplyObserver {
  /** The types of the events that it reads. Other events are not parsed for it. */
  readonly events: readonly string[];
  /** Further types, of this provider API alone. */
  eventsOf?(provider: ProviderApi, wire: WireWords): readonly string[];
  /** The status and headers of every reply, refusals included. */
  head?(source: ReplySource, status: number, headers: Headers): void;
  event?(source: ReplySource, type: string, data: JsonObject): void;
  /** A whole JSON reply that is not a refusal. */
  answer?(source: ReplySource, json: JsonObject): void;
  /** The reply was committed: no other attempt follows. @param head undefined for a reply that is not a stream of events */
  committed?(source: ReplySource, head: HeldEvents | undefined): void;
  /** The attempt failed. Called also if the client receives the failure as its answer. */
  failed?(source: ReplySource, failure: Failure): void;
}
