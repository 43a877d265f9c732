// A LiveTurn without a gateway: the product's turn with its rules, and a clock of the test.
import { MemoryGuard } from '../../../proxy/base/bytes/memory-guard.ts';
import { Counters } from '../../../proxy/base/process/metrics.ts';
import type { Clock } from '../../../proxy/base/time/clock.ts';
import { SealedCapsules } from '../../../proxy/encryption/sealed-capsules.ts';
import { SURFACES } from '../../../proxy/surfaces/surfaces.ts';
import { LiveTurn } from '../../../proxy/turn/live-turn.ts';
import { dispatchedKind, type RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import { Chains } from '../../../proxy/turn/rules/rule-chain.ts';
import type { PoolConfig, Timeouts } from '../../../proxy/turn/settings.ts';
import { SurfaceSet } from '../../../proxy/turn/surface-set.ts';
import type { Body, Headers, ModelView } from '../../../proxy/turn/turn.ts';
import { RULES } from '../../../rules/index.ts';
import { ManualClock } from '../clocks/manual-clock.ts';
import { KEY, POOL, turnOf } from './turn.ts';

export interface LiveTurnOptions {
  readonly kind?: RouteKind;
  /** The rules. Default: all rules of the product. */
  readonly rules?: readonly Rule[];
  readonly clock?: Clock;
  readonly headers?: Headers;
  readonly pool?: Partial<PoolConfig>;
  readonly model?: Partial<ModelView>;
  readonly timeouts?: Partial<Timeouts>;
  readonly upstreamEventBytes?: number;
}

/** The errors with which `turn.fault` was called. */
export type Faults = readonly unknown[];

const TIMEOUTS: Timeouts = {
  client_header_ms: 15_000,
  client_body_idle_ms: 30_000,
  client_body_ms: 900_000,
  client_read_idle_ms: 300_000,
  websocket_idle_timeout_ms: 1_800_000,
  websocket_resume_ms: 30_000,
  upstream_connect_ms: 10_000,
  upstream_first_byte_ms: 300_000,
  upstream_idle_ms: 280_000,
  upstream_refusal_ms: 10_000,
  hold_ms: 20_000,
  drain_ms: 25_000,
};

const CAPSULES = new SealedCapsules(Buffer.alloc(32, 1));

/** A turn after authentication. `faults` are the unexpected errors that it reported. */
export function liveTurnOf(options: LiveTurnOptions = {}): { readonly turn: LiveTurn; readonly faults: Faults } {
  const { kind = 'responses', rules = RULES, clock = new ManualClock(), headers = {}, pool, upstreamEventBytes } = options;
  const { route, wire, limits, model, transcription } = turnOf({ kind, ...(options.model ? { model: options.model } : {}) });
  const faults: unknown[] = [];
  const turn = new LiveTurn(
    { route, params: {}, client: 'http', method: route.method, path: route.template, headers, query: '', keyOf: () => KEY },
    {
      config: {
        wire,
        limits: { ...limits, ...(upstreamEventBytes === undefined ? {} : { upstream_event_bytes: upstreamEventBytes }) },
        transcription,
        timeouts: { ...TIMEOUTS, ...options.timeouts },
        log: { client_address: false },
        mcp: { allowed_hosts: [] },
      },
      loaded: { bearers: new Map() },
      accounts: new Map(),
      pools: new Map([[POOL.id, { ...POOL, ...pool }]]),
      chains: new Chains(rules, wire),
      operatorOf: () => undefined,
      hasAddress: () => true,
    },
    {
      services: {
        clock: { now: () => clock.now(), wallTime: () => clock.now(), after: (ms, run) => clock.after(ms, run) },
        models: {
          find: (_pool, id) => (id === model?.id ? model : undefined),
          serves: () => true,
          etag: () => '',
          presence: (_pool, id) => (id === model?.id ? 'routable' : 'absent'),
        },
        files: { find: () => undefined },
        capacity: { recoversIn: () => undefined },
        tokens: { count: async () => undefined },
        capsules: CAPSULES,
      },
      surfaces: new SurfaceSet(SURFACES),
      replyMemory: { guard: new MemoryGuard(), counters: new Counters() },
      fault: (thrown) => void faults.push(thrown),
    },
  );
  turn.identify('any secret');
  if (dispatchedKind(kind)?.model) turn.model = model;
  return { turn, faults };
}

/** A live turn after the request and edit phases of its rules for this body. */
export async function requestedTurn(body: Body, options: LiveTurnOptions = {}): Promise<ReturnType<typeof liveTurnOf>> {
  const live = liveTurnOf(options);
  await live.turn.rules.request({ body });
  await live.turn.rules.edit({ body });
  return live;
}
