// Pass-through rows: the body unread in both directions, headers by allow-list, one account, metadata alone in the log (B1, C5).
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { AccountConfig } from '../config/config.ts';
import { withCredential } from '../dispatch/compose.ts';
import { carrierFailure, type Failure, mayTryAnother, statusFailure } from '../dispatch/failure.ts';
import { told } from '../dispatch/tell.ts';
import type { LiveTurn } from '../live-turn.ts';
import { Refusal } from '../refusal.ts';
import type { Head, Headers } from '../turn.ts';
import { PassFailed } from '../upstream/pass.ts';
import type { Upstream } from '../upstream/upstreams.ts';
import { nativeAnswerHeaders, nativeRequestHeaders } from './headers.ts';
import type { Answer, Exchange, Handler } from './http-turn.ts';
import { type MeteredBody, meteredBody } from './metered-body.ts';

export interface PassChoice {
  readonly account: AccountConfig;
  readonly upstream: Upstream;
}

/** An account of the turn's Pool that was not tried yet; no model is involved. */
export type ChoosePass = (turn: LiveTurn, tried: ReadonlySet<string>) => PassChoice | undefined;

const MAX_ERROR_BYTES = 65_536;
const SDP = 'application/sdp';

export function forwarding(choose: ChoosePass): Handler {
  return async (exchange): Promise<Answer | undefined> => {
    const { turn, request, response } = exchange;
    if (sdpOnly(turn) && mediaType(request) !== SDP) throw new Refusal('unsupported_media_type');
    const { limits, timeouts } = turn.generation.config;
    const bodyless = request.method === 'GET' || request.method === 'DELETE';
    if (!bodyless && request.headers.expect !== undefined) response.writeContinue();
    const body = bodyless ? undefined : meteredBody(request, { bytes: limits.request_body_bytes, idleMs: timeouts.client_body_idle_ms });
    const tried = new Set<string>();
    const failures: Failure[] = [];
    for (;;) {
      const choice = choose(turn, tried);
      if (!choice) return answerOf(failures, turn);
      tried.add(choice.account.id);
      const failure = await passOn(exchange, choice, body);
      if (!failure) return undefined;
      failures.push(failure);
      // A body that went out cannot be sent again.
      if (body || !mayTryAnother(failure) || tried.size >= turn.pool.max_attempts) return answerOf(failures, turn);
    }
  };
}

async function passOn(exchange: Exchange, { account, upstream }: PassChoice, body: MeteredBody | undefined): Promise<Failure | undefined> {
  const { turn, request, response } = exchange;
  turn.account = account;
  upstream.inFlight++;
  const at = turn.now();
  let status: number | null = null;
  let failure: Failure | undefined;
  const sending = upstream.pass.send(
    {
      method: request.method ?? '',
      path: pathOf(turn, request),
      headers: requestHeaders(turn, request, account),
      body: body?.stream ?? null,
    },
    response,
  );
  try {
    const reply = await (body ? Promise.race([sending.reply, body.refused]) : sending.reply);
    status = reply.statusCode ?? 502;
    if (status >= 300) failure = statusFailure(status, reply.headers as Headers, await bounded(reply), turn.now());
    else await relay(exchange, status, reply);
  } catch (thrown) {
    if (!(thrown instanceof PassFailed)) {
      sending.reply.catch(() => undefined);
      sending.abort();
      throw thrown;
    }
    failure = carrierFailure(thrown.failure);
  } finally {
    upstream.inFlight--;
    turn.attempts.push({
      request_id: turn.id,
      ordinal: turn.attempts.length,
      at,
      account: account.label,
      cause: turn.attempts.length === 0 ? 'first' : 'failover',
      status,
      error_class: failure?.cause ?? null,
      duration_ms: turn.now() - at,
      upstream_error_param: null,
    });
  }
  return failure;
}

async function relay({ turn, response }: Exchange, status: number, reply: IncomingMessage): Promise<void> {
  const headers = nativeAnswerHeaders(reply.headers as Headers, turn.wire, turn.pool.hide_account_quota ? 'hide-quota' : 'show-quota');
  const { location, 'content-length': length, 'content-encoding': coding } = reply.headers;
  if (sdpOnly(turn) && location !== undefined) headers.location = location;
  if (length !== undefined) headers['content-length'] = length;
  if (coding !== undefined) headers['content-encoding'] = coding;
  const head: Head = { status, headers };
  turn.passage.head(head);
  response.writeHead(status, { ...head.headers, 'x-request-id': turn.id });
  const whole = await pipeline(reply, response).then(
    () => true,
    () => false,
  );
  const gone = !whole && !reply.errored;
  turn.end({ outcome: { kind: whole ? 'completed' : gone ? 'client_gone' : 'cut', shown: true }, status: gone ? 499 : status, code: null });
}

/** Query strings are forwarded here, and nowhere logged (Q15). */
function pathOf(turn: LiveTurn, request: IncomingMessage): string {
  const query = request.url?.indexOf('?') ?? -1;
  return turn.route.upstream + (query === -1 ? '' : request.url?.slice(query));
}

function requestHeaders(turn: LiveTurn, request: IncomingMessage, account: AccountConfig): Record<string, string> {
  const headers = nativeRequestHeaders(turn.headers, turn.wire);
  headers['accept-encoding'] = 'identity';
  const { 'content-length': length, 'content-encoding': coding } = turn.headers;
  if (coding !== undefined) headers['content-encoding'] = coding;
  if (length !== undefined) headers['content-length'] = length;
  else if (request.method === 'POST') headers['transfer-encoding'] = 'chunked';
  turn.passage.attempt({ account, carrier: 'http', path: turn.route.upstream, headers, body: {} });
  return withCredential(headers, account, turn.generation.loaded);
}

function answerOf(failures: readonly Failure[], turn: LiveTurn): Answer {
  if (failures.length === 0) throw new Refusal('no_eligible_account');
  const answer = told(failures, turn);
  if (answer instanceof Refusal) throw answer;
  return answer;
}

async function bounded(reply: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of reply) {
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_ERROR_BYTES) break;
      chunks.push(chunk as Buffer);
    }
  } catch {
    // The status alone says enough of a refusal whose body broke off.
  }
  return Buffer.concat(chunks);
}

/** B2: realtime calls are an SDP proxy and nothing more. */
const sdpOnly = (turn: LiveTurn): boolean => turn.route.template.endsWith('/realtime/calls');

const mediaType = (request: IncomingMessage): string => request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
