// Connects the two sockets of a websocket, and records its frames in the order in which they passed, from copies of the bytes.
import type { Socket } from 'node:net';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as ws from 'ws';
import type { Json } from '../turn/json/json.ts';
import type { ExchangeEnd, RecordedFrame } from './fixture.ts';
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

/** Members of ws that its types lack. */
interface FrameParser {
  readonly Receiver: new (options: {
    readonly isServer: boolean;
    readonly maxPayload: number;
    readonly extensions: Readonly<Record<string, unknown>>;
  }) => Writable;
  readonly PerMessageDeflate: new (options: { readonly isServer: boolean }) => { accept(configurations: unknown): void };
  readonly extension: { parse(header: string): Readonly<Record<string, unknown>> };
}

const { Receiver, PerMessageDeflate, extension } = ws as unknown as FrameParser;

/** The most bytes of one message. A longer one ends the recording of its direction. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const DEFLATE = 'permessage-deflate';

/** Records the messages in one direction of a websocket from copies of the passing bytes, without taking part in the connection. */
interface FrameRecorderOptions {
  readonly from: RecordedFrame['from'];
  /** The `sec-websocket-extensions` of the answer, which both sides agreed on. */
  readonly extensions: string | undefined;
  readonly redactor: Redactor;
  readonly onFrame: (frame: RecordedFrame) => void;
}

class FrameRecorder {
  readonly #parser: Writable;
  #failed = false;

  constructor({ from, extensions, redactor, onFrame }: FrameRecorderOptions) {
    const isServer = from === 'client';
    this.#parser = new Receiver({ isServer, maxPayload: MAX_MESSAGE_BYTES, extensions: agreed(extensions, isServer) });
    this.#parser.on('message', (data: Buffer, isBinary: boolean) =>
      onFrame({ from, ...(isBinary ? { binary: data.length } : messageOf(data.toString('utf8'), redactor)) }),
    );
    this.#parser.on('conclude', (close: number) => onFrame({ from, close }));
    this.#parser.on('error', () => {
      this.#failed = true;
    });
  }

  push(chunk: Buffer): void {
    // Copied, because the parser removes the mask in place.
    if (!this.#failed) this.#parser.write(Buffer.from(chunk));
  }
}

/** @throws RangeError, SyntaxError if the header is not valid */
function agreed(header: string | undefined, isServer: boolean): Readonly<Record<string, unknown>> {
  const configurations = header === undefined ? undefined : extension.parse(header)[DEFLATE];
  if (configurations === undefined) return {};
  const deflate = new PerMessageDeflate({ isServer });
  deflate.accept(configurations);
  return { [DEFLATE]: deflate };
}

function messageOf(text: string, redactor: Redactor): Pick<RecordedFrame, 'json' | 'text'> {
  try {
    return { json: redactor.json(JSON.parse(text) as Json) };
  } catch {
    return { text: `<text:${text.length}>` };
  }
}
