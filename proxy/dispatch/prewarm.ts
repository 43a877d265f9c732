// A turn without generation that no account with a websocket takes, in a Pool that has API accounts without websockets. The gateway
// answers it, and a later frame continues it (AA24).
import { randomUUID } from 'node:crypto';
import type { WebsocketHistories } from '../sessions/websocket-histories.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Client } from './client.ts';
import type { DispatchEnd } from './request/dispatch-request.ts';

const NO_USAGE = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

export function prewarmed(turn: LiveTurn, client: Client, histories: WebsocketHistories): DispatchEnd {
  const id = `resp_${randomUUID().replaceAll('-', '')}`;
  const created_at = Math.floor(turn.wallTime() / 1000);
  const response = { id, object: 'response', created_at, model: turn.model?.id ?? null, status: 'in_progress', output: [], usage: null };
  histories.answered(turn, id);
  turn.note('input_tokens', 0);
  turn.note('output_tokens', 0);
  const outcome = { kind: 'completed', shown: true } as const;
  return {
    kind: 'ended',
    ending: { outcome, status: 200, code: null },
    close: (closing) => {
      const sink = client.sink();
      const head = { status: 200, headers: { ...turn.ownHeaders() } };
      const first = turn.rules.head(head);
      sink.open(head.status, head.headers);
      for (const event of first) sink.event(event);
      const ended = { ...response, status: 'completed', usage: NO_USAGE };
      for (const [number, [type, shown]] of [['response.created', response] as const, ['response.completed', ended] as const].entries()) {
        sink.event({ type, data: { type, sequence_number: number, response: shown } });
      }
      sink.close(closing, outcome);
    },
  };
}
