// One turn from its arrival to its end: the state that rules see, and the metadata that they note.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { isLoopback } from '../base/process/loopback.ts';
import type { Clock } from '../base/time/clock.ts';
import { failureInClientWords, refusalInClientWords } from './errors/error-words.ts';
import type { Failure } from './errors/failure.ts';
import { ItemPlaces } from './errors/item-places.ts';
import type { Refusal } from './errors/refusal.ts';
import type { JsonObject } from './json/json.ts';
import { hasApiAccounts, isApiAccount } from './provider/api-account.ts';
import { type CapsuleItem, type Capsules, MOST_SEALED_BYTES } from './provider/capsule.ts';
import { HeldBytes, type ReplyMemory } from './reply/held-bytes.ts';
import { PendingWrites } from './reply/pending-writes.ts';
import type { Sink } from './reply/sink.ts';
import { requestId } from './request-id.ts';
import { KINDS, type Kind, type RouteKind } from './routes/kinds.ts';
import type { Chains } from './rules/rule-chain.ts';
import { RuleRun } from './rules/rule-run.ts';
import type { AccountConfig, KeyConfig, Limits, OperatorConfig, PoolConfig, Timeouts, TranscriptionConfig, WireWords } from './settings.ts';
import type { Answer, Collector, Decoded, Surface } from './surface.ts';
import type { SurfaceSet } from './surface-set.ts';
import { inputTokens } from './token-estimate.ts';
import type {
  Body,
  FileView,
  Headers,
  ModeDecision,
  ModelView,
  Presence,
  Route,
  SafeFields,
  TranscriptionHint,
  Turn,
  Work,
} from './turn.ts';
import { sessionOf } from './wire/session.ts';

/** The configuration that a turn began with and keeps, compiled for look-ups. */
export interface TurnConfiguration {
  readonly config: {
    readonly wire: WireWords;
    readonly limits: Limits;
    readonly timeouts: Timeouts;
    readonly log: { readonly client_address: boolean };
    readonly mcp: { readonly allowed_hosts: readonly string[] };
    readonly transcription: TranscriptionConfig;
  };
  readonly loaded: { readonly bearers: ReadonlyMap<string, string> };
  readonly accounts: ReadonlyMap<string, AccountConfig>;
  readonly pools: ReadonlyMap<string, PoolConfig>;
  readonly chains: Chains;
  operatorOf(token: string): OperatorConfig | undefined;
  /** Whether networks of the configuration have this address. */
  hasAddress(networks: readonly string[], address: string | undefined): boolean;
}

/** The services that a turn asks. */
export interface AskedServices {
  readonly clock: Clock;
  readonly models: {
    find(pool: PoolConfig, id: string): ModelView | undefined | Promise<ModelView | undefined>;
    presence(pool: PoolConfig, id: string): Presence;
    serves(pool: PoolConfig, id: string, account: string): boolean;
  };
  readonly files: { find(pool: string, id: string): FileView | undefined | Promise<FileView | undefined> };
  /** Milliseconds until the first cooldown of a model's sources ends. */
  readonly capacity: { recoversIn(pool: PoolConfig, id: string): number | undefined };
  readonly tokens: { count(texts: readonly string[]): Promise<readonly number[] | undefined> };
  readonly capsules: Capsules;
}

/** What a turn uses of its process. */
export interface TurnHost {
  readonly services: AskedServices;
  readonly surfaces: SurfaceSet;
  /** The bytes that all turns hold of their replies. */
  readonly replyMemory: ReplyMemory;
  /** Reports an unexpected error of the turn with this id. Never throws. */
  fault(thrown: unknown, requestId: string): void;
}

export interface Arrival {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly client: 'http' | 'websocket';
  readonly method: string;
  /** As it came; for the choice of the surface alone. */
  readonly path: string;
  readonly headers: Headers;
  /** The query with its question mark, as it came; empty where there is none. */
  readonly query: string;
  /** Of the client; undefined where it is not known, or this configuration does not ask for it. */
  readonly address?: string | undefined;
  /** The key that a secret opens, whatever its status. */
  readonly keyOf: (secret: string) => KeyConfig | undefined;
  /** The serving mode that another node captured before it forwarded the turn (SM7). */
  readonly mode?: ModeDecision | undefined;
}

const NO_HINTS: readonly TranscriptionHint[] = [];

export class LiveTurn implements Turn {
  readonly id: string;
  readonly at: number;
  readonly arrivedAt: number;
  /** Its kind, the row below and the chain of `rules` belong together: only `become` changes them. */
  route: Route;
  /** The row of the route's kind in the table of kinds; undefined for a request outside the route table. */
  kind: Kind | undefined;
  readonly surface: Surface;
  readonly params: Readonly<Record<string, string>>;
  readonly client: 'http' | 'websocket';
  readonly method: string;
  readonly headers: Headers;
  readonly query: string;
  readonly address: string | undefined;
  readonly generation: TurnConfiguration;
  rules: RuleRun;
  /** The bytes of the reply in memory. */
  readonly held: HeldBytes;
  /** The notes of rules: the safe metadata of the turn's row. */
  readonly noted: Partial<SafeFields> = {};
  model: ModelView | undefined;
  fileOwner: string | undefined;
  lifted: string | undefined;
  hints: readonly TranscriptionHint[] = NO_HINTS;
  /** The exposed id that the client asked for, where a fallback of it is served (AA76). */
  requestedModel: string | undefined;
  /** The upstream websocket of its client's connection. */
  liveSocket: { liftedOf(responseId: string): string | undefined } | undefined;
  bodyBytes = 0;
  /** With several nodes: writes that the next turn may need at another node. */
  pendingWrites: PendingWrites | undefined;
  /** When the first event or byte of a reply was passed on; Unix milliseconds. */
  committedAt: number | undefined;
  #identity: { readonly key: KeyConfig; readonly pool: PoolConfig } | undefined;
  #operator: OperatorConfig | undefined;
  /** Undefined until the request was decoded, and on a surface without a translation. */
  #decoded: Decoded<unknown> | undefined;
  #places: ItemPlaces | undefined;
  #sealedBytes = 0;
  readonly #keyOf: Arrival['keyOf'];
  #mode: ModeDecision | undefined;
  readonly #host: TurnHost;

  constructor(arrival: Arrival, generation: TurnConfiguration, host: TurnHost) {
    const { kind } = arrival.route;
    this.at = host.services.clock.now();
    this.arrivedAt = host.services.clock.wallTime();
    this.id = requestId(this.at);
    this.route = arrival.route;
    this.kind = kind && KINDS[kind];
    this.surface = host.surfaces.of({ path: arrival.path, headers: arrival.headers, kind }, this.kind);
    this.params = arrival.params;
    this.client = arrival.client;
    this.method = arrival.method;
    this.headers = arrival.headers;
    this.query = arrival.query;
    this.address = arrival.address;
    this.generation = generation;
    this.#keyOf = arrival.keyOf;
    this.#mode = arrival.mode;
    this.#host = host;
    this.held = new HeldBytes(host.replyMemory, generation.config.limits);
    this.rules = new RuleRun(generation.chains.of(kind), this);
  }

  liftedWith(responseId: string): string | undefined {
    return this.liveSocket?.liftedOf(responseId);
  }

  /**
   * Continues as a turn of another kind of the same surface, because its body asks for other work than its route's kind does. Called
   * before the request phases of its rules. The row keeps the endpoint of the client.
   */
  become(kind: RouteKind): void {
    this.route = { ...this.route, kind };
    this.kind = KINDS[kind];
    this.rules = new RuleRun(this.generation.chains.of(kind), this);
  }

  /** Remembers what depends on the turn's model. @returns restores it */
  checkpoint(): () => void {
    const { rules, model, fileOwner, lifted, requestedModel } = this;
    const [decoded, places, mode, noted] = [this.#decoded, this.#places, this.#mode, { ...this.noted }];
    return () => {
      this.restart();
      Object.assign(this, { rules, model, fileOwner, lifted, requestedModel });
      Object.assign(this.noted, noted);
      [this.#decoded, this.#places, this.#mode] = [decoded, places, mode];
    };
  }

  /** Begins again before the request phases of its rules, for another model (AA76). A mode that another node captured was the first one's. */
  restart(): void {
    for (const field of Object.keys(this.noted) as (keyof SafeFields)[]) delete this.noted[field];
    this.rules = new RuleRun(this.generation.chains.of(this.route.kind), this);
    this.model = undefined;
    this.fileOwner = undefined;
    this.lifted = undefined;
    this.requestedModel = undefined;
    this.#decoded = undefined;
    this.#places = undefined;
    this.#mode = undefined;
  }

  get wire(): WireWords {
    return this.generation.config.wire;
  }

  get limits(): Limits {
    return this.generation.config.limits;
  }

  get transcription(): TranscriptionConfig {
    return this.generation.config.transcription;
  }

  get timeouts(): Timeouts {
    return this.generation.config.timeouts;
  }

  get key(): KeyConfig {
    return this.#authenticated().key;
  }

  get pool(): PoolConfig {
    return this.#authenticated().pool;
  }

  /** The key and its Pool; undefined before authentication. */
  get identity(): { readonly key: KeyConfig; readonly pool: PoolConfig } | undefined {
    return this.#identity;
  }

  /** The operator that uses /mcp. Throws until `identifyOperator` succeeded. */
  get operator(): OperatorConfig {
    if (!this.#operator) throw new Error('the turn has no operator');
    return this.#operator;
  }

  now(): number {
    return this.#host.services.clock.now();
  }

  wallTime(): number {
    return this.#host.services.clock.wallTime();
  }

  after(ms: number, run: () => void): () => void {
    return this.#host.services.clock.after(ms, run);
  }

  /** Reports an unexpected error to operators. */
  fault(thrown: unknown): void {
    this.#host.fault(thrown, this.id);
  }

  get credentials(): readonly string[] {
    return this.surface.credentials(this.headers);
  }

  /** The session that the client names: as its surface reads it, or by a continuity header (F8.1). */
  get session(): string | undefined {
    return this.#decoded?.session ?? sessionOf(this.headers, this.wire);
  }

  decode(work: Work): void {
    this.#decoded = this.surface.decode?.(work, this);
  }

  spliced(at: number, removed: number, added: number): void {
    this.#places ??= new ItemPlaces();
    this.#places.splice(at, removed, added);
  }

  /** The headers of every answer that state the id of its row. */
  idHeaders(): Record<string, string> {
    return Object.fromEntries(this.surface.idHeaders.map((name) => [name, this.id]));
  }

  /** A refusal as the client gets it: with its own names of members, in the envelope of its surface. */
  shown(refusal: Refusal): Refusal {
    // No rule that moves items refuses by their places: those are still the places after the decoding.
    const names = this.#decoded?.names;
    const named = names ? refusalInClientWords(refusal, (param) => names.nameOf(param)) : refusal;
    return this.surface.refusal?.(named, this, this.#decoded?.memory) ?? named;
  }

  /** Counts what the client's words for this refusal need; undefined for nearly all refusals. */
  measure(refusal: Refusal): Promise<void> | undefined {
    return this.#decoded && this.surface.measure?.(refusal, this, this.#decoded.memory);
  }

  placeBefore(param: string): string {
    return this.#places?.before(param) ?? param;
  }

  /** A provider's failure with the client's names of members; native clients get an agent backend's own. */
  named(failure: Failure): Failure {
    const [names, places] = [this.#decoded?.names, this.#places];
    if ((this.surface.agentProtocol && !failure.namesTurn) || (!names && !places)) return failure;
    return failureInClientWords(failure, (sent) => {
      const param = places?.before(sent) ?? sent;
      return names ? names.nameOf(param) : param;
    });
  }

  identify(secret: string): KeyConfig | undefined {
    const key = this.#keyOf(secret);
    const pool = key && this.generation.pools.get(key.pool);
    if (!pool) return undefined;
    this.#identity = { key, pool };
    return key;
  }

  comesFrom(networks: readonly string[] | undefined): boolean {
    return networks === undefined || this.generation.hasAddress(networks, this.address);
  }

  identifyOperator(token: string): boolean {
    this.#operator = this.generation.operatorOf(token);
    return this.#operator !== undefined;
  }

  isOwnHost(host: string): boolean {
    const name = host.replace(/:\d+$/, '');
    if (isLoopback(name)) return true;
    const known = [host, name].map((one) => one.toLowerCase());
    return this.generation.config.mcp.allowed_hosts.some((allowed) => known.includes(allowed.toLowerCase()));
  }

  findModel(id: string): ModelView | undefined | Promise<ModelView | undefined> {
    const found = this.#host.services.models.find(this.pool, id);
    if (!this.#mode) return found;
    return found instanceof Promise ? found.then((view) => this.#captured(view)) : this.#captured(found);
  }

  findFile(id: string): FileView | undefined | Promise<FileView | undefined> {
    return this.#host.services.files.find(this.pool.id, id);
  }

  presenceOf(id: string): Presence {
    return this.#host.services.models.presence(this.pool, id);
  }

  recoversIn(): number | undefined {
    return this.model && this.#host.services.capacity.recoversIn(this.pool, this.model.id);
  }

  /** Maps a final response to the client's answer: by the rules, then in the encoding of the surface. @throws Refusal of a rule */
  answerOf(response: JsonObject, collector?: Collector): JsonObject {
    const answer = this.rules.answer(response);
    return collector?.answer(answer) ?? this.surface.answer?.(answer, this, this.#decoded?.memory) ?? answer;
  }

  /** The answer of a request that asks only for its checks (AM26). */
  get checked(): Answer | undefined {
    return this.#decoded?.answer;
  }

  /** The decoded request, where the estimate of its tokens cannot read the client's own. */
  get request(): Body | undefined {
    return this.#decoded?.request;
  }

  get promptTokens(): number {
    return this.request ? inputTokens(this.request) : 0;
  }

  collector(): Collector | undefined {
    return this.surface.collector?.(this, this.#decoded?.memory);
  }

  /** The sink of its reply as a stream over HTTP. */
  stream(response: ServerResponse): Sink {
    return this.surface.stream(response, this, this.#decoded?.memory);
  }

  countTokens(texts: readonly string[]): Promise<readonly number[] | undefined> {
    return this.#host.services.tokens.count(texts);
  }

  makesEmbeddings(model: string): boolean {
    const { accounts } = this.generation;
    const { models } = this.#host.services;
    return this.pool.assignments.some(({ account: id }) => {
      const account = accounts.get(id);
      return account && isApiAccount(account) && account.serves.includes('embeddings') && models.serves(this.pool, model, id);
    });
  }

  get hasApiAccounts(): boolean {
    return hasApiAccounts(this.pool, this.generation.accounts);
  }

  /** Seals a text for an item of the reply; undefined where the capsules of the turn would become larger than they may. */
  sealCapsule(item: CapsuleItem, text: string): string | undefined {
    this.#sealedBytes += Buffer.byteLength(text);
    return this.#sealedBytes > MOST_SEALED_BYTES ? undefined : this.#host.services.capsules.seal(text, this.pool.id, item);
  }

  openCapsule(item: CapsuleItem, sealed: string): string | undefined {
    return this.#host.services.capsules.open(sealed, this.pool.id, item);
  }

  pause(): Promise<void> {
    return setImmediate();
  }

  note<F extends keyof SafeFields>(field: F, value: SafeFields[F]): void {
    this.noted[field] = value;
  }

  /** The terminal event waits a little for this write, which never rejects. */
  endsAfter(write: Promise<void>): void {
    this.pendingWrites ??= new PendingWrites();
    this.pendingWrites.add(write);
  }

  holdReply(bytes: number): void {
    this.held.hold(bytes);
  }

  /** Without a routable source the model has no mode, also where one was captured (MC7). */
  #captured(view: ModelView | undefined): ModelView | undefined {
    return view?.mode && this.#mode ? { ...view, mode: this.#mode } : view;
  }

  #authenticated(): { readonly key: KeyConfig; readonly pool: PoolConfig } {
    if (!this.#identity) throw new Error('the turn has not been authenticated');
    return this.#identity;
  }
}
