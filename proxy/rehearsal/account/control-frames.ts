// The answers of a simulated account to frames that interrupt or steer the response that runs on their websocket (RB29, RB31).
import { frameBytes } from '../../base/bytes/frame-bytes.ts';
import { asList, asString, isList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { type Fault, faultOfKind } from '../faults/fault.ts';
import type { IdSequence } from '../model/id-sequence.ts';
import type { RunningTurn } from '../model/running-turn.ts';

/** The turn that runs on the websocket, and its faults. */
export interface ControlledTurn {
  readonly running: RunningTurn;
  readonly faults: readonly Fault[];
}

const MOST_STEERS = 8;
const STEER_MEMBERS: ReadonlySet<string> = new Set(['type', 'previous_response_id', 'input']);

export const isControl = (json: Json | undefined): json is JsonObject =>
  isObject(json) && (json.type === 'response.interrupt' || json.type === 'response.steer');

/** @param turn undefined if no turn runs @returns the frame that answers at once; undefined if frames of the turn are the answer */
export function answerControl(frame: JsonObject, turn: ControlledTurn | undefined, ids: IdSequence): Buffer | undefined {
  return frame.type === 'response.interrupt' ? interrupt(frame, turn) : steer(frame, turn, ids);
}

function interrupt({ response_id: id }: JsonObject, turn: ControlledTurn | undefined): Buffer | undefined {
  const failed = (code: string): Buffer =>
    eventFrame(turn, { type: 'response.interrupt.failed', response_id: id ?? null, error: errorOf(code) });
  if (!turn || typeof id !== 'string' || turn.running.responseId !== id) return failed('response_not_found');
  const fault = faultOfKind(turn.faults, 'interrupt');
  if (fault?.is === 'ignored') return undefined;
  if (fault) return failed(fault.code ?? 'interrupt_not_supported');
  turn.running.interrupt();
  return undefined;
}

function steer(frame: JsonObject, turn: ControlledTurn | undefined, ids: IdSequence): Buffer {
  const { previous_response_id: parent, input = null } = frame;
  const failed = (code: string): Buffer =>
    eventFrame(turn, { type: 'response.steer.failed', steer: { previous_response_id: parent ?? null, input }, error: errorOf(code) });
  if (!turn || typeof parent !== 'string' || turn.running.responseId !== parent) return failed('response_not_found');
  if (!Object.keys(frame).every((name) => STEER_MEMBERS.has(name)) || !isSteerInput(input)) return failed('invalid_input');
  if (turn.running.steers.length >= MOST_STEERS) return failed('too_many_pending_steers');
  const fault = faultOfKind(turn.faults, 'steer');
  if (fault?.is === 'failed') return failed(fault.code ?? 'steering_not_supported');
  const id = ids.next('steer');
  const accepted = eventFrame(turn, { type: 'response.steer.accepted', steer: { id, previous_response_id: parent } });
  turn.running.steers.push({ id, input });
  if (!fault) turn.running.stopForSteer();
  return accepted;
}

/** The frames that follow a response if its steers get no further response. */
export function unusedSteers({ running, faults }: ControlledTurn, parent: string, output: readonly Json[]): readonly Buffer[] {
  const fault = faultOfKind(faults, 'steer');
  if (fault?.is !== 'pending' && fault?.is !== 'returned') return [];
  return running.steers.splice(0).map(({ id, input }, i) => {
    const number = running.nextNumber + i;
    if (fault.is === 'pending') {
      const required_input = output.filter(isObject).flatMap((item) => stubOf(item));
      const steer = { id, previous_response_id: parent };
      return frame({
        type: 'response.steer.pending',
        reason: 'waiting_for_required_input',
        required_input,
        steer,
        sequence_number: number,
      });
    }
    const error = errorOf(fault.code ?? 'successor_creation_failed');
    return frame({ type: 'response.steer.failed', steer: { id, previous_response_id: parent, input }, error, sequence_number: number });
  });
}

/** The input of all steers of a response, in order, as the further response gets it. */
export const steeredInput = ({ steers }: RunningTurn): readonly Json[] =>
  steers
    .splice(0)
    .flatMap(({ input }) => (typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : asList(input)));

const stubOf = ({ type, call_id }: JsonObject): readonly JsonObject[] =>
  type === 'function_call' ? [{ type: 'function_call_output', call_id: asString(call_id) ?? '' }] : [];

/** Whether an item may be the input of a steer. Only messages of the user may. */
function isSteerInput(input: Json): boolean {
  if (!isList(input)) return typeof input === 'string' && input !== '';
  return input.length > 0 && input.every((item) => isObject(item) && item.role === 'user' && (item.type ?? 'message') === 'message');
}

const errorOf = (code: string): JsonObject => ({ type: 'invalid_request_error', code, message: 'The response cannot take this frame.' });

const eventFrame = (turn: ControlledTurn | undefined, event: JsonObject): Buffer =>
  frame({ ...event, sequence_number: turn?.running.nextNumber ?? 0 });

const frame = (event: JsonObject): Buffer => frameBytes([JSON.stringify(event)]);
