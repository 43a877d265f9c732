// Routes that hold a slot of their admission class while they are served; turns with a JSON body take theirs in dispatch (Q4).
import type { ServerResponse } from 'node:http';
import type { Admission, Slot } from '../../admission/admission.ts';
import type { Answer, Exchange, Handler } from './http-turn.ts';

/** Serves with a slot, which is given back when it is done. */
export type Slotted = (exchange: Exchange, slot: Slot) => ReturnType<Handler>;

export function admitted(admission: Admission, serve: Slotted): Handler {
  return (exchange) => {
    const { turn, response } = exchange;
    const entering = admission.acquire({ class: turn.route.class, onGone: (aborted) => onceGone(response, aborted) });
    if (!(entering instanceof Promise)) return within(entering, exchange, serve);
    return entering.then((slot) => {
      if (slot) return within(slot, exchange, serve);
      turn.end({ outcome: { kind: 'client_gone', shown: false }, status: 499, code: null });
      return undefined;
    });
  };
}

/** Calls back when the client leaves before its answer is whole; returns the undo. */
export function onceGone(response: ServerResponse, aborted: () => void): () => void {
  if (response.destroyed) {
    aborted();
    return () => undefined;
  }
  const closed = (): void => {
    if (!response.writableFinished) aborted();
  };
  response.once('close', closed);
  return () => response.off('close', closed);
}

async function within(slot: Slot, exchange: Exchange, serve: Slotted): Promise<Answer | undefined> {
  try {
    return await serve(exchange, slot);
  } finally {
    slot.release();
  }
}
