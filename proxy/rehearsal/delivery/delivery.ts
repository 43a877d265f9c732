// Writes an answer to its connection, step by step.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../base/time/clock.ts';
import type { PausedAnswers } from '../faults/paused-answers.ts';
import type { DeliveryStep, Leaving } from './delivery-steps.ts';

/** The connection that an answer is written to. */
export interface Line {
  /** Writes status and headers. Does nothing on a websocket. */
  head(): void;
  /** Returns whether the connection accepts more at once. `isPart`: more bytes of the event follow. */
  write(piece: { readonly bytes: Buffer; readonly isPart?: boolean }): boolean;
  /** Resolves when everything written so far has reached the kernel, or the connection has closed. Later steps cannot overtake it. */
  flushed(): Promise<void>;
  /** Called when the answer is complete. */
  end(): void;
  /** Ends the connection in the way of a fault. */
  leave(how: Leaving): void;
}

export interface DeliveryContext {
  readonly clock: Clock;
  /** Holds the answers that wait without a time limit. */
  readonly paused: PausedAnswers;
  readonly account: string;
  /** Aborts when the connection has closed. */
  readonly closed: AbortSignal;
  /** Aborts when the rest of the answer is to be sent without waits. */
  readonly hurried?: AbortSignal;
}

/** Runs the steps to the last one, or until the connection has closed. Writes between two waits are sent in one piece. */
export async function deliver(steps: Iterable<DeliveryStep>, line: Line, context: DeliveryContext): Promise<void> {
  const { closed } = context;
  for (const step of steps) {
    if (closed.aborted) return;
    switch (step.do) {
      case 'head':
        line.head();
        break;
      case 'write':
        if (!line.write(step)) await line.flushed();
        break;
      case 'wait':
        await line.flushed();
        await wait(step.ms, context);
        break;
      case 'end':
        line.end();
        break;
      case 'leave':
        await line.flushed();
        return line.leave(step.how);
    }
  }
}

/** Waits for `ms`, or without it until the answer is released. The wait also ends when the connection has closed. */
export function wait(ms: number | undefined, { clock, paused, account, closed, hurried }: DeliveryContext): Promise<unknown> {
  const over = hurried ? AbortSignal.any([closed, hurried]) : closed;
  if (ms === undefined) return paused.pause(account, over);
  if (ms === 0) return setImmediate();
  return untilDone((done) => clock.after(ms, done), over);
}

/** Resolves when `start` calls back, or when the connection has closed. @param start may return a function that cancels the callback */
export function untilDone(start: (done: () => void) => (() => void) | undefined, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (closed.aborted) return resolve();
    const done = (): void => {
      closed.removeEventListener('abort', done);
      cancel?.();
      resolve();
    };
    closed.addEventListener('abort', done);
    const cancel = start(done);
  });
}
