// One attempt of a pass-through row at one account: sent, its reply piped, silence and early answers minded.
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Counters } from '../../metrics.ts';
import { noteClass } from '../../turn/error-class.ts';
import { carrierFailure, type Failure, statusFailure } from '../../turn/failure.ts';
import { Refusal } from '../../turn/refusal.ts';
import type { Head, Headers } from '../../turn/turn.ts';
import { PassFailed } from '../../upstream/pass-through.ts';
import { answerHeaders, pathOf, requestHeaders, type Sender } from './forward-headers.ts';
import { watchSilence } from './reply-silence.ts';
import type { MeteredBody } from './streamed-body.ts';
import { drain } from './write-answer.ts';

export interface ForwardAttempt extends Sender {
  readonly body: MeteredBody | undefined;
  readonly counters: Counters;
}

/** `answered`: the client has its reply, or what came of it. `gone`: the client left before one. */
export type Passed =
  | { readonly kind: 'answered'; readonly status: number; readonly failure?: Failure }
  | { readonly kind: 'gone'; readonly status?: number }
  | { readonly kind: 'failed'; readonly status?: number; readonly failure: Failure; readonly authorization: string | undefined };

const MAX_ERROR_BYTES = 65_536;

/** @throws Refusal when the client's body was refused on its way */
export async function forwardAttempt(attempt: ForwardAttempt): Promise<Passed> {
  const { exchange, lease, body, counters } = attempt;
  const { turn, request, response } = exchange;
  const headers = requestHeaders(attempt);
  const sending = lease.upstream.pass.send(
    { method: request.method ?? '', path: pathOf(turn, request), headers, body: body?.stream ?? null },
    response,
  );
  // Also behind the reply's head: an account that answers early still reads on.
  body?.refused.catch(() => sending.abort());
  const failed = (failure: Failure, status?: number): Passed => {
    return { kind: 'failed', failure, authorization: headers.authorization, ...(status === undefined ? {} : { status }) };
  };
  try {
    const reply = await (body ? Promise.race([sending.reply, body.refused]) : sending.reply);
    const status = reply.statusCode ?? 0;
    if (status >= 200 && status < 300) return await relay(attempt, reply, () => sending.abort());
    if (status < 300) return failed(carrierFailure('malformed'), status);
    const { upstream_idle_ms } = turn.generation.config.timeouts;
    const text = await bounded(reply, upstream_idle_ms, () => counters.add('upstream_idle_timeouts'));
    return failed(statusFailure(status, reply.headers as Headers, text, turn.now()), status);
  } catch (thrown) {
    if (thrown instanceof Refusal) count(thrown, counters);
    if (!(thrown instanceof PassFailed)) throw thrown;
    if (thrown.failure === 'gone') return { kind: 'gone' };
    if (thrown.failure === 'first_byte') counters.add('upstream_first_byte_timeouts');
    return failed(carrierFailure(thrown.failure));
  } finally {
    // Whatever is left of the upload is nobody's here any more, and no connection waits for it.
    if (!request.complete) sending.abort();
    body?.detach();
  }
}

async function relay({ exchange, lease, body, counters }: ForwardAttempt, reply: IncomingMessage, abort: () => void): Promise<Passed> {
  const { turn, request, response } = exchange;
  const status = reply.statusCode as number;
  const head: Head = { status, headers: answerHeaders(turn, reply) };
  turn.rules.head(head);
  const early = body !== undefined && !request.complete;
  if (early) response.shouldKeepAlive = false;
  response.writeHead(status, { ...head.headers, 'x-request-id': turn.id });
  lease.answered();
  const { upstream_idle_ms } = turn.generation.config.timeouts;
  let cut: Failure | undefined;
  // Told apart here: where the client leaves first, the reply fails because of that.
  reply.once('error', () => {
    if (!response.destroyed) cut ??= carrierFailure('network');
  });
  const silent = (): void => {
    counters.add('upstream_idle_timeouts');
    cut = carrierFailure('idle');
  };
  watchSilence(reply, { ms: upstream_idle_ms, reader: response, silent });
  const piped = early ? pipeline(reply, lingering(request, body, abort), response) : pipeline(reply, response);
  const whole = await piped.then(
    () => true,
    () => false,
  );
  if (whole) turn.end({ outcome: { kind: 'completed', shown: true }, status, code: null });
  else if (cut) {
    noteClass(turn, cut);
    turn.end({ outcome: { kind: 'cut', shown: true }, status, code: null });
  } else {
    turn.end({ outcome: { kind: 'client_gone', shown: true }, status: 499, code: null });
    return { kind: 'gone', status };
  }
  return { kind: 'answered', status, ...(cut && { failure: cut }) };
}

/** The account answered before the upload was over, and has no use for the rest; its client reads the answer before the end. */
function lingering(request: IncomingMessage, body: MeteredBody, abort: () => void): Transform {
  return new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush(done) {
      if (request.complete) return done();
      abort();
      body.detach();
      return drain(request, done);
    },
  });
}

/** The head of a refusal's body is all that is ever told of it, and the status alone says enough where that breaks off. */
function bounded(reply: IncomingMessage, ms: number, silent: () => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  watchSilence(reply, { ms, silent });
  reply.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ERROR_BYTES) reply.destroy();
    else chunks.push(chunk);
  });
  return new Promise((resolve) => {
    const over = (): void => resolve(Buffer.concat(chunks));
    if (reply.closed) over();
    else reply.on('error', () => undefined).once('close', over);
  });
}

function count({ code }: Refusal, counters: Counters): void {
  if (code === 'request_too_large') counters.add('bodies_too_large');
  if (code === 'request_timeout') counters.add('body_timeouts');
}
