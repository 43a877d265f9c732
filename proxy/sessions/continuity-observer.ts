// What continuity learns from answers: response ids, turn state, ciphertext, and the account that answered a session (Q10).

import type { Json, JsonObject } from '../turn/json.ts';
import { dispatchedKind } from '../turn/kinds.ts';
import type { ReplyObserver, ReplySource } from '../turn/reply-observer.ts';
import type { Ciphertexts } from './ciphertext.ts';
import type { PinCache } from './pin-cache.ts';
import { turnStateName, turnStateOf } from './turn-state.ts';

export function continuityObserver(pins: PinCache, ciphertexts: Ciphertexts): ReplyObserver {
  const learnResponse = ({ turn, account, keepResponse }: ReplySource, id: Json | undefined): void => {
    if (typeof id !== 'string' || id === '') return;
    pins.learn(pins.name('response', turn.pool.id, '', id), account.id);
    keepResponse?.(id);
  };
  const learnState = ({ turn, account }: ReplySource, value: string | undefined): void => {
    if (value !== undefined) pins.learn(pins.name('turn_state', turn.pool.id, '', value), account.id);
  };
  return {
    // Terminal events are parsed for their usage anyway. A response that never ended cannot be continued.
    events: ['response.completed', 'response.incomplete', 'response.metadata', 'response.output_item.done'],
    head(source, status, headers) {
      const { turn } = source;
      if (status < 300 && turn.surface.agentProtocol) learnState(source, headers[turnStateName(turn.wire)]);
    },
    event(source, type, data) {
      if (type === 'response.metadata') learnState(source, turnStateOf(data, source.turn.wire));
      else if (!dispatchedKind(source.turn.route.kind)?.continues) return;
      else if (type === 'response.output_item.done') ciphertexts.learn(data.item, source.account.id);
      else learnResponse(source, (data.response as JsonObject | undefined)?.id);
    },
    answer(source, json) {
      if (!dispatchedKind(source.turn.route.kind)?.continues) return;
      learnResponse(source, json.id);
      if (Array.isArray(json.output)) for (const item of json.output as readonly Json[]) ciphertexts.learn(item, source.account.id);
    },
    committed({ turn, account, continuation: { session } }) {
      // Only a model's own turns move their session: an image for it may have to come from another account.
      if (session && dispatchedKind(turn.route.kind)?.model) pins.learn(session, account.id);
    },
  };
}
