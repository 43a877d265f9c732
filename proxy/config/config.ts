// The types of a loaded config.yaml, with defaults filled in.
import type { LogLevel } from '../base/process/log.ts';
import type { RouteRow } from '../turn/routes/route-table.ts';
import type {
  AccountConfig,
  AdmissionClass,
  GuardLimits,
  KeyConfig,
  Limits,
  OperatorConfig,
  PoolConfig,
  SecretRef,
  Timeouts,
  TranscriptionConfig,
  WireWords,
} from '../turn/settings.ts';

/** One row of the route table: `{ POST: /v1/responses, status: translated, serve: public-responses, to: …, class: stream }`. */
export interface RouteConfig extends RouteRow {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS' | 'WS';
}

export interface AdmissionConfig {
  readonly running: number;
  readonly waiting: number;
  readonly wait_ms: number;
}

/** This process as one of the nodes of a shared store. With SQLite it is the only node. */
export interface NodeConfig {
  readonly id: string;
  /** The internal listener, which only other nodes use. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** The address at which other nodes reach it, without trailing slash. */
  readonly address?: string;
  readonly secret?: SecretRef;
  readonly ready_without_store: boolean;
}

/** The listener for operators. */
export interface AdminConfig {
  readonly host: string;
  readonly port: number;
  /** Whether the listener serves the console at `/`. */
  readonly console: boolean;
  /** The header in which a proxy states the operator that it has signed in, by the operator's id. */
  readonly trusted_header?: TrustedHeader;
}

export interface TrustedHeader {
  /** The name of the header in lower case. */
  readonly name: string;
  /** The networks of the proxies. */
  readonly from: readonly string[];
}

export interface Config {
  readonly listen: {
    readonly host: string;
    /** If false, clients use only `unix`. */
    readonly port: number | false;
    /** Absolute paths of PEM files. */
    readonly tls?: { readonly cert: string; readonly key: string };
    readonly unix?: {
      /** The absolute path of the socket. */
      readonly path: string;
      /** The file mode in octal digits, such as 0660. */
      readonly mode: string;
    };
    /** Networks, or `unix`. */
    readonly trusted_proxies: readonly string[];
    /** Origins of web pages that may use /v1, such as `https://app.example`. */
    readonly cors: { readonly origins: readonly string[] };
  };
  readonly admin: AdminConfig | false;
  /** A listener that other machines may read. It only shows measurements. */
  readonly metrics: { readonly host: string; readonly port: number } | false;
  /** `sqlite:` with an absolute path, or a reference to the URL of a PostgreSQL database. */
  readonly store: string | { readonly postgres: SecretRef; readonly connections: number };
  readonly store_key: SecretRef;
  readonly node: NodeConfig;
  readonly retention: { readonly requests_days: number; readonly requests_bytes: number; readonly audit_days: number };
  readonly log: { readonly level: LogLevel; readonly client_address: boolean };
  readonly wire: WireWords;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly guard: GuardLimits;
  readonly admission: Readonly<Record<AdmissionClass, AdmissionConfig>>;
  /** How accounts without a proxy of their own are reached. */
  readonly egress: 'direct' | 'environment';
  readonly accounts: readonly AccountConfig[];
  readonly pools: readonly PoolConfig[];
  readonly keys: readonly KeyConfig[];
  readonly operators: readonly OperatorConfig[];
  readonly transcription: TranscriptionConfig;
  readonly mcp: { readonly allowed_hosts: readonly string[] };
  readonly routes: readonly RouteConfig[];
}

/** A proxy with its credential, which is a secret. */
export interface ProxyServer {
  readonly protocol: 'http:' | 'https:' | 'socks5:';
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly credential?: { readonly user: string; readonly password: string };
}

/** The values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export interface EnvironmentProxies {
  /** The proxy for https addresses. */
  readonly https?: ProxyServer;
  /** The proxy for http addresses. */
  readonly http?: ProxyServer;
  /** The value of NO_PROXY. */
  readonly except: string;
}

/** The contents of PEM files. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  /** The key, which is a secret. */
  readonly key?: string;
}

/** What the connections to one account need in addition to its settings. */
export interface AccountConnections {
  readonly proxy?: ProxyServer;
  readonly tls?: TlsMaterial;
}

/** A loaded configuration: the checked file, with its secrets resolved. */
export interface LoadedConfig {
  readonly config: Config;
  /** The absolute path of the file. */
  readonly path: string;
  /** The bearer token of each account id, or the value of its credential's header. Rehearsal and OAuth accounts have none. */
  readonly bearers: ReadonlyMap<string, string>;
  /** The proxy and the certificates of each account id. Most accounts have neither. */
  readonly connections: ReadonlyMap<string, AccountConnections>;
  /** Set with `egress: environment`. */
  readonly environment?: EnvironmentProxies | undefined;
  /** The contents of the files of `listen.tls`. */
  readonly listenTls?: TlsMaterial | undefined;
  /** The argument of `openStore`: `sqlite:PATH`, or the URL of a PostgreSQL database, which is a secret. */
  readonly storeUrl: string;
  /** The secret that signs requests between nodes. Undefined if `node.secret` is not set. */
  readonly nodeSecret?: string | undefined;
}
