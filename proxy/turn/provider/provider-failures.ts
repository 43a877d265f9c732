// The failures of a provider API: its refusals, classified for the decision about another account (Q5, Q6).
import type { Failure } from '../errors/failure.ts';
import type { ItemPlaces } from '../errors/item-places.ts';
import type { JsonObject } from '../json/json.ts';
import type { Headers } from '../turn.ts';
import type { AdaptedName } from './adapted.ts';

/** An answer whose status is not a success. */
export interface RefusedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** What the request that was refused contained. */
export interface SentMembers {
  /** Names of what the encoding changed (AA16). */
  readonly adapted: readonly AdaptedName[];
  /** The tier of the account. */
  readonly tier: number;
  /** The places of the items in the turn; undefined if no item was moved. */
  readonly places?: Pick<ItemPlaces, 'before'> | undefined;
}

export interface FailureContext {
  /** Unix milliseconds. */
  readonly now: number;
  /** Absent for a request that was not encoded. */
  readonly sent?: SentMembers | undefined;
}

export interface ProviderFailures {
  ofStatus(answer: RefusedAnswer, context: FailureContext): Failure;
  /** Classifies an event that ends a reply as failed, after its decoding, or a whole answer of a success status with an error in it. */
  inBand(data: JsonObject, now: number): Failure;
}
