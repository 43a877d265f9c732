// Turns the answer of a frame into the steps of its delivery on a websocket, with the faults of framing and delivery applied.
import { frameBytes } from '../../base/bytes/frame-bytes.ts';
import { isObject, type Json, parsedJson } from '../../turn/json/json.ts';
import type { Manners } from '../account/manners.ts';
import { type Fault, faultOfKind, type ReplyPosition } from '../faults/fault.ts';
import { errorOf } from '../provider-error.ts';
import { malformedText, type SimulatedAnswer } from './answer.ts';
import { type DeliveryStep, type Leaving, slowed, splitAt, stalled, withPositions } from './delivery-steps.ts';

const LIMIT_REACHED: Json = {
  type: 'error',
  status: 400,
  error: errorOf(
    400,
    'websocket_connection_limit_reached',
    'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
  ),
};

/** One write for each frame. */
export function frameSteps(answer: SimulatedAnswer, faults: readonly Fault[], manners: Manners): readonly DeliveryStep[] {
  let steps: readonly DeliveryStep[] = [
    ...framesOf(answer, faults, manners).map((bytes): DeliveryStep => ({ do: 'write', bytes })),
    { do: 'end' },
  ];
  for (const fault of faults) {
    if (fault.kind === 'stall') steps = stalled(steps, fault);
    const leaving = leavingOf(fault);
    if (leaving !== undefined) steps = left(steps, leaving);
  }
  return slowed(steps, faults);
}

interface LeavingAt {
  readonly at: ReplyPosition;
  readonly how: Leaving;
}

/** How and at which position the fault ends the websocket. */
function leavingOf(fault: Fault): LeavingAt | undefined {
  switch (fault.kind) {
    case 'cut':
      return { at: fault.at, how: fault.how ?? 'close' };
    case 'close':
      return { at: { events: fault.after ?? 0 }, how: { code: fault.code } };
    case 'half-open':
      return { at: { events: fault.after ?? 0 }, how: 'half-open' };
    case 'frame-too-large':
      return { at: { events: 0 }, how: { code: 1009 } };
    case 'connection-limit':
      return { at: { events: 1 }, how: { code: 1000 } };
    case 'no-terminal':
      return { at: { events: Number.POSITIVE_INFINITY }, how: { code: 1000 } };
    default:
      return undefined;
  }
}

/** A turn is whole if the websocket ends after its last frame. */
function left(steps: readonly DeliveryStep[], { at, how }: LeavingAt): readonly DeliveryStep[] {
  const [before, after] = splitAt(steps, at);
  const isWhole = after.every((step) => step.do !== 'write');
  return [...before, ...(isWhole ? ([{ do: 'end' }] as const) : []), { do: 'leave', how }];
}

function framesOf({ status, headers, body }: SimulatedAnswer, faults: readonly Fault[], manners: Manners): readonly Buffer[] {
  const spelled = (event: Json): Json => (faultOfKind(faults, 'status-code') === undefined ? event : withStatusCode(event));
  if (faultOfKind(faults, 'connection-limit') !== undefined) return [textFrame(spelled(LIMIT_REACHED))];
  if (body.kind === 'events') return eventFrames(withPositions(body), faults);
  const refused = status < 400 ? undefined : errorEvent(status, manners.errorFrameHeaders ? headers : onlyWait(headers), body.bytes);
  return [refused === undefined ? frameBytes([body.bytes]) : textFrame(spelled(refused))];
}

/** The frames of the events, each with the keepalives before it. */
function eventFrames(events: ReturnType<typeof withPositions>, faults: readonly Fault[]): readonly Buffer[] {
  const malformed = faultOfKind(faults, 'malformed');
  const binary = faultOfKind(faults, 'binary-frame');
  return events.map(({ before, event }, i) => {
    const isMalformed = malformed !== undefined && i + 1 === (malformed.event ?? 3);
    const text = Buffer.from(isMalformed ? malformedText(malformed) : JSON.stringify(event));
    const frame = frameBytes([text], binary !== undefined && i + 1 === (binary.event ?? 3) ? 'binary' : 'text');
    return Buffer.concat([...before.map(textFrame), frame]);
  });
}

/** An error answer as a frame: numeric status, and its headers. Undefined if a scripted body has no error. */
function errorEvent(status: number, headers: SimulatedAnswer['headers'], body: Buffer): Json | undefined {
  const json = parsedJson(body.toString());
  const error = isObject(json) ? (json.error ?? detailError(json.detail)) : undefined;
  if (error === undefined) return undefined;
  const shown = Object.entries(headers).filter(([name]) => !UNSHOWN.has(name));
  return { type: 'error', status, error, ...(shown.length === 0 ? {} : { headers: Object.fromEntries(shown.map(typed)) }) };
}

/** Headers of the body, the connection and the request, which an error frame leaves out. */
const UNSHOWN: ReadonlySet<string> = new Set(['content-type', 'content-length', 'set-cookie', 'x-request-id']);

/** In a frame, numbers and booleans are not written as strings. */
const typed = ([name, value]: readonly [string, string]): readonly [string, Json] => [
  name,
  /^(?:\d{1,15}|true|false)$/.test(value) ? (JSON.parse(value) as Json) : value,
];

const onlyWait = ({ 'retry-after': wait }: SimulatedAnswer['headers']): SimulatedAnswer['headers'] =>
  wait === undefined ? {} : { 'retry-after': wait };

function withStatusCode(event: Json): Json {
  if (!isObject(event)) return event;
  const { status, ...rest } = event;
  return { ...rest, status_code: status ?? null };
}

/** Turns a `detail` into an error without a code, whose message it is (RB19). */
function detailError(detail: Json | undefined): Json | undefined {
  if (detail === undefined) return undefined;
  return { type: 'invalid_request_error', message: typeof detail === 'string' ? detail : JSON.stringify(detail) };
}

/** The frame that states that the connection has reached its time limit. */
export const limitFrame = (): Buffer => textFrame(LIMIT_REACHED);

const textFrame = (json: Json): Buffer => frameBytes([JSON.stringify(json)]);

/** The frame that refuses another frame because it is not a turn. */
export const refusalFrame = (code: string, message: string): Buffer =>
  textFrame({ type: 'error', status: 400, error: errorOf(400, code, message) });
