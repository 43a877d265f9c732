// Writes an answer to its connection, step by step.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Answer } from './answer.ts';
import type { Step } from './delivery-steps.ts';
import type { PausedAnswers } from './paused-answers.ts';

export interface DeliveryContext {
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Holds the waits that have no time. */
  readonly paused: PausedAnswers;
  readonly account: string;
  /** Aborts when the connection has closed. */
  readonly closed: AbortSignal;
  /** Runs before the provider closes the connection as a fault. */
  onCut(): void;
}

/** Runs the steps to the last one, or until the connection has closed. Writes between two waits leave in one piece. */
export async function deliver(answer: Answer, steps: readonly Step[], context: DeliveryContext): Promise<void> {
  const { response, closed } = context;
  response.cork();
  for (const step of steps) {
    if (closed.aborted) return;
    switch (step.do) {
      case 'head':
        response.writeHead(answer.status, headersOf(answer));
        break;
      case 'write':
        if (!response.write(step.bytes)) {
          await flushed(response, closed);
          if (!closed.aborted) response.cork();
        }
        break;
      case 'wait':
        await flushed(response, closed);
        await wait(step.ms, context);
        if (!closed.aborted) response.cork();
        break;
      case 'end':
        response.uncork();
        response.end();
        return;
      case 'close':
      case 'reset':
        await flushed(response, closed);
        context.onCut();
        if (step.do === 'reset') response.socket?.resetAndDestroy();
        else response.socket?.destroy();
        return;
    }
  }
}

/** Adds a Content-Length where the whole body is known; a stream of events is chunked, also one that was scripted as bytes. */
function headersOf({ status, headers, body }: Answer): Record<string, string | number> {
  const isStream = body.kind === 'events' || headers['content-type']?.startsWith('text/event-stream') === true;
  return isStream || status === 304 ? { ...headers } : { ...headers, 'content-length': body.bytes.length };
}

function wait(ms: number | undefined, { clock, paused, account, closed }: DeliveryContext): Promise<unknown> {
  if (ms === undefined) return paused.pause(account, closed);
  if (ms === 0) return setImmediate();
  return untilDone((done) => clock.after(ms, done), closed);
}

/** Resolves when everything written so far, headers included, has reached the kernel: what follows cannot overtake it. */
async function flushed(response: ServerResponse, closed: AbortSignal): Promise<void> {
  response.uncork();
  const { socket } = response;
  if (socket === null || closed.aborted) return;
  if (response.headersSent) response.flushHeaders();
  if (socket.writableLength === 0) return;
  await untilDone((done) => void socket.write('', done), closed);
}

/** Resolves when `start` calls back, or when the connection has closed. @param start may return a function that cancels it */
function untilDone(start: (done: () => void) => (() => void) | undefined, closed: AbortSignal): Promise<void> {
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
