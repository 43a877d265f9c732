// The faults that change the content of a Chat reply: errors inside a 200, streams without an end, replies without output (AA89).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { type AnswerBody, malformedText, type RefusalForm, replacedAnswer, type SimulatedAnswer } from '../../delivery/answer.ts';
import { type ErrorChunkFault, type Fault, faultOfKind, type RefuseInsideFault } from '../../faults/fault.ts';
import { errorOf, messageOf } from '../../provider-error.ts';

type Events = Extract<AnswerBody, { kind: 'events' }>;

export function withChatFaults(answer: SimulatedAnswer, faults: readonly Fault[], form: RefusalForm): SimulatedAnswer {
  const replaced = replacedAnswer(answer, faults, form);
  if (replaced) return replaced;
  const { body } = answer;
  if (body.kind === 'bytes') return { ...answer, body: { kind: 'bytes', bytes: wholeWithFaults(body.bytes, faults) } };
  let changed: Events = body;
  if (faultOfKind(faults, 'empty-output') !== undefined)
    changed = { ...changed, events: changed.events.filter((chunk) => !hasOutput(chunk)) };
  if (faultOfKind(faults, 'no-terminal') !== undefined) changed = withoutEnd(changed);
  if (faults.some((fault) => fault.kind === 'form' && fault.is === 'no done')) changed = withoutDone(changed);
  const error = faultOfKind(faults, 'error-chunk') ?? insideFault(faultOfKind(faults, 'refuse-inside'));
  return { ...answer, body: error === undefined ? changed : withError(error, changed) };
}

/** A refusal inside a 200 becomes an error chunk with its code before all output. */
const insideFault = (fault: RefuseInsideFault | undefined): ErrorChunkFault | undefined =>
  fault && {
    kind: 'error-chunk',
    as: fault.as === 'error' ? 'event' : 'chunk',
    code: fault.code ?? 503,
    ...(fault.after === undefined ? {} : { after: fault.after }),
  };

function withError({ as, code = 502, after = 0 }: ErrorChunkFault, { events, ...body }: Events): Events {
  const status = typeof code === 'number' ? code : 500;
  const message = messageOf(status, typeof code === 'string' ? code : undefined);
  const error = { ...errorOf(status, null, message), code };
  const head: JsonObject = isObject(events[0]) ? events[0] : {};
  const chunk: JsonObject = {
    chunk: { error },
    object: { object: 'error', ...error },
    event: { type: 'error', error },
    choice: { ...head, choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error', error }] },
  }[as];
  return withoutDone({ ...body, events: [...events.slice(0, after), chunk] });
}

/** The chunks up to the last one with output. */
function withoutEnd({ events, ...body }: Events): Events {
  return withoutDone({ ...body, events: events.slice(0, events.findLastIndex(hasOutput) + 1) });
}

const withoutDone = ({ end: _, ...body }: Events): Events => body;

/** Whether a chunk has more than a role or a finish reason. */
function hasOutput(chunk: Json): boolean {
  const choice = isObject(chunk) && Array.isArray(chunk.choices) ? (chunk.choices as readonly Json[])[0] : undefined;
  const delta = isObject(choice) && isObject(choice.delta) ? choice.delta : {};
  return Object.entries(delta).some(([name, value]) => name !== 'role' && value !== '');
}

function wholeWithFaults(bytes: Buffer, faults: readonly Fault[]): Buffer {
  const malformed = faultOfKind(faults, 'malformed');
  if (malformed) return Buffer.from(malformedText(malformed));
  const error = faultOfKind(faults, 'error-chunk') ?? insideFault(faultOfKind(faults, 'refuse-inside'));
  if (!error) return bytes;
  const [first] = withError({ ...error, after: 0 }, { kind: 'events', preamble: [], events: [], comments: [] }).events;
  return Buffer.from(JSON.stringify(first));
}
