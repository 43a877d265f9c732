// Observers of replies: continuity and quota read the replies of accounts through this interface. An observer does not change a reply.
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
  /**
   * Whether the account was asked not to store the response. Such a response ends with its websocket, and over HTTP it cannot be continued
   * (RB11).
   */
  readonly isUnstored: boolean;
}

/** The events of a reply's head, which are held until commit. */
export interface HeldEvents {
  find(type: string): ReplyEvent | undefined;
}

/** Sees the reply of every attempt as the account sent it, before rules and before commit. */
export interface ReplyObserver {
  /** The types of the events that it reads. Other events are not parsed for it. */
  readonly events: readonly string[];
  /** Further types that only this provider API has. */
  eventsOf?(provider: ProviderApi, wire: WireWords): readonly string[];
  /** Called with the status and headers of every reply, including refusals. */
  head?(source: ReplySource, status: number, headers: Headers): void;
  event?(source: ReplySource, type: string, data: JsonObject): void;
  /** Called with a whole JSON reply that is not a refusal. */
  answer?(source: ReplySource, json: JsonObject): void;
  /** Called at commit. No other attempt follows. @param head undefined for a reply that is not a stream of events */
  committed?(source: ReplySource, head: HeldEvents | undefined): void;
  /** Called if the attempt failed, even if the client receives the failure as its answer. */
  failed?(source: ReplySource, failure: Failure): void;
}
