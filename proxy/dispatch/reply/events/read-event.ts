// Reads the parts of each reply event that the gateway needs, before and after commit and for every client.
import type { JsonObject } from '../../../turn/json/json.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { Sink } from '../../../turn/reply/sink.ts';
import { endOf } from '../../../turn/reply/terminal-event.ts';
import type { ReplyContext } from '../reply-context.ts';

/** The data of an event, if observers or the client need them to be read. */
type Read = JsonObject | undefined;

/** `dropped`: the client does not get the event. `unreadable`: a terminal event that the client could not read. */
type Unfit = 'dropped' | 'unreadable';

/** Completes the type of the event, and passes its data to observers. @throws TooMuchHeld */
export function readEvent(event: ReplyEvent, { objectCheck }: Sink, context: ReplyContext): Read | Unfit {
  if (event.type === '') context.turn.held.allowParsing(event);
  const readable = event.completeType();
  if (objectCheck === 'parse') return readObject(event, context);
  const known = observed(event, context);
  const data = isAwaitedEnd(event, context) ? readEnd(event, known, context) : known;
  return data === undefined && objectCheck === 'braces' && !(readable && mayBeObject(event, context)) ? 'dropped' : data;
}

function readObject(event: ReplyEvent, context: ReplyContext): JsonObject | Unfit {
  const data = observed(event, context) ?? context.turn.held.json(event);
  if (!data) return 'dropped';
  // If a frame has two types, clients use the last one, which may be a terminal type.
  if (typeof data.type === 'string') event.type = data.type;
  return isAwaitedEnd(event, context) && !isReadable(event, data, context) ? 'unreadable' : data;
}

function readEnd(event: ReplyEvent, known: Read, context: ReplyContext): Read | Unfit {
  if (!known) context.counters.add('events_parsed');
  const data = known ?? context.turn.held.json(event);
  return isReadable(event, data, context) ? data : 'unreadable';
}

/** Whether an unparsed event may be sent to a client that gets only JSON objects. Data on several lines are rare, and are parsed. */
function mayBeObject(event: ReplyEvent, { turn }: ReplyContext): boolean {
  if (!event.hasData || event.isDone()) return true;
  return event.dataStart < 0 ? turn.held.json(event) !== undefined : event.hasBraces();
}

function observed(event: ReplyEvent, { turn, observers, counters }: ReplyContext): Read {
  if (!observers.wants(event.type)) return undefined;
  counters.add('events_parsed');
  const data = turn.held.json(event);
  if (data) observers.event(event.type, data);
  return data;
}

/** Whether only this event shows the client that its reply is over. If the event is not readable, the client would wait for ever. */
const isAwaitedEnd = ({ type }: ReplyEvent, { turn: { client, surface } }: ReplyContext): boolean =>
  (client === 'websocket' || surface.brokenReply === 'close') && endOf(type) !== undefined;

/** Whether the client recognises the terminal event too. If `type` occurs twice, the reader of a frame uses the last one. */
const isReadable = (event: ReplyEvent, data: Read, { turn }: ReplyContext): boolean =>
  data !== undefined && (turn.client === 'http' || data.type === event.type);
