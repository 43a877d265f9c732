// Records what continuity needs from answers: response ids, turn state, ciphertext, and the account that answered a session (Q10).
import type { PinName } from '../turn/continuation.ts';
import type { Json, JsonObject } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { responseIdIn } from '../turn/reply/event-bytes.ts';
import type { ReplyObserver, ReplySource } from '../turn/reply/reply-observer.ts';
import { dispatchedKind } from '../turn/routes/kinds.ts';
import { turnStateName } from '../turn/wire/agent-names.ts';
import { type Ciphertexts, turnStateOf } from './issued-values.ts';
import type { PinCache } from './pins/pin-cache.ts';

export function continuityObserver(pins: PinCache, ciphertexts: Ciphertexts): ReplyObserver {
  /** Makes the end of the turn wait for the write, because the next turn may reach another node, which reads the store. */
  const endAfter = (turn: LiveTurn, write: Promise<void> | undefined): void => {
    if (write) turn.endsAfter(write);
  };
  const responseName = ({ turn }: ReplySource, id: string): PinName => pins.name('response', turn.pool.id, '', id);
  const learnResponse = (source: ReplySource, id: string): void =>
    endAfter(source.turn, pins.learn(responseName(source, id), source.account.id));
  const learnEnded = (source: ReplySource, id: Json | undefined): void => {
    if (typeof id !== 'string' || id === '' || isLost(source)) return;
    // While the response's websocket is open, only this process can continue it.
    if (source.isUnstored && !pins.isShared) source.keepResponse?.(id, pins.remember(responseName(source, id), source.account.id));
    else {
      learnResponse(source, id);
      source.keepResponse?.(id);
    }
  };
  const learnItem = ({ turn, account }: ReplySource, item: Json | undefined): void => endAfter(turn, ciphertexts.learn(item, account.id));
  const learnState = ({ turn, account }: ReplySource, value: string | undefined): void => {
    if (value !== undefined) endAfter(turn, pins.learn(pins.name('turn_state', turn.pool.id, '', value), account.id));
  };
  return {
    // Terminal events are parsed for their usage anyway. A response without one cannot be continued.
    events: ['response.completed', 'response.incomplete', 'response.metadata', 'response.output_item.done'],
    head(source, status, headers) {
      const { turn } = source;
      if (status < 300 && turn.surface.agentProtocol) learnState(source, headers[turnStateName(turn.wire.agent)]);
    },
    event(source, type, data) {
      if (type === 'response.metadata') learnState(source, turnStateOf(data, source.turn.wire));
      else if (!dispatchedKind(source.turn.route.kind)?.continues) return;
      else if (type === 'response.output_item.done') learnItem(source, data.item);
      else learnEnded(source, (data.response as JsonObject | undefined)?.id);
    },
    answer(source, json) {
      if (!dispatchedKind(source.turn.route.kind)?.continues) return;
      learnEnded(source, json.id);
      if (Array.isArray(json.output)) for (const item of json.output as readonly Json[]) learnItem(source, item);
    },
    committed(source, head) {
      const { turn, account, continuation } = source;
      const kind = dispatchedKind(turn.route.kind);
      // Only turns of a model move their session. An image for it may have to come from another account.
      if (continuation.session && kind?.model) endAfter(turn, pins.learn(continuation.session, account.id, turn.at));
      // With several nodes the pin is stored while the reply continues, so that the end of the reply need not wait.
      const created = pins.isShared && kind?.continues && !isLost(source) ? head?.find('response.created') : undefined;
      const id = created && responseIdIn(created);
      if (id !== undefined) learnResponse(source, id);
    },
  };
}

/** Whether nothing can continue the response, because it is not stored and did not come over a websocket. It gets no pin (RB11). */
const isLost = ({ isUnstored, keepResponse }: ReplySource): boolean => isUnstored && !keepResponse;
