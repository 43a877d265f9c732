// Turns of native websocket clients that stall, so that they can be interrupted, and the frames that their clients get.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RequestRow } from '../../../store/store.ts';
import type { TestGateway } from '../gateway.ts';
import { NATIVE_SOCKET, turnFrame, typesOf, userMessage } from '../native-frames.ts';
import type { Script } from '../rehearsal.ts';
import { until } from '../until.ts';
import { connect, type TestSocket } from '../websocket.ts';

/** The headers with the name of a client's session. */
export type Session = Readonly<Record<string, string>>;

export const SESSION: Session = { 'x-agent-window-id': 'thread-1:0' };
const DONE = 'response.output_item.done';

/** A gateway in this process, or a separate process. */
export interface Interruptible {
  readonly url: string;
  count(name: 'turns_detached'): number | Promise<number>;
}

export const openSession = (gate: Pick<Interruptible, 'url'>, session: Session = SESSION): Promise<TestSocket> =>
  connect(gate, NATIVE_SOCKET, { headers: session });

export const QUESTION = [userMessage('first'), userMessage('second')];

/** The finished items of a turn that will be interrupted. */
export const items = (count: number): readonly JsonObject[] =>
  Array.from({ length: count }, (_, i) => ({
    type: 'function_call',
    id: `fc_${i}`,
    call_id: `call_${i}`,
    name: 'run',
    arguments: `{"step":${i}}`,
    status: 'completed',
  }));

/** The events of the account's reply. */
export function replyOf(count: number): readonly JsonObject[] {
  const events: JsonObject[] = [
    { type: 'agent.rate_limits', plan_type: 'plus', rate_limits: {} },
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
  ];
  for (const [i, item] of items(count).entries()) {
    events.push({ type: 'response.output_item.added', output_index: i, item: { ...item, arguments: '' } });
    events.push({ type: 'response.function_call_arguments.delta', output_index: i, delta: item.arguments ?? '' });
    events.push({ type: DONE, output_index: i, item });
  }
  events.push({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: items(count), usage: null } });
  return events;
}

/** The script of a reply that stalls after `at` events. */
export const scriptOf = (count: number, at: number): Script => [
  { kind: 'reply', status: 200, headers: {}, body: { events: [...replyOf(count)] } },
  { kind: 'stall', at: { events: at } },
];

/** Sends a turn that stalls after `at` events of its account. @returns the frames that its client got before */
export async function interrupted(
  gate: Pick<TestGateway, 'url' | 'upstream'>,
  at: number,
  { frame = turnFrame('t1', QUESTION), session = SESSION }: { readonly frame?: JsonObject; readonly session?: Session } = {},
): Promise<TestSocket> {
  gate.upstream.next('north', scriptOf(2, at));
  const socket = await openSession(gate, session);
  socket.send(frame);
  await gate.upstream.stalled('north');
  // The gateway adds one event to those of the account.
  await until('the frames so far', () => (socket.frames.length >= at + 1 ? true : undefined));
  return socket;
}

export async function dropped(gate: Interruptible, socket: Pick<TestSocket, 'terminate'>): Promise<void> {
  const detached = await gate.count('turns_detached');
  socket.terminate();
  await until('the turn without its client', async () => (await gate.count('turns_detached')) > detached || undefined);
}

/** The rows of a gateway's turns, and the rows of frames that were exact retries, which have no account (S5). */
export async function turnsAndRetries(
  gate: Pick<TestGateway, 'rows'>,
): Promise<{ readonly turns: readonly RequestRow[]; readonly retries: readonly RequestRow[] }> {
  const rows = await gate.rows();
  return { turns: rows.filter(({ account }) => account !== null), retries: rows.filter(({ account }) => account === null) };
}

export const wholeTurn = ['agent.response.metadata', ...typesOf(replyOf(2))];
