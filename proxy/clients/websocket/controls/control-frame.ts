// The frames with which a client interrupts or steers the response that runs on its connection, and the gateway's own answers to them
// (RB29, RB31).
import type { ErrorBody } from '../../../turn/errors/refusal.ts';
import { asString, isList, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Body } from '../../../turn/turn.ts';

export const INTERRUPT = 'response.interrupt';
const STEER = 'response.steer';

/** Types of other frames that clients are known to send. They need no action. */
const UNUSED: ReadonlySet<Json | undefined> = new Set(['response.processed', 'response.append']);

export type FrameUse = 'turn' | 'control' | 'unused' | 'unknown';

/** The use of a frame, by its type. */
export function frameUse({ type }: Body): FrameUse {
  if (type === 'response.create') return 'turn';
  if (type === INTERRUPT || type === STEER) return 'control';
  return UNUSED.has(type) ? 'unused' : 'unknown';
}

/** A reason that a provider gives, or that of a refusal by the gateway. */
export type ControlError = Pick<ErrorBody, 'code'> & Partial<Pick<ErrorBody, 'message' | 'param'>>;

const MESSAGES: Readonly<Record<string, string>> = {
  response_not_found: 'No response with this id runs on this connection.',
  response_not_active: 'The response has ended.',
  invalid_input: 'The input must be a text, or a list with at least one message.',
  steering_not_supported: 'The response cannot be steered.',
  interrupt_not_supported: 'The response cannot be interrupted.',
  too_many_pending_steers: 'Too much steering input is pending for the response.',
  successor_creation_failed: 'The provider has not continued the response.',
};

/** The answer to an interrupt that failed. It does not end the response. @param id the id of the response, as the client stated it */
export const interruptFailed = (id: Json | undefined, error: ControlError): JsonObject => ({
  type: 'response.interrupt.failed',
  response_id: asString(id) ?? null,
  sequence_number: 0,
  error: errorOf(error),
});

/** The answer to a steer that failed, which returns the input to the client. @param id the account's id of the steer */
export const steerFailed = ({ previous_response_id, input = null }: Body, error: ControlError, id?: string): JsonObject => ({
  type: 'response.steer.failed',
  sequence_number: 0,
  steer: { previous_response_id: previous_response_id ?? null, input, ...(id === undefined ? {} : { id }) },
  error: errorOf(error),
});

function errorOf({ code, message = MESSAGES[code ?? ''] ?? '', param = null }: ControlError): JsonObject {
  return { type: 'invalid_request_error', code, message, param };
}

/** Whether the input has the form of a steer. The account decides which items are allowed. */
export const isSteerInput = (input: Json | undefined): input is string | readonly Json[] =>
  typeof input === 'string' ? input !== '' : isList(input) && input.length > 0;
