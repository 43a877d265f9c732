// One HTTP request on a row of the route table: admitted, then answered by what serves its kind; leaves one log row.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Counters } from '../admin/counters.ts';
import type { LiveTurn } from '../live-turn.ts';
import { Refusal, refusalOf } from '../refusal.ts';
import { writeAnswer, writeRefusal } from './http-client.ts';

/** A whole answer of a route that is served here, or a provider's refusal that passes. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Exchange {
  readonly turn: LiveTurn;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What serves a route kind. Undefined: the client has its answer already. @throws Refusal */
export type Handler = (exchange: Exchange) => Answer | undefined | Promise<Answer | undefined>;

export async function serveTurn(exchange: Exchange, handler: Handler | undefined, counters: Counters): Promise<void> {
  const { turn, request, response } = exchange;
  try {
    turn.passage.admit();
    if (turn.route.method === 'WS') throw new Refusal('websocket_upgrade_required', { headers: { upgrade: 'websocket' } });
    if (!handler) throw new Refusal('unsupported_endpoint');
    const answer = await handler(exchange);
    if (answer) {
      const failed = answer.status >= 400;
      turn.end({ outcome: { kind: failed ? 'failed' : 'completed', shown: true }, status: answer.status, code: null });
      writeAnswer(response, answer.status, { ...answer.headers, 'x-request-id': turn.id }, answer.body);
    }
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) counters.add('server_errors');
    const refusal = refusalOf(thrown);
    const gone = response.destroyed;
    turn.end({
      outcome: { kind: gone ? 'client_gone' : 'refused', shown: response.headersSent },
      status: gone ? 499 : refusal.status,
      code: gone ? null : refusal.code,
    });
    if (response.headersSent) response.destroy();
    else writeRefusal(request, response, refusal, turn.id);
  } finally {
    turn.record();
  }
}
