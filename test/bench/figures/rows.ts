// The rows of the table: each with its measurement, its reference and its bounds.
import {
  AGENT_ACCOUNT,
  CHAT_ACCOUNT,
  GATEWAY,
  GATEWAY_CAPPED,
  GATEWAY_CHAT,
  GATEWAY_MESSAGES,
  GATEWAY_V1,
  REFERENCE,
  UNDICI,
} from '../relays/crew.ts';
import { chatAccountStreams, chatAccountTurns } from '../scenarios/chat-accounts.ts';
import { compressionCost } from '../scenarios/compression.ts';
import { growth, LARGE, SMALL } from '../scenarios/growth.ts';
import { addedLatency, jsonTurns, REFERENCE_STREAM } from '../scenarios/json.ts';
import { idleStreams, stalledReader } from '../scenarios/memory.ts';
import { convergence } from '../scenarios/nodes/convergence.ts';
import { forwardedFrames } from '../scenarios/nodes/forwarding.ts';
import { OVERLOADED, overload, UNLOADED } from '../scenarios/overload.ts';
import { FREE, LIMITED, ON_POSTGRES, ON_SQLITE, postgresCapacity, postgresCost, postgresTrips } from '../scenarios/postgres/postgres.ts';
import { guardRefusals, NODE, refusals } from '../scenarios/refusals.ts';
import { requestLog } from '../scenarios/request-log.ts';
import { JSON_ALONE, rulesCost } from '../scenarios/rules.ts';
import { SOCKETS, STREAMS, scaledStreams, scaledWebsockets } from '../scenarios/scale.ts';
import { chatStreams, flatStreams, messageStreams, pacedStreams } from '../scenarios/sse.ts';
import { startToFirstAnswer } from '../scenarios/start.ts';
import { PIECES, peakInPiecesOf, stalledUploads, uploads } from '../scenarios/uploads.ts';
import { WATCHED, watchedTurns } from '../scenarios/watched.ts';
import { idleWebsockets, RAW_RELAY, websocketTurns } from '../scenarios/websocket.ts';
import type { Scenario } from './sheet.ts';

/** A bound, either as a multiple of the reference in the same run or as an absolute figure. */
export type Bound = { readonly times: number } | { readonly most: number };

export interface Row {
  /** The name for `--only`. */
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  /** The scenario that measures the row; several rows may read figures of the same scenario. */
  readonly scenario: Scenario;
  readonly figure: string;
  readonly subject: string;
  readonly reference: string | undefined;
  /** Undefined for a figure without a budget. */
  readonly must: Bound | undefined;
  readonly aim: Bound | undefined;
  /** Takes so long that only `--only` runs it. */
  readonly onDemand?: boolean;
}

interface Against {
  readonly reference?: string;
  readonly subject?: string;
  readonly aim?: Bound;
  readonly onDemand?: boolean;
}

const times = (factor: number): Bound => ({ times: factor });
const most = (value: number): Bound => ({ most: value });

function row(
  name: string,
  title: string,
  unit: string,
  scenario: Scenario,
  figure: string,
  must: Bound | undefined,
  against: Against = {},
): Row {
  return { name, title, unit, scenario, figure, must, subject: GATEWAY, reference: undefined, aim: undefined, ...against };
}

const bare = (aim: number): Against => ({ reference: REFERENCE, aim: times(aim) });
const GROWN: Against = { subject: LARGE, reference: SMALL, aim: times(1.05) };
const ON_DEMAND: Against = { onDemand: true };
const streams = STREAMS.toLocaleString('en');
const sockets = SOCKETS.toLocaleString('en');

export const ROWS: readonly Row[] = [
  row('json', 'CPU per JSON turn, 0.8 KB, 64 connections', 'µs', jsonTurns, 'cpu per turn', times(0.75), { reference: REFERENCE }),
  row('json-undici', '… against a bare relay', 'µs', jsonTurns, 'cpu per turn', times(1.3), { reference: UNDICI, aim: times(1.15) }),
  row('json-v1', '… on /v1, collected from a stream', 'µs', jsonTurns, 'cpu per turn', times(0.6), {
    subject: GATEWAY_V1,
    reference: REFERENCE_STREAM,
  }),
  row('console', '… with five pages of the console open', 'µs', watchedTurns, 'cpu per watched turn', times(1.02), {
    subject: WATCHED,
    reference: GATEWAY,
  }),
  row('latency', 'latency added at 1 connection, p50', 'µs', addedLatency, 'added latency', times(2), bare(1.3)),
  row('sse-paced', 'CPU per million events, 200 streams × 50/s', 's', pacedStreams, 'cpu per paced event', times(1.15), bare(1)),
  row('sse-flat', 'CPU per million events, flat out', 's', flatStreams, 'cpu per flat event', times(1.1), bare(0.8)),
  row('sse-capped', '… for a key with a cap of output tokens', 's', flatStreams, 'cpu per flat event', times(2), {
    subject: GATEWAY_CAPPED,
    reference: GATEWAY,
    aim: times(1.5),
  }),
  row('chat', '… translated to Chat', 's', chatStreams, 'cpu per translated event', times(2), {
    subject: GATEWAY_CHAT,
    reference: GATEWAY,
    aim: times(1.5),
  }),
  row('chat-paced', '… translated to Chat, 200 streams × 50/s', 's', chatStreams, 'cpu per paced translated event', times(2), {
    subject: GATEWAY_CHAT,
    reference: GATEWAY,
    aim: times(1.5),
  }),
  row('messages', 'a Messages stream against the Chat stream', 's', messageStreams, 'cpu per event of a surface', times(1.2), {
    subject: GATEWAY_MESSAGES,
    reference: GATEWAY_CHAT,
  }),
  row(
    'account-stream',
    'CPU per million events of a Chat account, flat out',
    's',
    chatAccountStreams,
    'cpu per event of an account',
    times(1.5),
    {
      subject: CHAT_ACCOUNT,
      reference: AGENT_ACCOUNT,
      aim: times(1.2),
    },
  ),
  row('account-json', 'CPU per JSON turn of a Chat account, on /v1', 'µs', chatAccountTurns, 'cpu per turn of an account', times(1.3), {
    subject: CHAT_ACCOUNT,
    reference: AGENT_ACCOUNT,
    aim: times(1.2),
  }),
  row('sse-p99', 'event latency, paced, p99', 'ms', pacedStreams, 'paced event p99', times(2), bare(1)),
  row('sse-memory', 'memory per idle SSE stream', 'KB', idleStreams, 'memory per idle stream', times(1.2), bare(1)),
  row('ws-memory', 'memory per idle websocket, both sides', 'KB', idleWebsockets, 'memory per idle websocket', most(20), { aim: most(16) }),
  row('ws-turn', 'CPU per websocket turn, echoed', 'µs', websocketTurns, 'cpu per websocket turn', times(2.5), {
    reference: RAW_RELAY,
    aim: times(2),
  }),
  row('ws-forward', 'CPU per websocket frame forwarded to another node', 'µs', forwardedFrames, 'cpu per forwarded frame', times(1.5), {
    reference: RAW_RELAY,
  }),
  row('stalled', 'held for a stalled reader of 100 MB', 'MiB', stalledReader, 'held for a stalled reader', most(2)),
  row('upload', 'CPU per audio upload of 100 MB', 'ms', uploads, 'cpu per upload', times(1.1), bare(1)),
  row('upload-peak', '… peak of resident memory above that before', 'MiB', uploads, 'peak of an upload', most(64)),
  row('upload-held', '… held of each while the account reads nothing', 'MiB', stalledUploads, 'held per upload', most(1)),
  // At most 1 MiB of each is held, however it arrives.
  ...PIECES.map((piece) =>
    row(
      `upload-pieces-${piece}`,
      `… peak of each, in pieces of ${piece.toLocaleString('en')}`,
      'MiB',
      stalledUploads,
      peakInPiecesOf(piece),
      most(4),
    ),
  ),
  ...([401, 429, 503] as const).map((status) =>
    row(`refuse-${status}`, `CPU per refusal, ${status}`, 'µs', refusals(status), `cpu per ${status}`, times(1.2), { reference: NODE }),
  ),
  row('refuse-guard', 'CPU per refusal, 503 of the overload guard', 'µs', guardRefusals, 'cpu per refusal of the guard', times(1.2), {
    reference: NODE,
  }),
  row('overload-p99', 'time of accepted turns, 3 × the load carried, p99', 'ms', overload, 'accepted p99', times(2), {
    subject: OVERLOADED,
    reference: UNLOADED,
  }),
  row('overload-refused', '… of refused turns, p99', 'ms', overload, 'refused p99', most(50), { subject: OVERLOADED }),
  row('overload-memory', '… memory grown', 'MiB', overload, 'memory grown under overload', most(16), { subject: OVERLOADED }),
  row('log-lost', 'request rows lost at 5,000/s', 'rows', requestLog, 'rows lost', most(0)),
  row('log-cpu', '… main thread per row', 'µs', requestLog, 'main thread per row', most(2)),
  row('start', 'start to first answer, installed', 's', startToFirstAnswer, 'start', most(0.35), { aim: most(0.25) }),
  row(
    'grow-accounts',
    'CPU per turn, 10 → 1,000 accounts',
    'µs',
    growth('accounts', {}, { accounts: 1_000 }),
    'accounts',
    times(1.15),
    GROWN,
  ),
  row('grow-keys', 'CPU per turn, 10 → 10,000 keys', 'µs', growth('keys', {}, { keys: 10_000 }), 'keys', times(1.15), GROWN),
  row(
    'grow-pins',
    'CPU per turn, 1 → 100,000 pins',
    'µs',
    growth('pins', { sessions: 1 }, { sessions: 100_000 }),
    'pins',
    times(1.15),
    GROWN,
  ),
  ...(['full', 'lite'] as const).map((mode) =>
    row(`rules-${mode}`, `rules of a 40 KB native turn, ${mode}`, 'µs', rulesCost, `rules of a ${mode} turn`, times(1.5), {
      reference: JSON_ALONE,
    }),
  ),
  row(
    'nodes-convergence',
    'cooldown of another node, until it holds, p99',
    'ms',
    convergence,
    'cooldown of another node, p99',
    most(1_000),
    {
      aim: most(200),
    },
  ),
  row('nodes-convergence-p50', '… p50', 'ms', convergence, 'cooldown of another node, p50', most(1_000), { aim: most(200) }),
  row('postgres-trips', 'PostgreSQL: round trips a turn, key with limits', 'trips', postgresTrips, 'round trips', most(1), {
    subject: LIMITED,
  }),
  row('postgres-trips-free', '… key without limits', 'trips', postgresTrips, 'round trips', most(0), { subject: FREE }),
  row('postgres-cpu', 'PostgreSQL: CPU of the node a turn, key with limits', 'µs', postgresCost, 'cpu of a limited turn', times(1.2), {
    subject: ON_POSTGRES,
    reference: ON_SQLITE,
    aim: times(1),
  }),
  row('postgres-cpu-free', '… key without limits', 'µs', postgresCost, 'cpu of a free turn', times(1.2), {
    subject: ON_POSTGRES,
    reference: ON_SQLITE,
    aim: times(1),
  }),
  row('postgres-core', 'turns that a core of PostgreSQL serves, with limits', 'turns/s', postgresCapacity, 'turns a core', undefined),
  row('compress-cpu', 'CPU per compressed turn of 1 MiB', 'ms', compressionCost, 'cpu per compressed turn', most(15), { aim: most(8) }),
  row('compress-step', '… event loop blocked at a time', 'ms', compressionCost, 'longest step of compression', most(5)),
  row(
    'scale-sse',
    `memory per stream of ${streams}, an event/s each`,
    'KB',
    scaledStreams,
    'memory per scaled stream',
    most(30),
    ON_DEMAND,
  ),
  row('scale-sse-growth', '… grown after the first minute', 'KB', scaledStreams, 'growth per scaled stream', most(1), ON_DEMAND),
  row('scale-sse-p99', '… event latency, p99', 'ms', scaledStreams, 'p99 of scaled streams', times(1.5), {
    ...ON_DEMAND,
    reference: REFERENCE,
  }),
  row('scale-ws', `memory per idle websocket of ${sockets}, both sides`, 'KB', scaledWebsockets, 'memory per scaled websocket', most(20), {
    ...ON_DEMAND,
    aim: most(16),
  }),
  row('scale-ws-growth', '… grown after the first minute', 'KB', scaledWebsockets, 'growth per scaled websocket', most(1), ON_DEMAND),
];
