// Turns an answer into the steps of its delivery, with the faults of framing and delivery applied.
import { isObject, type Json } from '../../turn/json/json.ts';
import { type Fault, faultOfKind, type ReplyPosition, type SlowFirstByteFault, type StallFault } from '../faults/fault.ts';
import { type AnswerBody, malformedText, type SimulatedAnswer } from './answer.ts';
import { sseForm } from './sse-form.ts';

export type DeliveryStep =
  | { readonly do: 'head' }
  /** `isPart`: more bytes of the event follow. */
  | { readonly do: 'write'; readonly bytes: Buffer; readonly isPart?: boolean }
  /** Without `ms` it waits until it is released. */
  | { readonly do: 'wait'; readonly ms?: number }
  /** The answer is complete. */
  | { readonly do: 'end' }
  | { readonly do: 'leave'; readonly how: Leaving };

/**
 * How the server ends the connection: with a FIN, with a TCP RST, or not at all, with the connection open and silent. A websocket may also
 * end with a close frame.
 */
export type Leaving = 'close' | 'reset' | 'half-open' | { readonly code: number };

/** A connection stays open for some iterations of the event loop after the last event: its end comes in a read of its own. */
const OPEN: readonly DeliveryStep[] = [
  { do: 'wait', ms: 0 },
  { do: 'wait', ms: 0 },
];

/** The steps of an answer over HTTP, one write for each event. */
export function stepsOf(answer: SimulatedAnswer, faults: readonly Fault[]): readonly DeliveryStep[] {
  const writes = bodyOf(answer, faults).map((bytes): DeliveryStep => ({ do: 'write', bytes }));
  const open: readonly DeliveryStep[] = answer.staysOpen === true && answer.body.kind === 'events' ? OPEN : [];
  let steps: readonly DeliveryStep[] = [{ do: 'head' }, ...writes, ...open, { do: 'end' }];
  for (const fault of faults) {
    if (fault.kind === 'cut') steps = [...splitAt(steps, fault.at)[0], { do: 'leave', how: fault.how ?? 'close' }];
    if (fault.kind === 'stall') steps = stalled(steps, fault);
  }
  const slow = faultOfKind(faults, 'slow-first-byte');
  return slowed(slow === undefined ? steps : withSlowStart(steps, slow), faults);
}

/** The number of pieces of a slow wait. Comments are sent between them. */
const SLOW_PIECES = 5;

function withSlowStart(steps: readonly DeliveryStep[], { ms, comments }: SlowFirstByteFault): readonly DeliveryStep[] {
  const [head, rest] = splitAt(steps, 'after-headers');
  if (!comments) return [...head, { do: 'wait', ms }, ...rest];
  const piece: readonly DeliveryStep[] = [
    { do: 'write', bytes: Buffer.from(': REHEARSAL PROCESSING\n\n') },
    { do: 'wait', ms: Math.ceil(ms / SLOW_PIECES) },
  ];
  return [...head, ...Array.from({ length: SLOW_PIECES }, () => piece).flat(), ...rest];
}

export function stalled(steps: readonly DeliveryStep[], { at, ms }: StallFault): readonly DeliveryStep[] {
  const [before, after] = splitAt(steps, at);
  return [...before, { do: 'wait', ...(ms === undefined ? {} : { ms }) }, ...after];
}

/** Applies pace and drip. */
export function slowed(faultless: readonly DeliveryStep[], faults: readonly Fault[]): readonly DeliveryStep[] {
  let steps = faultless;
  const pace = faultOfKind(faults, 'pace');
  if (pace !== undefined)
    steps = steps.flatMap((step): DeliveryStep[] => (step.do === 'write' ? [{ do: 'wait', ms: pace.ms }, step] : [step]));
  const drip = faultOfKind(faults, 'drip');
  return drip === undefined ? steps : withDrip(steps, drip.bytes ?? 1, drip.ms ?? 0);
}

/** One buffer for each event, comments before the first; one buffer for any other body. */
function bodyOf(answer: SimulatedAnswer, faults: readonly Fault[]): readonly Buffer[] {
  if (answer.body.kind === 'bytes') return [answer.body.bytes];
  const malformed = faultOfKind(faults, 'malformed');
  const broken = malformed === undefined ? -1 : (malformed.event ?? 3) - 1;
  const form = sseForm(faults);
  const sse = (event: Json, isBroken: boolean): string => {
    const type = isObject(event) && typeof event.type === 'string' ? event.type : undefined;
    return form.event(malformed !== undefined && isBroken ? malformedText(malformed) : JSON.stringify(event), type);
  };
  const comments = answer.body.comments.map(form.comment).join('');
  const events = withPositions(answer.body).map(({ before, event }, i) => {
    const keepalives = before.map((keepalive) => sse(keepalive, false)).join('');
    return `${i === 0 ? comments : ''}${keepalives}${sse(event, i === broken)}`;
  });
  const { end } = answer.body;
  const all = end === undefined ? events : [...events, form.event(end, undefined)];
  return all.map((text, i) => Buffer.from(i === 0 ? form.start + text : text));
}

/** An event that positions count, with the keepalives that are sent before it. */
interface CountedEvent {
  readonly before: readonly Json[];
  readonly event: Json;
}

/** All events in order. Positions do not count keepalives, which may come between any two events (RB18). */
export function withPositions({ preamble, events }: Extract<AnswerBody, { kind: 'events' }>): readonly CountedEvent[] {
  const all: CountedEvent[] = [];
  let before: readonly Json[] = [];
  for (const event of [...preamble, ...events]) {
    if (isKeepalive(event)) before = [...before, event];
    else {
      all.push({ before, event });
      before = [];
    }
  }
  return all;
}

const isKeepalive = (event: Json): boolean => isObject(event) && event.type === 'keepalive';

/** Splits the steps at a position; a write that spans the position is split too. */
export function splitAt(
  steps: readonly DeliveryStep[],
  position: ReplyPosition,
): readonly [readonly DeliveryStep[], readonly DeliveryStep[]] {
  const head = steps.findIndex((step) => step.do === 'head');
  if (position === 'before-headers') return [steps.slice(0, Math.max(head, 0)), steps.slice(Math.max(head, 0))];
  if (position === 'after-headers') return [steps.slice(0, head + 1), steps.slice(head + 1)];
  return 'events' in position ? afterEvents(steps, position.events) : afterBytes(steps, position.bytes);
}

function afterEvents(steps: readonly DeliveryStep[], events: number): readonly [readonly DeliveryStep[], readonly DeliveryStep[]] {
  let seen = 0;
  const at = steps.findIndex((step) => step.do !== 'head' && step.do !== 'wait' && (step.do !== 'write' || seen++ === events));
  return [steps.slice(0, at), steps.slice(at)];
}

function afterBytes(steps: readonly DeliveryStep[], bytes: number): readonly [readonly DeliveryStep[], readonly DeliveryStep[]] {
  let room = bytes;
  for (const [i, step] of steps.entries()) {
    if (step.do === 'head' || step.do === 'wait') continue;
    if (step.do !== 'write' || room === 0) return [steps.slice(0, i), steps.slice(i)];
    if (step.bytes.length > room) {
      const [left, right] = [step.bytes.subarray(0, room), step.bytes.subarray(room)];
      return [
        [...steps.slice(0, i), { ...step, bytes: left, isPart: true }],
        [{ ...step, bytes: right }, ...steps.slice(i + 1)],
      ];
    }
    room -= step.bytes.length;
  }
  return [steps, []];
}

function withDrip(steps: readonly DeliveryStep[], size: number, ms: number): readonly DeliveryStep[] {
  return steps.flatMap((step) => {
    if (step.do !== 'write') return [step];
    const drops: DeliveryStep[] = [];
    for (let at = 0; at < step.bytes.length; at += size) {
      const isPart = at + size < step.bytes.length || step.isPart === true;
      drops.push({ do: 'write', bytes: step.bytes.subarray(at, at + size), isPart }, { do: 'wait', ms });
    }
    return drops;
  });
}
