// The types of a loaded config.yaml, with defaults filled in.
import type { LogLevel } from '../base/process/log.ts';
import type { RouteKind } from '../turn/routes/kinds.ts';
import type {
  AccountConfig,
  AdmissionClass,
  GuardLimits,
  KeyConfig,
  Limits,
  OperatorConfig,
  PoolConfig,
  RouteStatus,
  SecretRef,
  Timeouts,
  TranscriptionConfig,
  WireWords,
} from '../turn/settings.ts';

/** One row of the route table: `{ POST: /v1/responses, status: translated, serve: public-responses, to: …, class: stream }`. */
export interface RouteConfig {
  /** `WS` is a websocket upgrade on GET. */
  readonly method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS' | 'WS';
  /** In neutral words, with `{name}` for a path parameter. */
  readonly path: string;
  readonly status: RouteStatus;
  /** Absent only on unsupported rows. */
  readonly serve?: RouteKind;
  /** The account's path, if it differs from `path`. */
  readonly to?: string;
  readonly class: AdmissionClass;
}

export interface AdmissionConfig {
  readonly running: number;
  readonly waiting: number;
  readonly wait_ms: number;
}

/** This process among the nodes of a shared store. With SQLite there is one node. */
export interface NodeConfig {
  readonly id: string;
  /** The internal listener, for the other nodes only. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** How the other nodes reach it, without trailing slash. */
  readonly address?: string;
  readonly secret?: SecretRef;
  readonly ready_without_store: boolean;
}

/** The listener for operators. */
export interface AdminConfig {
  readonly host: string;
  readonly port: number;
  /** Whether it serves the console at `/`. */
  readonly console: boolean;
  /** The header of a proxy that has signed the person in: its value is the id of an operator. */
  readonly trusted_header?: TrustedHeader;
}

export interface TrustedHeader {
  /** In lower case. */
  readonly name: string;
  /** The networks of the proxies. */
  readonly from: readonly string[];
}

export interface Config {
  readonly listen: {
    readonly host: string;
    /** False: clients use `unix` only. */
    readonly port: number | false;
    /** Absolute paths of PEM files. */
    readonly tls?: { readonly cert: string; readonly key: string };
    readonly unix?: {
      /** Absolute. */
      readonly path: string;
      /** Octal digits, such as 0660. */
      readonly mode: string;
    };
    /** Networks, and `unix`. */
    readonly trusted_proxies: readonly string[];
    /** Origins of web pages that may use /v1, such as `https://app.example`. */
    readonly cors: { readonly origins: readonly string[] };
  };
  readonly admin: AdminConfig | false;
  /** For other machines: it shows measurements and changes nothing. */
  readonly metrics: { readonly host: string; readonly port: number } | false;
  /** `sqlite:PATH`, absolute; or where the URL of a PostgreSQL database is. */
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

/** What HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. */
export interface EnvironmentProxies {
  /** For https addresses. */
  readonly https?: ProxyServer;
  /** For http addresses. */
  readonly http?: ProxyServer;
  /** The text of NO_PROXY. */
  readonly except: string;
}

/** The contents of PEM files. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  /** A secret. */
  readonly key?: string;
}

/** What the connections to one account need beside its settings. */
export interface AccountConnections {
  readonly proxy?: ProxyServer;
  readonly tls?: TlsMaterial;
}

/** A loaded configuration: the checked file with its resolved secrets. */
export interface LoadedConfig {
  readonly config: Config;
  /** Absolute path of the file. */
  readonly path: string;
  /** Account id to its bearer token, or to the value of its credential's header; rehearsal and OAuth accounts have none. */
  readonly bearers: ReadonlyMap<string, string>;
  /** Account id to its proxy and certificates; most accounts have neither. */
  readonly connections: ReadonlyMap<string, AccountConnections>;
  /** With `egress: environment`. */
  readonly environment?: EnvironmentProxies | undefined;
  /** The contents of the files of `listen.tls`. */
  readonly listenTls?: TlsMaterial | undefined;
  /** The argument of `openStore`: `sqlite:PATH`, or the URL of a PostgreSQL database, which is a secret. */
  readonly storeUrl: string;
  /** What signs the requests between nodes; undefined without `node.secret`. */
  readonly nodeSecret?: string | undefined;
}
