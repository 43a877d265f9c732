// The settings that a turn depends on, as config.yaml has them: accounts, Pools, keys, limits and the words of the wire.

export type RouteStatus = 'supported' | 'translated' | 'partial' | 'unsupported';

export type AdmissionClass = 'stream' | 'websocket' | 'compact' | 'http' | 'image' | 'file' | 'audio' | 'usage' | 'control' | 'mcp';

export type StrategyName = 'headroom' | 'least_loaded' | 'rotation' | 'fill_first' | 'soonest_reset' | 'fastest';

export type ServingMode = 'auto' | 'lite' | 'full';

/** A reference to a secret. The file never contains the secret, which is read when the configuration is loaded. */
export type SecretRef = { readonly env: string } | { readonly file: string };

/** The address of a login at the simulated provider. It replaces the addresses of a real one. */
export const SIMULATED_LOGIN = 'rehearsal:';

export interface OauthCredential {
  /** Path of a JSON file of the usual `tokens` shape; absent if the login is in the store alone. */
  readonly file?: string;
  readonly token_url: string;
  readonly client_id: string;
  /** The address of the device authorization grant (RFC 8628). */
  readonly device_url?: string;
  /** The address of the authorization code grant (RFC 6749); its query is kept. */
  readonly authorize_url?: string;
  /** The address to which the provider sends the browser back. It is a loopback address, whose port may be 0. */
  readonly redirect_url?: string;
  readonly scopes?: readonly string[];
  /** The claim that identifies the user of a login, or a list of names if the claim is nested. */
  readonly identity_claim?: string | readonly string[];
}

/** The proxy that every connection of an account goes through. */
export interface ProxyConfig {
  /** http, https or socks5; without user and password. */
  readonly url: string;
  /** `USER:PASSWORD`. */
  readonly credential?: SecretRef;
}

/** The TLS settings of an account, as paths of PEM files. */
export interface AccountTls {
  /** Authorities that are trusted in addition to the public ones. */
  readonly ca?: string;
  /** The client certificate and its key. Both are set, or neither. */
  readonly cert?: string;
  readonly key?: string;
}

export type Credential =
  | { readonly bearer: SecretRef }
  | { readonly oauth: OauthCredential }
  /** A header that carries the credential. The value is sent unchanged (AA4). */
  | { readonly header: { readonly name: string } & SecretRef };

/** How a simulated account behaves. `base_url: rehearsal:NAME` chooses the behaviour. */
export const REHEARSAL_PROFILES = [
  'steady',
  'flaky',
  'slow',
  'exhausted',
  'broken',
  'expired',
  'fragile',
  'narrow',
  'picky',
  'polite',
  'guarded',
  'chatty',
  'unreachable',
] as const;

export type RehearsalProfile = (typeof REHEARSAL_PROFILES)[number];

export interface AccountConfig {
  readonly id: string;
  readonly label: string;
  /** An absolute URL without trailing slash, or `rehearsal:` with an optional profile: `rehearsal:flaky`. */
  readonly base_url: string;
  /** The API that the account speaks. Accounts of the other two APIs have the settings of `ApiAccountConfig`. */
  readonly api: 'agent' | 'responses' | 'chat';
  /** Absent for rehearsal accounts, and for API accounts with `credential: none`. */
  readonly credential?: Credential;
  readonly proxy?: ProxyConfig;
  readonly tls?: AccountTls;
  readonly headers: Readonly<Record<string, string>>;
  /** If true, all assignments of the account count as inactive. */
  readonly paused: boolean;
  readonly visible: boolean;
  readonly max_concurrent: number;
  /** The account's own name of each exposed model id. */
  readonly models: Readonly<Record<string, string>>;
  /** Members that turns to the account may have in addition to the allow-list (Q35). */
  readonly keep_fields: readonly string[];
  readonly drop_fields: readonly string[];
  readonly websocket: boolean;
  /** `auto`: the compact path, or turns with a trigger if the account has no such path. Only API accounts can have the last two (AA13). */
  readonly compact: 'auto' | 'route' | 'trigger' | 'summary' | 'none';
  /** `derived`: turns and upgrades have a `session-id` that the gateway derives (Q35). */
  readonly session_header: 'none' | 'derived';
  readonly reserve_percent: number;
}

export interface ModelConfig {
  readonly context_window?: number;
  readonly pricing_bucket?: 'long_context' | 'short_context';
  readonly suppressed: boolean;
  readonly prices?: Prices;
  /** Exposed ids that a turn falls back to if no account can serve this model now (AA74). */
  readonly fallback?: readonly string[];
}

/** Prices in USD for a million tokens. */
export interface Prices {
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
}

/** When turns leave the base tier, and what that may cost (AA65). */
export interface OverflowConfig {
  readonly on: readonly ('quota' | 'failing' | 'full')[];
  /** How long a turn waits for an account of a lower tier, if all of them are full. */
  readonly wait_ms: number;
  /** Whether reasoning with ciphertext of another tier's account is left out, or keeps the conversation at its account (AA67). */
  readonly reasoning: 'drop' | 'keep';
  /** The cap of all tiers above 0 together. */
  readonly usd_per_day?: number;
  readonly usd_per_month?: number;
  /** The caps of single tiers. */
  readonly tiers: Readonly<Record<string, { readonly usd_per_day?: number; readonly usd_per_month?: number }>>;
}

export interface AssignmentConfig {
  readonly account: string;
  readonly active: boolean;
  readonly eligible: boolean;
  readonly weight: number;
  /** 0 to 9. Accounts of a higher tier are used if the lower ones cannot take a turn (AA65). */
  readonly tier: number;
}

export interface PoolConfig {
  readonly id: string;
  readonly label: string;
  readonly strategy: StrategyName;
  readonly max_attempts: number;
  readonly allow_image_generation: boolean;
  readonly request_compression_enabled: boolean;
  readonly prompt_cache_locality: boolean;
  readonly hide_account_quota: boolean;
  readonly image_host_model?: string;
  /** Names that Messages clients may send, each with its exposed id. */
  readonly aliases?: Readonly<Record<string, string>>;
  readonly serving_modes: Readonly<Record<string, ServingMode>>;
  readonly models: Readonly<Record<string, ModelConfig>>;
  readonly assignments: readonly AssignmentConfig[];
  readonly overflow: OverflowConfig;
}

export type EffortPolicy = { readonly allow_up_to: string } | { readonly always: string };

export interface KeyLimits {
  readonly requests_per_minute?: number;
  readonly requests_per_day?: number;
  readonly tokens_per_minute?: number;
  readonly tokens_per_day?: number;
  readonly tokens_per_week?: number;
  readonly usd_per_day?: number;
  readonly usd_per_week?: number;
  readonly concurrent?: number;
}

export interface KeyConfig {
  readonly id: string;
  readonly pool: string;
  /** The weight of the key among the keys of its Pool when turns wait for capacity. */
  readonly weight: number;
  /** Lower-case hex SHA-256 of each secret of this key. There are several during a rotation. */
  readonly secret_sha256: readonly string[];
  readonly status: 'active' | 'paused' | 'revoked';
  /** Unix milliseconds. */
  readonly expires_at?: number;
  /** Networks and `unix` from which the key may be used. Absent: all. */
  readonly allow_from?: readonly string[];
  readonly models?: readonly string[];
  readonly reasoning_effort?: EffortPolicy;
  readonly output_tokens?: { readonly max: number };
  readonly limits: KeyLimits;
  /** False: turns of this key stay in base tiers (AA71). */
  readonly overflow: boolean;
}

/** An operator, who may read /mcp. */
export interface OperatorConfig {
  readonly id: string;
  /** Lower-case hex SHA-256 of each token. */
  readonly token_sha256: readonly string[];
  /** Ids of Pools. */
  readonly owns: readonly string[];
  readonly assigned: readonly string[];
  /** Whether the operator may see and change everything on the admin listener. */
  readonly admin: boolean;
}

export interface WireWords {
  readonly agent: string;
  readonly meter: string;
  readonly lite_marker: string;
  /** The native client's version that the gateway states when it reads model lists (RB1). */
  readonly client_version: string;
}

/** The models of audio transcription (Q23). */
export interface TranscriptionConfig {
  readonly model: string;
  readonly aliases: readonly string[];
}

export interface Limits {
  readonly connections: number;
  readonly header_bytes: number;
  readonly header_count: number;
  readonly request_body_bytes: number;
  readonly compressed_body_bytes: number;
  readonly expansion_ratio: number;
  /** The most pieces of a body that are smaller than 64 bytes. */
  readonly body_small_pieces: number;
  /** The most values of a JSON body, frame or reply, at any depth (Q38). */
  readonly json_values: number;
  /** The memory of parsed JSON that exceeds a multiple of its bytes, over all running turns (Q38). */
  readonly dense_json_bytes: number;
  /** The bytes of request bodies that are being read at once, over all clients (Q4's memory guard). */
  readonly bodies_in_memory_bytes: number;
  readonly audio_bytes: number;
  readonly file_bytes: number;
  readonly upload_bytes: number;
  /** The most fragments of a client's websocket message. */
  readonly websocket_fragments: number;
  /** The most pings and pongs of a client's websocket in a minute. */
  readonly websocket_controls: number;
  /** Bytes of one turn's frames that are kept for a client that reconnects for it (Q29). */
  readonly websocket_resume_bytes: number;
  /** Bytes of the last input and output of a connection whose turns API accounts serve over HTTP (AA24). */
  readonly websocket_history_bytes: number;
  /** Bytes of such inputs and outputs over all connections. The least recently used are dropped first. */
  readonly websocket_histories_bytes: number;
  /** The memory that one turn may hold of its reply: an event or answer with its copies, and the kept parts of earlier ones. */
  readonly upstream_event_bytes: number;
  /** The memory of replies over all turns. */
  readonly replies_in_memory_bytes: number;
  readonly pins_in_memory: number;
  /** The most rows per second that are written for refused requests without a key. Further rows are only counted. */
  readonly keyless_rows_per_second: number;
  /** The most rows that wait to be written. Beyond it, log rows and pins are dropped. */
  readonly rows_waiting: number;
  /** The most bytes of a body of the admin API. */
  readonly admin_body_bytes: number;
  /** The most simultaneous readers of the feed of changes. */
  readonly console_pages: number;
  /** The most logins of accounts that can be in progress in the console. */
  readonly logins: number;
}

/** The load of the process at which new turns are refused; 0 disables a limit. */
export interface GuardLimits {
  /** The mean delay of the event loop. */
  readonly event_loop_ms: number;
  /** The percentage of the memory that the process may use. */
  readonly memory_percent: number;
}

export interface Timeouts {
  readonly client_header_ms: number;
  readonly client_body_idle_ms: number;
  /** The longest time of a body or a websocket message, from its first byte to its last. */
  readonly client_body_ms: number;
  /** How long a client may leave data of its answer unread. */
  readonly client_read_idle_ms: number;
  readonly websocket_idle_timeout_ms: number;
  /** How long a turn continues without the websocket of its client (Q29). */
  readonly websocket_resume_ms: number;
  readonly upstream_connect_ms: number;
  readonly upstream_first_byte_ms: number;
  readonly upstream_idle_ms: number;
  /** The longest wait for the body of a refusal. After it, the status alone decides. */
  readonly upstream_refusal_ms: number;
  readonly hold_ms: number;
  readonly drain_ms: number;
}
