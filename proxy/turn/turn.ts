// The types of one turn: the parts of a request, its attempts and its reply that rules read and edit.
import type { SlicedWork } from '../base/process/slices.ts';
import type { ItemPlaces } from './errors/item-places.ts';
import type { FormFile, FormPart } from './json/form.ts';
import type { Json, JsonObject } from './json/json.ts';
import type { CapsuleItem } from './provider/capsule.ts';
import type { RouteKind } from './routes/kinds.ts';
import type {
  AdmissionClass,
  KeyConfig,
  Limits,
  PoolConfig,
  RouteStatus,
  ServingMode,
  TranscriptionConfig,
  WireWords,
} from './settings.ts';

/** A request or attempt body: its top-level members may be replaced, what is nested is read only. */
export interface Body {
  [member: string]: Json | undefined;
}

/** `none`: a request outside the route table. */
export type RouteFamily = 'backend-agent' | 'backend' | 'usage' | 'v1' | 'mcp' | 'none';

export interface Route {
  readonly kind: RouteKind | undefined;
  /** HTTP method; `WS` is an upgrade on GET. */
  readonly method: string;
  /** The path with the deployment's wire words and `{name}` parameters; the endpoint in logs. */
  readonly template: string;
  readonly family: RouteFamily;
  readonly status: RouteStatus;
  readonly class: AdmissionClass;
  /** The account-side path template. */
  readonly upstream: string;
  /** realtime/calls passes only SDP bodies, and the account's Location (B2, Q26). */
  readonly sdpOnly: boolean;
}

/** Lower-case names; a repeated header is joined by ", ". */
export type Headers = Readonly<Record<string, string | undefined>>;

/** The serving mode as captured at dispatch; immutable for the turn (SM7). */
export interface ModeDecision {
  readonly configured: ServingMode;
  readonly effective: 'lite' | 'full';
  readonly source: 'catalog' | 'override';
}

/** A model as the turn's Pool sees it, at the moment it was looked up. */
export interface ModelView {
  /** Canonical exposed id. */
  readonly id: string;
  /** The canonical cohort's pristine entry (MC3, MC6). */
  readonly entry: JsonObject;
  /** The effective context window in tokens, as model lists state it; absent if it is not known. */
  readonly window?: number | undefined;
  /** A model that makes embeddings, and takes no turns. */
  readonly kind?: 'embedding';
  /** Whether any assignment is a routable source of it (UA1). */
  readonly routable: boolean;
  /** Undefined if no source is routable (MC7). */
  readonly mode: ModeDecision | undefined;
}

/** A file of the turn's Pool. */
export interface FileView {
  /** The account that has it. */
  readonly account: string;
}

/**
 * Whether a Pool's catalog has a model. `absent`: no account lists it. `suppressed`: the operator removed it. `invisible`: only invisible
 * accounts list it. `unroutable`: listed, but no source is routable now (503). Image routes distinguish these (A10).
 */
export type Presence = 'routable' | 'unroutable' | 'invisible' | 'suppressed' | 'absent';

/** The account of an attempt, as rules see it. */
export interface AccountView {
  readonly id: string;
  readonly label: string;
  readonly models: Readonly<Record<string, string>>;
  readonly keep_fields: readonly string[];
  readonly drop_fields: readonly string[];
  /** In an attempt never `auto`. */
  readonly compact: 'auto' | 'route' | 'trigger' | 'summary' | 'none';
}

/**
 * How an account failed a turn (ER4). `upstream_rate_limited`: 429, or a refusal for quota or rate inside a reply. `upstream_status`:
 * any other status. `upstream_refusal`: any other refusal inside a 200. `upstream_timeout`: no connection, no first byte or no next
 * one in time. `adapted`: the account refused what the gateway wrote in a client's place (AA61). `wrong_api`: a third model or path in a row
 * that the account does not have. `upstream_connect`: no connection. `upstream_network`: the connection broke. `upstream_malformed`: the reply was not a valid
 * answer.
 */
export type UpstreamErrorClass =
  | 'upstream_rate_limited'
  | 'upstream_status'
  | 'upstream_refusal'
  | 'upstream_timeout'
  | 'upstream_connect'
  | 'upstream_network'
  | 'upstream_malformed'
  | 'adapted'
  | 'wrong_api';

/** The result of request compression for the tool outputs of one turn (F7.5, RM2); only counts. */
export type PayloadCompression = {
  /** The decoded size of a body that was too large to be scanned; nothing else is known of it. */
  readonly skipped_body_bytes?: number;
  /** Tool outputs in the body, and how many of them are protected (F7.4). */
  readonly outputs?: number;
  readonly protected?: number;
  /** Outputs after the last candidate of the dispatch. */
  readonly over_limit?: number;
  /** Outputs that were sent as they came because their scan failed. */
  readonly errors?: number;
  readonly compressed?: number;
  /** The savings in the compressed outputs: in tokens if they were counted, otherwise in bytes. */
  readonly saved_tokens?: number;
  readonly token_savings_percent?: number;
  readonly saved_bytes?: number;
  readonly byte_savings_percent?: number;
};

/** Metadata that may be kept (contract: Observability); nothing outside this set can be noted. */
export interface SafeFields {
  model: string;
  /** The effort; one of the known words. */
  effort: string;
  configured_mode: ServingMode;
  effective_mode: 'lite' | 'full';
  mode_source: 'catalog' | 'override';
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  tokens_estimated: boolean;
  /** USD, as the account states it. */
  cost_usd: number;
  /** Milliseconds that the turn ran without its client. */
  detached_ms: number;
  error_class: 'full_upstream_rejection' | UpstreamErrorClass;
  upstream_error_param: string;
  reason_class: 'max_frame_size_exceeded' | 'timeout';
  payload_compression: PayloadCompression;
}

/** Lists that help a model to transcribe. */
export type TranscriptionHint = 'keywords' | 'languages';

/** One HTTP request, or one `response.create` frame. */
export interface Turn {
  /** The synthetic request-log id; also the answer's `x-request-id`. */
  readonly id: string;
  readonly route: Route;
  /** How the client is connected. */
  readonly client: 'http' | 'websocket';
  readonly headers: Headers;
  /** The parameters of its path. */
  readonly params: Readonly<Record<string, string>>;
  /** When it arrived, Unix milliseconds that never jump: for waits and durations. Rules have no clock. */
  readonly at: number;
  /** When it arrived by the machine's wall clock, Unix milliseconds: for dates. */
  readonly arrivedAt: number;
  readonly wire: WireWords;
  readonly limits: Limits;
  readonly transcription: TranscriptionConfig;
  /** The texts in its headers that may be the key's secret, in the order in which they are tried. */
  readonly credentials: readonly string[];
  /** Translates the request of a surface that has an API of its own. @throws Refusal in the client's words */
  decode(work: Work): void;
  /** Notes that items were removed from the input or added to it, so that errors name items by their places in the client's request. */
  spliced(at: number, removed: number, added: number): void;
  /** Throws until `identify` succeeded: a rule before authentication must not need them. */
  readonly key: KeyConfig;
  readonly pool: PoolConfig;
  /** Returns the key of this secret, whatever its status, and makes it and its Pool the turn's. */
  identify(secret: string): KeyConfig | undefined;
  /** Whether the client's address is in these networks of the configuration; undefined is every address, known or not. */
  comesFrom(networks: readonly string[] | undefined): boolean;
  /** Makes the operator of this token the turn's; false for an unknown token. */
  identifyOperator(token: string): boolean;
  /** Whether a host, with its port if any, is this gateway's name on /mcp: loopback, or one of `mcp.allowed_hosts` (Q25). */
  isOwnHost(host: string): boolean;
  /** Looks a model up in the Pool's catalog; a promise only if the catalog is read again for an unknown id (Q12). */
  findModel(id: string): ModelView | undefined | Promise<ModelView | undefined>;
  /** Looks a file of the Pool up; a promise only if it is not in memory. */
  findFile(id: string): FileView | undefined | Promise<FileView | undefined>;
  /** Whether and how the Pool's catalog has a model; reads no account. */
  presenceOf(id: string): Presence;
  /** Milliseconds until the first cooldown of the model's sources ends; undefined if no source is in cooldown. */
  recoversIn(): number | undefined;
  /** Decoded size of the JSON body as the client sent it; 0 before it was read. */
  readonly bodyBytes: number;
  /** If the body was so large that it was parsed in slices: steps that read all of it begin in a slice of their own (Q38). */
  readonly large: SlicedWork | undefined;
  /**
   * Counts the tokens of each text, away from the event loop. Never rejects; undefined if the count failed or did not come in time.
   * The result may arrive after the turn has continued.
   */
  countTokens(texts: readonly string[]): Promise<readonly number[] | undefined>;
  /** Whether the turn may go to an account that speaks another API than agent backends. */
  readonly hasApiAccounts: boolean;
  /** The text of a capsule in an item of that type; undefined if it was not sealed here for this Pool (AA22). */
  openCapsule(item: CapsuleItem, sealed: string): string | undefined;
  /** Whether an account of the Pool makes embeddings with this model. */
  makesEmbeddings(model: string): boolean;
  /** Lets other turns run before a rule continues long work. */
  pause(): Promise<void>;
  /** The texts of system messages that went out as instructions with this response, which is on the live websocket of the client. */
  liftedWith(responseId: string): string | undefined;
  /** Those of this turn and of the responses that it continues; set by the rule that lifts them. */
  lifted: string | undefined;
  /** The hints that a transcription has for its model, as far as it was read. */
  hints: readonly TranscriptionHint[];
  /** Set by the rule that checks model access; later rules rely on it. */
  model: ModelView | undefined;
  /** The account that has the files of the request, and that the request must go to (Q10). Set by the rules that check files. */
  fileOwner: string | undefined;
  note<F extends keyof SafeFields>(field: F, value: SafeFields[F]): void;
  /** Counts bytes of the reply that a rule keeps until the turn ends. Throws if the turn may hold no more: its reply breaks off. */
  holdReply(bytes: number): void;
}

/** The parsed request body, edited once, before an account is chosen. */
export interface Work {
  body: Body;
  /** The parts of an uploaded form; its body is empty until a rule makes one of them. */
  readonly form?: readonly FormPart[];
  /** The file that is uploaded when an account has taken the body. */
  file?: FormFile;
}

/** One attempt at one account. */
export interface Outgoing {
  readonly account: AccountView;
  /** The name of the account's provider API. */
  readonly api: string;
  readonly carrier: 'http' | 'websocket';
  path: string;
  /** Lower-case names; credentials and the account's own headers are added after the rules. */
  readonly headers: Record<string, string>;
  body: Body;
  /** Where the items that are sent were in the turn; absent for accounts that get them as the rules left them. */
  readonly places?: ItemPlaces | undefined;
}

/** The reply's head at commit. */
export interface Head {
  readonly status: number;
  /** The body for the client. */
  readonly headers: Record<string, string>;
  /** The types of the events that came before commit; only if the client is connected by a websocket. */
  held?: Pick<ReadonlySet<string>, 'has'>;
  /** The reply begins with a refusal: no event of the gateway's own may precede it (F1.8). */
  refuses?: boolean;
}

/** One reply event. A rule that returns the same object forwards its bytes; any other object is encoded again. */
export interface Event {
  readonly type: string;
  readonly data: JsonObject;
  /** Bytes of the event as it came; absent if the gateway made it. */
  readonly size?: number;
}

export type OutcomeKind = 'completed' | 'incomplete' | 'failed' | 'cut' | 'client_gone' | 'refused';

export interface Outcome {
  readonly kind: OutcomeKind;
  /** Whether anything irrevocable was sent to the client. */
  readonly shown: boolean;
}
