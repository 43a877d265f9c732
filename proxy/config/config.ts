// The shape of config.yaml once it is read, checked against schema.json, and its defaults filled in.
import type { RouteKind } from '../turn/kinds.ts';
import type {
  AccountConfig,
  AdmissionClass,
  KeyConfig,
  Limits,
  PoolConfig,
  RouteStatus,
  SecretRef,
  Timeouts,
  WireWords,
} from '../turn/settings.ts';

export interface OperatorConfig {
  readonly id: string;
  readonly token_sha256: readonly string[];
  readonly owns: readonly string[];
  readonly assigned: readonly string[];
}

/** One row of the route table: `{ POST: /v1/responses, status: translated, serve: public-responses, to: …, class: stream }`. */
export interface RouteConfig {
  /** `WS` is a websocket upgrade on GET. */
  readonly method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS' | 'WS';
  /** In neutral words, with `{name}` for a path parameter. */
  readonly path: string;
  readonly status: RouteStatus;
  /** Absent on unsupported rows that nothing could serve. */
  readonly serve?: RouteKind;
  /** The account-side path, where it differs from `path`. */
  readonly to?: string;
  readonly class: AdmissionClass;
}

export interface AdmissionConfig {
  readonly running: number;
  readonly waiting: number;
  readonly wait_ms: number;
}

export interface Config {
  readonly listen: { readonly host: string; readonly port: number };
  readonly admin: { readonly host: string; readonly port: number } | false;
  /** `sqlite:PATH`; relative paths start from the file's folder and are absolute here. */
  readonly store: string;
  readonly store_key: SecretRef;
  readonly retention: { readonly requests_days: number; readonly audit_days: number };
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' };
  readonly wire: WireWords;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly admission: Readonly<Record<AdmissionClass, AdmissionConfig>>;
  readonly accounts: readonly AccountConfig[];
  readonly pools: readonly PoolConfig[];
  readonly keys: readonly KeyConfig[];
  readonly operators: readonly OperatorConfig[];
  readonly transcription: { readonly model: string; readonly aliases: readonly string[] };
  readonly mcp: { readonly allowed_hosts: readonly string[] };
  readonly routes: readonly RouteConfig[];
}

/** A loaded configuration: the checked file plus what its secret references resolved to. */
export interface LoadedConfig {
  readonly config: Config;
  /** Absolute path of the file. */
  readonly path: string;
  /** Account id to the bearer that its reference named; rehearsal and OAuth accounts have none. */
  readonly bearers: ReadonlyMap<string, string>;
}
