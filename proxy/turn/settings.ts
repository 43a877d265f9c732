// The settings that a turn depends on, as config.yaml has them: accounts, Pools, keys, limits and the words of the wire.

export type RouteStatus = 'supported' | 'translated' | 'partial' | 'unsupported';

export type AdmissionClass = 'stream' | 'websocket' | 'compact' | 'http' | 'image' | 'file' | 'audio' | 'usage' | 'control' | 'mcp';

export type Strategy = 'headroom' | 'least_loaded' | 'rotation' | 'fill_first' | 'soonest_reset' | 'fastest';

export type ServingMode = 'auto' | 'lite' | 'full';

/** A secret is not written in the file: it is named here, and resolved when the configuration is loaded. */
export type SecretRef = { readonly env: string } | { readonly file: string };

/** The address of a login at the simulated provider, in place of its own ones. */
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
  /** Where the provider sends the browser back to: a loopback address, whose port may be 0. */
  readonly redirect_url?: string;
  readonly scopes?: readonly string[];
  /** The claim that identifies the user of a login, or the names on the way to a nested one. */
  readonly identity_claim?: string | readonly string[];
}

/** The proxy that every connection of an account goes through. */
export interface ProxyConfig {
  /** http, https or socks5; without user and password. */
  readonly url: string;
  /** `USER:PASSWORD`. */
  readonly credential?: SecretRef;
}

/** Paths of PEM files. */
export interface AccountTls {
  /** Authorities that are trusted beside the public ones. */
  readonly ca?: string;
  /** The client certificate, and its key: both or none. */
  readonly cert?: string;
  readonly key?: string;
}

export type Credential =
  | { readonly bearer: SecretRef }
  | { readonly oauth: OauthCredential }
  /** Its value goes out as it is (AA4). */
  | { readonly header: { readonly name: string } & SecretRef };

/** How a simulated account behaves; `base_url: rehearsal:NAME` names one of them. */
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
  /** The API that it speaks. Accounts of the other two have the settings of `ApiAccountConfig`. */
  readonly api: 'agent' | 'responses' | 'chat';
  /** Absent on rehearsal accounts, and on API accounts with `credential: none`. */
  readonly credential?: Credential;
  readonly proxy?: ProxyConfig;
  readonly tls?: AccountTls;
  readonly headers: Readonly<Record<string, string>>;
  /** Its assignments are compiled to inactive ones. */
  readonly paused: boolean;
  readonly visible: boolean;
  readonly max_concurrent: number;
  /** Exposed model id to the account's own name for it. */
  readonly models: Readonly<Record<string, string>>;
  /** Members that its turns may have in addition to those of the allow-list (Q35). */
  readonly keep_fields: readonly string[];
  readonly drop_fields: readonly string[];
  readonly websocket: boolean;
  /** `auto`: the compact path, and turns with a trigger if the account has none. Only API accounts have the last two (AA13). */
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
  /** Exposed ids that a turn goes on to if no account can serve this model now (AA74). */
  readonly fallback?: readonly string[];
}

/** USD for a million tokens. */
export interface Prices {
  readonly input: number;
  readonly cached_input: number;
  readonly output: number;
}

/** When turns leave the base tier, and what that may cost (AA65). */
export interface OverflowConfig {
  readonly on: readonly ('quota' | 'failing' | 'full')[];
  /** How long a turn waits for a lower tier that is full. */
  readonly wait_ms: number;
  /** Whether reasoning with ciphertext of another tier's account is left out, or keeps the conversation where it is (AA67). */
  readonly reasoning: 'drop' | 'keep';
  /** The cap of all tiers above 0 together. */
  readonly usd_per_day?: number;
  readonly usd_per_month?: number;
  /** By tier. */
  readonly tiers: Readonly<Record<string, { readonly usd_per_day?: number; readonly usd_per_month?: number }>>;
}

export interface AssignmentConfig {
  readonly account: string;
  readonly active: boolean;
  readonly eligible: boolean;
  readonly weight: number;
  /** 0 to 9. A higher tier is asked if the lower ones cannot take a turn (AA65). */
  readonly tier: number;
}

export interface PoolConfig {
  readonly id: string;
  readonly label: string;
  readonly strategy: Strategy;
  readonly max_attempts: number;
  readonly allow_image_generation: boolean;
  readonly request_compression_enabled: boolean;
  readonly prompt_cache_locality: boolean;
  readonly hide_account_quota: boolean;
  readonly image_host_model?: string;
  /** Names that Messages clients may send, with the exposed ids that they stand for. */
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
  /** Its share of the capacity that turns wait for, relative to the other keys of its Pool. */
  readonly weight: number;
  /** Lower-case hex SHA-256 of each secret that opens this key; several while one is being rotated. */
  readonly secret_sha256: readonly string[];
  readonly status: 'active' | 'paused' | 'revoked';
  /** Unix milliseconds. */
  readonly expires_at?: number;
  /** Networks, and `unix`; absent: all. */
  readonly allow_from?: readonly string[];
  readonly models?: readonly string[];
  readonly reasoning_effort?: EffortPolicy;
  readonly output_tokens?: { readonly max: number };
  readonly limits: KeyLimits;
  /** False: its turns stay in base tiers (AA71). */
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
  /** Whether it may see and change everything on the admin listener. */
  readonly admin: boolean;
}

export interface WireWords {
  readonly agent: string;
  readonly meter: string;
  readonly lite_marker: string;
  /** The native client's version that the gateway's own reads of model lists state (RB1). */
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
  /** Values of a JSON body, frame or reply, at any depth (Q38). */
  readonly json_values: number;
  /** Memory of parsed JSON beyond a multiple of its bytes, over all running turns (Q38). */
  readonly dense_json_bytes: number;
  /** Bytes of request bodies being read at once, over all clients (Q4's memory guard). */
  readonly bodies_in_memory_bytes: number;
  readonly audio_bytes: number;
  readonly file_bytes: number;
  readonly upload_bytes: number;
  /** Fragments of a client's websocket message. */
  readonly websocket_fragments: number;
  /** Pings and pongs of a client's websocket in a minute. */
  readonly websocket_controls: number;
  /** Frames of one turn that are kept for a client that comes back for it (Q29). */
  readonly websocket_resume_bytes: number;
  /** The last input and output of a connection whose turns API accounts serve over HTTP (AA24). */
  readonly websocket_history_bytes: number;
  /** The same over all connections; the least recent goes first. */
  readonly websocket_histories_bytes: number;
  /** Memory that one turn may hold of its reply: an event or answer with its copies, and the kept parts of earlier ones. */
  readonly upstream_event_bytes: number;
  /** The same memory over all turns. */
  readonly replies_in_memory_bytes: number;
  readonly pins_in_memory: number;
  /** Rows of refused requests without a key that are written; the others are counted. */
  readonly keyless_rows_per_second: number;
  /** Rows that wait to be written; log rows and pins past it are dropped. */
  readonly rows_waiting: number;
  /** A body of the admin API. */
  readonly admin_body_bytes: number;
  /** Readers of the feed of changes at the same time. */
  readonly console_pages: number;
  /** Logins of accounts that operators have under way in the console. */
  readonly logins: number;
}

/** When new turns are refused for the load of the process; 0 turns a limit off. */
export interface GuardLimits {
  /** Mean delay of the event loop. */
  readonly event_loop_ms: number;
  /** Percent of the memory that the process may use. */
  readonly memory_percent: number;
}

export interface Timeouts {
  readonly client_header_ms: number;
  readonly client_body_idle_ms: number;
  /** Longest time of a body, or of a websocket message, from its first byte to its last. */
  readonly client_body_ms: number;
  /** How long a client may read nothing of an answer that waits for it. */
  readonly client_read_idle_ms: number;
  readonly websocket_idle_timeout_ms: number;
  /** How long a turn continues without the websocket of its client (Q29). */
  readonly websocket_resume_ms: number;
  readonly upstream_connect_ms: number;
  readonly upstream_first_byte_ms: number;
  readonly upstream_idle_ms: number;
  /** How long the body of a refusal is waited for: its status alone decides then. */
  readonly upstream_refusal_ms: number;
  readonly hold_ms: number;
  readonly drain_ms: number;
}
