// The end of a turn that waits no longer, because its client left, or because the time of the gateway's drain has passed.
import type { Counters } from '../base/process/metrics.ts';
import { gatewayStops, type Refusal } from '../turn/errors/refusal.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Sink } from '../turn/reply/sink.ts';
import { clientGone } from '../turn/reply/turn-result.ts';
import type { Client } from './client.ts';
import type { Verdict } from './reply/reply-context.ts';
import type { DispatchEnd } from './request/dispatch-request.ts';

/** The end of a turn of which nothing was shown. */
export function endOfWait(turn: LiveTurn, client: Client, counters: Counters): DispatchEnd {
  if (client.isStopped) return { kind: 'refused', refusal: stoppedRefusal(turn) };
  counters.add('client_gone');
  return { kind: 'ended', ending: clientGone({ shown: false }) };
}

/** The refusal of a turn that the gateway stops before it has shown anything. */
export function stoppedRefusal(turn: LiveTurn): Refusal {
  turn.note('error_class', 'gateway_stopped');
  return gatewayStops();
}

/**
 * The verdict for a reply that the gateway cuts after its client has seen a part of it. The reply ends like one that its account breaks off
 * (F1.8, F1.9, Q17), but its websocket is closed like those of all other turns of a drain (Q28).
 * @param status the status that the client got
 * @param sink undefined for a reply whose bytes are piped, because the pipe ends it
 */
export function stoppedReply(turn: LiveTurn, status: number, sink?: Sink): Verdict {
  turn.note('error_class', 'gateway_stopped');
  const outcome = { kind: 'cut', shown: true, stopped: true } as const;
  const hasNoEnd = turn.client === 'http' && turn.surface.brokenReply === 'cut';
  return {
    kind: 'stopped',
    ending: { outcome, status, code: 'server_error' },
    close: (closing) => (hasNoEnd ? sink?.cut() : sink?.close(closing, outcome)),
  };
}
