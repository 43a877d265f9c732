// A turn as it arrived: its request, its configuration, the key or operator that sent it, and what it may ask the services of its process.
import { setImmediate } from 'node:timers/promises';
import { isLoopback } from '../base/process/loopback.ts';
import { hasApiAccounts, isApiAccount } from './provider/api-account.ts';
import { type CapsuleItem, MOST_SEALED_BYTES } from './provider/capsule.ts';
import { requestId } from './request-id.ts';
import type { KeyConfig, Limits, OperatorConfig, PoolConfig, Timeouts, TranscriptionConfig, WireWords } from './settings.ts';
import type { Surface } from './surface.ts';
import type { FileView, Headers, Presence } from './turn.ts';
import type { Arrival, AskedServices, TurnConfiguration, TurnHost } from './turn-host.ts';
import { type StatedVersion, versionIn } from './wire/client-version.ts';

export class ArrivedTurn {
  readonly id: string;
  readonly at: number;
  readonly arrivedAt: number;
  readonly surface: Surface;
  readonly params: Readonly<Record<string, string>>;
  readonly client: 'http' | 'websocket';
  readonly method: string;
  readonly headers: Headers;
  readonly query: string;
  readonly address: string | undefined;
  readonly generation: TurnConfiguration;
  protected readonly services: AskedServices;
  #identity: { readonly key: KeyConfig; readonly pool: PoolConfig } | undefined;
  #operator: OperatorConfig | undefined;
  #sealedBytes = 0;
  #clientVersion: { readonly stated: StatedVersion | undefined } | undefined;
  readonly #keyOf: Arrival['keyOf'];
  readonly #host: TurnHost;

  constructor(arrival: Arrival, generation: TurnConfiguration, host: TurnHost) {
    const { services } = host;
    const { kind } = arrival.route;
    this.at = services.clock.now();
    this.arrivedAt = services.clock.wallTime();
    this.id = requestId(this.at);
    this.surface = host.surfaces.of({ path: arrival.path, headers: arrival.headers, kind });
    this.params = arrival.params;
    this.client = arrival.client;
    this.method = arrival.method;
    this.headers = arrival.headers;
    this.query = arrival.query;
    this.address = arrival.address;
    this.generation = generation;
    this.services = services;
    this.#keyOf = arrival.keyOf;
    this.#host = host;
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
    return this.services.clock.now();
  }

  wallTime(): number {
    return this.services.clock.wallTime();
  }

  after(ms: number, run: () => void): () => void {
    return this.services.clock.after(ms, run);
  }

  /** The version that a native client states; undefined if it states none. */
  get clientVersion(): StatedVersion | undefined {
    this.#clientVersion ??= { stated: versionIn(this.headers) };
    return this.#clientVersion.stated;
  }

  /** Reports an unexpected error to operators. */
  fault(thrown: unknown): void {
    this.#host.fault(thrown, this.id);
  }

  get credentials(): readonly string[] {
    return this.surface.credentials(this.headers);
  }

  /** The headers of every answer that state the id of its row. */
  idHeaders(): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const name of this.surface.idHeaders) headers[name] = this.id;
    return headers;
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

  findFile(id: string): FileView | undefined | Promise<FileView | undefined> {
    return this.services.files.find(this.pool.id, id);
  }

  presenceOf(id: string): Presence {
    return this.services.models.presence(this.pool, id);
  }

  countTokens(texts: readonly string[]): Promise<readonly number[] | undefined> {
    return this.services.tokens.count(texts);
  }

  makesEmbeddings(model: string): boolean {
    const { accounts } = this.generation;
    const { models } = this.services;
    return this.pool.assignments.some(({ account: id }) => {
      const account = accounts.get(id);
      return account && isApiAccount(account) && account.serves.includes('embeddings') && models.serves(this.pool, model, id);
    });
  }

  get hasApiAccounts(): boolean {
    return hasApiAccounts(this.pool, this.generation.accounts);
  }

  /** Seals a text for an item of the reply. Undefined if the turn's capsules would exceed their limit. */
  sealCapsule(item: CapsuleItem, text: string): string | undefined {
    this.#sealedBytes += Buffer.byteLength(text);
    return this.#sealedBytes > MOST_SEALED_BYTES ? undefined : this.services.capsules.seal(text, this.pool.id, item);
  }

  openCapsule(item: CapsuleItem, sealed: string): string | undefined {
    return this.services.capsules.open(sealed, this.pool.id, item);
  }

  pause(): Promise<void> {
    return setImmediate();
  }

  #authenticated(): { readonly key: KeyConfig; readonly pool: PoolConfig } {
    if (!this.#identity) throw new Error('the turn has not been authenticated');
    return this.#identity;
  }
}
