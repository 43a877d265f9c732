// Plays the steps of an answer on a real response, and knows how it ended.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import type { Clock } from './clock.ts';
import type { Stalls } from './stalls.ts';
import type { Step } from './steps.ts';

/** How a request ended: answered whole, cut by a fault (or by closing the provider), or left by the client. */
export type Closing = 'answered' | 'cut' | 'left';

export interface Stage {
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Where waits without a time stand until they are released. */
  readonly stalls: Stalls;
  readonly account: string;
  /** Aborts when the connection is gone. */
  readonly gone: AbortSignal;
  /** Told before the provider itself ends the connection. */
  cutting(): void;
}

/** Plays until the last step, or until the connection is gone. Writes between two waits leave in one piece. */
export async function play(answer: Answer, steps: readonly Step[], stage: Stage): Promise<void> {
  const { response } = stage;
  response.cork();
  for (const step of steps) {
    if (stage.gone.aborted) return;
    switch (step.do) {
      case 'head':
        response.writeHead(answer.status, headersOf(answer));
        break;
      case 'write':
        if (!response.write(step.bytes)) {
          await flushed(response, stage.gone);
          if (!stage.gone.aborted) response.cork();
        }
        break;
      case 'wait':
        await flushed(response, stage.gone);
        await wait(step.ms, stage);
        if (!stage.gone.aborted) response.cork();
        break;
      case 'end':
        response.uncork();
        response.end();
        return;
      case 'close':
      case 'reset':
        await flushed(response, stage.gone);
        stage.cutting();
        if (step.do === 'reset') response.socket?.resetAndDestroy();
        else response.socket?.destroy();
        return;
    }
  }
}

/** A length where the whole body is known; a stream of events is chunked, also one that was scripted as bytes. */
function headersOf({ status, headers, body }: Answer): Record<string, string | number> {
  const isStream = body.kind === 'events' || headers['content-type']?.startsWith('text/event-stream') === true;
  return isStream || status === 304 ? { ...headers } : { ...headers, 'content-length': body.bytes.length };
}

function wait(ms: number | undefined, { clock, stalls, account, gone }: Stage): Promise<unknown> {
  if (ms === undefined) return stalls.stand(account, gone);
  return ms === 0 ? setImmediate() : clock.wait(ms, gone);
}

/** Everything written so far, headers included, has been handed to the kernel: what follows cannot overtake it. */
async function flushed(response: ServerResponse, gone: AbortSignal): Promise<void> {
  response.uncork();
  const { socket } = response;
  if (socket === null || gone.aborted) return;
  if (response.headersSent) response.flushHeaders();
  if (socket.writableLength === 0) return;
  await settled((done) => socket.write('', done), gone);
}

/** Resolves when it is done, or when the connection is gone. */
function settled(start: (done: () => void) => void, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (gone.aborted) return resolve();
    const done = (): void => {
      gone.removeEventListener('abort', done);
      resolve();
    };
    gone.addEventListener('abort', done);
    start(done);
  });
}
