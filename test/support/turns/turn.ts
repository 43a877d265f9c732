// A turn without a gateway. It runs rules through the product's chain, for tables that test rules alone.
import assert from 'node:assert/strict';
import { SURFACES } from '../../../proxy/surfaces/surfaces.ts';
import { refusalInClientWords } from '../../../proxy/turn/errors/error-words.ts';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { KINDS, type RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import { Chains, type Phase } from '../../../proxy/turn/rules/rule-chain.ts';
import { RuleRun } from '../../../proxy/turn/rules/rule-run.ts';
import type { KeyConfig, PoolConfig } from '../../../proxy/turn/settings.ts';
import type { MemberNames } from '../../../proxy/turn/surface.ts';
import type {
  AccountView,
  Body,
  Event,
  FileView,
  Headers,
  ModelView,
  Outgoing,
  Presence,
  Route,
  SafeFields,
  Turn,
} from '../../../proxy/turn/turn.ts';
import { translation } from '../../../rules/input/translation.ts';

export interface TurnOptions {
  readonly kind?: RouteKind;
  readonly headers?: Headers;
  readonly key?: Partial<KeyConfig>;
  readonly pool?: Partial<PoolConfig>;
  /** The turn's model. Its id defaults to the body's `model`. */
  readonly model?: Partial<ModelView>;
  /** The presence of other models. Default: absent. */
  readonly presence?: Readonly<Record<string, Presence>>;
  readonly client?: 'http' | 'websocket';
  readonly audioBytes?: number;
  readonly params?: Turn['params'];
  /** The files of the Pool, by id. */
  readonly files?: Readonly<Record<string, FileView>>;
  readonly countTokens?: Turn['countTokens'];
  /** The decoded size of the body. Default 0. */
  readonly bodyBytes?: number;
}

export const POOL: PoolConfig = {
  id: 'team',
  label: 'Team',
  strategy: 'headroom',
  max_attempts: 3,
  allow_image_generation: true,
  request_compression_enabled: false,
  prompt_cache_locality: true,
  hide_account_quota: false,
  serving_modes: {},
  models: {},
  assignments: [],
  overflow: { on: ['quota', 'failing'], wait_ms: 0, reasoning: 'drop', tiers: {} },
};

export const KEY: KeyConfig = { id: 'ci', pool: 'team', weight: 1, secret_sha256: [], status: 'active', limits: {}, overflow: true };

export const ACCOUNT: AccountView = { id: 'north', label: 'North', models: {}, keep_fields: [], drop_fields: [], compact: 'route' };

/** A turn of a test. */
export interface TestTurn extends Turn {
  /** The notes of rules. */
  readonly noted: Partial<SafeFields>;
  /** The client's names of members, after its request was translated. */
  names: MemberNames | undefined;
}

/** A turn after authentication and model access. */
export function turnOf(options: TurnOptions = {}): TestTurn {
  const kind = options.kind ?? 'responses';
  const publicSurface = kind !== 'responses' && kind !== 'compact';
  const route: Route = {
    kind,
    method: 'POST',
    template: publicSurface ? '/v1/responses' : '/backend-api/agent/responses',
    family: publicSurface ? 'v1' : 'backend-agent',
    status: 'supported',
    class: 'stream',
    upstream: '/backend-api/agent/responses',
    sdpOnly: false,
  };
  const model: ModelView = {
    id: 'model-a',
    entry: { slug: 'model-a' },
    routable: true,
    mode: { configured: 'auto', effective: 'full', source: 'catalog' },
    ...options.model,
  };
  const key = { ...KEY, ...options.key };
  const noted: Partial<SafeFields> = {};
  return {
    names: undefined,
    credentials: SURFACES[KINDS[kind].surface].credentials(options.headers ?? {}),
    decode(work) {
      this.names = SURFACES[KINDS[kind].surface].decode?.(work, this)?.names;
    },
    spliced: () => undefined,
    id: 'req_test',
    route,
    client: options.client ?? 'http',
    headers: options.headers ?? {},
    params: options.params ?? {},
    at: 0,
    arrivedAt: 0,
    transcription: { model: 'gpt-4o-transcribe', aliases: ['gpt-transcribe'] },
    wire: { agent: 'agent', meter: 'meter', lite_marker: 'x-internal-agent-responses-lite', client_version: '0.0.0' },
    limits: {
      connections: 16_384,
      header_bytes: 32768,
      header_count: 200,
      request_body_bytes: 75_497_472,
      compressed_body_bytes: 33_554_432,
      expansion_ratio: 200,
      body_small_pieces: 100_000,
      json_values: 1_000_000,
      dense_json_bytes: 268_435_456,
      websocket_fragments: 4_096,
      websocket_controls: 1_200,
      bodies_in_memory_bytes: 536_870_912,
      audio_bytes: options.audioBytes ?? 52_428_800,
      file_bytes: 26_214_400,
      upload_bytes: 104_857_600,
      websocket_resume_bytes: 4_194_304,
      websocket_history_bytes: 33_554_432,
      websocket_histories_bytes: 268_435_456,
      upstream_event_bytes: 67_108_864,
      replies_in_memory_bytes: 536_870_912,
      pins_in_memory: 50_000,
      keyless_rows_per_second: 20,
      rows_waiting: 50_000,
      admin_body_bytes: 262_144,
      console_pages: 100,
      logins: 20,
    },
    key,
    holdReply: () => undefined,
    pool: { ...POOL, ...options.pool },
    identify: () => key,
    comesFrom: () => true,
    identifyOperator: () => true,
    isOwnHost: () => true,
    findModel: (id) => (id === model.id ? model : undefined),
    findFile: (id) => options.files?.[id],
    presenceOf: (id) => options.presence?.[id] ?? (id === model.id ? 'routable' : 'absent'),
    recoversIn: () => undefined,
    bodyBytes: options.bodyBytes ?? 0,
    large: undefined,
    countTokens: options.countTokens ?? (async () => undefined),
    hasApiAccounts: false,
    makesEmbeddings: () => false,
    openCapsule: () => undefined,
    pause: async () => undefined,
    model,
    fileOwner: undefined,
    liftedWith: () => undefined,
    lifted: undefined,
    hints: [],
    note: (field, value) => {
      noted[field] = value;
    },
    noted,
  };
}

/** Freezes all nested values, so that a rule that edits in place fails its test. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

export interface Ran {
  readonly body: Body;
  readonly turn: TestTurn;
  /** The chain of the turn, after its request and edit phases. */
  readonly rules: RuleRun;
  /** One attempt, after the rules' `attempt` phases, with the members that are sent. */
  attempt(account?: Partial<AccountView>, carrier?: Outgoing['carrier'], headers?: Record<string, string>): Outgoing;
  /** The result of one reply event. */
  event(event: Event): readonly Event[];
}

/** The run of a turn through the product's chain, which is compiled from these rules. */
export const chainOf = (rules: readonly Rule[], turn: Turn): RuleRun => new RuleRun(new Chains(rules, turn.wire).of(turn.route.kind), turn);

/** Whether it is a request of Chat, which has to be translated before the rules. */
const isOfChat = (body: unknown): boolean => isObject(body as Json) && (body as JsonObject).messages !== undefined;

/** The body that rules get. For a request of Chat it is the translation. */
export const asRulesGetIt = async (body: JsonObject, options: TurnOptions = {}): Promise<Body> =>
  isOfChat(body) ? (await run([translation], body, { ...options, kind: 'chat' })).body : body;

/** Runs the request and edit phases on a copy of `body`. Throws the Refusal of a rule, in the client's words. */
export async function run(rules: readonly Rule[], body: unknown, options: TurnOptions = {}): Promise<Ran> {
  const turn = turnOf(options);
  try {
    return await ranOf(isOfChat(body) && !rules.includes(translation) ? [translation, ...rules] : rules, body, turn);
  } catch (thrown) {
    const { names } = turn;
    throw thrown instanceof Refusal && names ? refusalInClientWords(thrown, (param) => names.nameOf(param)) : thrown;
  }
}

async function ranOf(rules: readonly Rule[], body: unknown, turn: TestTurn): Promise<Ran> {
  const chain = chainOf(rules, turn);
  const input = structuredClone(body) as Body;
  for (const member of Object.values(input)) frozen(member);
  const work = { body: input };
  await chain.request(work);
  await chain.edit(work);
  return {
    body: work.body,
    turn,
    rules: chain,
    attempt: (account = {}, carrier = 'http', headers = {}) => {
      const of = { account: { ...ACCOUNT, ...account }, api: 'agent', carrier };
      const out: Outgoing = { ...of, path: turn.route.upstream, headers, body: { ...work.body } };
      chain.attempt(out);
      return { ...out, body: encoded(out.body) };
    },
    event: (event) => [chain.event(event)].flat(),
  };
}

const encoded = (body: Body): Body => Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));

/** A phase of a single rule. Fails if the rule does not have the phase. */
export function phase<P extends Phase>(rule: Rule, name: P): NonNullable<Rule[P]> {
  const found = rule[name];
  assert.ok(found, `rule ${rule.name} has no ${name} phase`);
  return found.bind(rule) as NonNullable<Rule[P]>;
}

/** The refusal of a rule, or undefined. */
export async function refusalBy(rules: readonly Rule[], body: unknown, options: TurnOptions = {}): Promise<Refusal | undefined> {
  try {
    await run(rules, body, options);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}
