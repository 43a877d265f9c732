// The failures of a provider API: its refusals, classified for the decision about another account (Q5, Q6).
import type { Failure } from '../errors/failure.ts';
import type { JsonObject } from '../json/json.ts';
import type { Headers } from '../turn.ts';

export interface ProviderFailures {
  /** An answer that is no success. @param now Unix milliseconds */
  ofStatus(status: number, headers: Headers, body: Buffer, now: number): Failure;
  /** An event that ends a reply as failed, after its decoding; or a whole answer of a success status with an error in it. */
  inBand(data: JsonObject, now: number): Failure;
}
