// What a turn gets from its process: how it arrived, the configuration that it keeps, and the services.
import type { Clock } from '../base/time/clock.ts';
import type { Capsules } from './provider/capsule.ts';
import type { ReplyMemory } from './reply/held-bytes.ts';
import type { Chains } from './rules/rule-chain.ts';
import type { AccountConfig, KeyConfig, Limits, OperatorConfig, PoolConfig, Timeouts, TranscriptionConfig, WireWords } from './settings.ts';
import type { SurfaceSet } from './surface-set.ts';
import type { FileView, Headers, ModeDecision, ModelView, Presence, Route } from './turn.ts';
import type { ClientVersion } from './wire/client-version.ts';

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

/** The services that a turn uses. */
export interface AskedServices {
  readonly clock: Clock;
  readonly models: {
    find(pool: PoolConfig, id: string): ModelView | undefined | Promise<ModelView | undefined>;
    presence(pool: PoolConfig, id: string): Presence;
    serves(pool: PoolConfig, id: string, account: string): boolean;
    /** The tag of the model list. A client that gets an unknown tag reads the list again. */
    etag(pool: PoolConfig, key: KeyConfig, version: ClientVersion | undefined): string;
  };
  readonly files: { find(pool: string, id: string): FileView | undefined | Promise<FileView | undefined> };
  /** Milliseconds until the first cooldown of a model's sources ends. */
  readonly capacity: { recoversIn(pool: PoolConfig, id: string): number | undefined };
  readonly tokens: { count(texts: readonly string[]): Promise<readonly number[] | undefined> };
  readonly capsules: Capsules;
}

/** What a turn needs from its process. */
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
  /** The path as it came. It is used only to choose the surface. */
  readonly path: string;
  readonly headers: Headers;
  /** The query with its question mark, as it came; empty without a query. */
  readonly query: string;
  /** The client's address; undefined if it is not known, or if this configuration does not ask for it. */
  readonly address?: string | undefined;
  /** Returns the key of a secret, whatever its status. */
  readonly keyOf: (secret: string) => KeyConfig | undefined;
  /** The serving mode that another node captured before it forwarded the turn (SM7). */
  readonly mode?: ModeDecision | undefined;
}
