// The failures of a provider API: its refusals, classified for the decision about another account (Q5, Q6).
import type { Failure } from '../errors/failure.ts';
import type { ItemPlaces } from '../errors/item-places.ts';
import type { JsonObject } from '../json/json.ts';
import type { Headers } from '../turn.ts';
import type { AdaptedName } from './adapted.ts';

/** An answer that is no success. */
export interface RefusedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** What the refused request had. */
export interface SentMembers {
  /** Names of what its encoding changed (AA16). */
  readonly adapted: readonly AdaptedName[];
  /** The tier of its account. */
  readonly tier: number;
  /** Where its items were in the turn; undefined if none was moved. */
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
  /** An event that ends a reply as failed, after its decoding; or a whole answer of a success status with an error in it. */
  inBand(data: JsonObject, now: number): Failure;
}
