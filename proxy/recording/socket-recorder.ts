// Connects the two sockets of a websocket, and records its frames in the order in which they passed.
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ExchangeEnd, RecordedFrame } from './fixture.ts';
import { FrameRecorder } from './frame-recorder.ts';
import type { Redactor } from './redactor.ts';
import { Stopwatch } from './timing.ts';

/** The most frames of one websocket. Later ones are only relayed. */
const MAX_FRAMES = 200_000;

export interface SocketRecorderOptions {
  readonly client: Socket;
  readonly account: Socket;
  /** The bytes that came with the heads. */
  readonly early: { readonly client: Buffer; readonly account: Buffer };
  readonly extensions: string | undefined;
  readonly redactor: Redactor;
  readonly now: () => number;
}

/** Resolves when both directions have ended. */
export async function recordSocket(
  options: SocketRecorderOptions,
): Promise<{ readonly frames: RecordedFrame[]; readonly end: ExchangeEnd }> {
  const { client, account, early, extensions, redactor, now } = options;
  const frames: RecordedFrame[] = [];
  const watch = new Stopwatch(now);
  let first: RecordedFrame['from'] | undefined;
  const direction = async (from: RecordedFrame['from'], source: Socket, target: Socket): Promise<void> => {
    const recorder = new FrameRecorder({
      from,
      extensions,
      redactor,
      onFrame: (frame) => {
        if (frames.length < MAX_FRAMES) frames.push({ ...watch.lap(), ...frame });
      },
    });
    const tap = new PassThrough().on('data', (chunk: Buffer) => recorder.push(chunk));
    if (early[from].length > 0) source.unshift(early[from]);
    await pipeline(source, tap, target).catch(() => undefined);
    first ??= from;
    // If one side dies the other is ended too, as it would be without the relay.
    target.destroySoon();
  };
  await Promise.all([direction('client', client, account), direction('account', account, client)]);
  const closed = frames.some(({ close }) => close !== undefined);
  return { frames, end: closed ? 'complete' : first === 'account' ? 'cut' : 'left' };
}
