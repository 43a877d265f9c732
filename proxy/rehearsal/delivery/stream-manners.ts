// Changes a stream to the form in which the account's provider sends it (RB16, RB17, RB18).
import { isObject, type Json } from '../../turn/json/json.ts';
import type { Manners } from '../account/manners.ts';
import { LIFECYCLE_EVENTS, type SimulatedAnswer } from './answer.ts';

/** A stream over HTTP. */
export function inManner(answer: SimulatedAnswer, manners: Manners): SimulatedAnswer {
  const { untypedStreams, openStreams } = manners;
  const { 'content-type': _, ...untyped } = answer.headers;
  const eventful = withEventManners(answer, manners);
  return { ...eventful, ...(untypedStreams ? { headers: untyped } : {}), ...(openStreams ? { staysOpen: true } : {}) };
}

/** The events of a stream, over HTTP and on a websocket. */
export function withEventManners(answer: SimulatedAnswer, { emptyOutput, keepalives }: Manners): SimulatedAnswer {
  if (answer.body.kind !== 'events') return answer;
  let { events } = answer.body;
  if (emptyOutput) events = [...events.slice(0, -1), ...events.slice(-1).map(withoutOutput)];
  if (keepalives) events = withKeepalive(events);
  return { ...answer, body: { ...answer.body, events } };
}

const withoutOutput = (event: Json): Json =>
  isObject(event) && isObject(event.response) ? { ...event, response: { ...event.response, output: [] } } : event;

/** Adds a keepalive. It has a sequence number, so the number of each later event grows by one. */
function withKeepalive(events: readonly Json[]): readonly Json[] {
  if (events.length <= LIFECYCLE_EVENTS) return events;
  const later = events.slice(LIFECYCLE_EVENTS);
  return [
    ...events.slice(0, LIFECYCLE_EVENTS),
    { type: 'keepalive', sequence_number: LIFECYCLE_EVENTS },
    ...later.map((event, i): Json => (isObject(event) ? { ...event, sequence_number: LIFECYCLE_EVENTS + 1 + i } : event)),
  ];
}
