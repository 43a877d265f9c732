// One HTTP request on a row of the route table: admitted, then answered by what serves its kind; leaves one log row.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { Refusal, refusalOf } from '../../turn/refusal.ts';
import { writeAnswer, writeRefusal } from './write-answer.ts';

/** A whole answer of a route that is served here, or a provider's refusal that passes. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What the row keeps of a refusal's code. */
  readonly code?: string | undefined;
}

export interface Exchange {
  readonly turn: LiveTurn;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What serves a route kind. Undefined: the client has its answer already. @throws Refusal */
export type Handler = (exchange: Exchange) => Answer | undefined | Promise<Answer | undefined>;

/** Never rejects. @param ended called once, when nothing of the turn is left to be done */
export async function serveTurn(exchange: Exchange, handler: Handler | undefined, ended: () => void): Promise<void> {
  const { turn } = exchange;
  try {
    turn.rules.admit();
    if (turn.route.method === 'WS') throw new Refusal('websocket_upgrade_required', { headers: { upgrade: 'websocket' } });
    if (!handler) throw new Refusal('unsupported_endpoint');
    const answer = await handler(exchange);
    if (answer) give(exchange, answer);
  } catch (thrown) {
    refuse(exchange, thrown);
  } finally {
    turn.record();
    ended();
  }
}

/** A request that gets no further than to this refusal; it leaves its row all the same (S5). */
export function refuseTurn(exchange: Exchange, refusal: Refusal): void {
  refuse(exchange, refusal);
  exchange.turn.record();
}

function give({ turn, response }: Exchange, { status, headers, body, code }: Answer): void {
  writeAnswer(response, status, { ...headers, 'x-request-id': turn.id }, body);
  turn.end({ outcome: { kind: status >= 400 ? 'failed' : 'completed', shown: true }, status, code: code ?? null });
}

function refuse({ turn, request, response }: Exchange, thrown: unknown): void {
  if (!(thrown instanceof Refusal)) turn.fault(thrown);
  const refusal = refusalOf(thrown);
  const shown = response.headersSent;
  const { status, loggedCode: code } = refusal;
  // A client that ended its side in the middle of its body is gone, though it might still read.
  const gone = response.destroyed || (request.socket.readableEnded && !request.complete);
  if (gone) turn.end({ outcome: { kind: 'client_gone', shown }, status: 499, code: null });
  // What accounts were asked and failed to give is no refusal of ours.
  else turn.end({ outcome: { kind: turn.attempts.length > 0 ? 'failed' : 'refused', shown }, status, code });
  if (shown) response.destroy();
  else writeRefusal(response, refusal, turn.id);
}
