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

/** A request or attempt body. Its top-level members may be replaced; nested values are read only. */
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
  /** Whether only SDP bodies pass, and the account's Location, as for realtime/calls (B2, Q26). */
  readonly sdpOnly: boolean;
}

/** Headers by lower-case name. The values of a repeated header are joined with ", ". */
export type Headers = Readonly<Record<string, string | undefined>>;

/** The serving mode that was captured at dispatch. It does not change during the turn (SM7). */
export interface ModeDecision {
  readonly configured: ServingMode;
  readonly effective: 'lite' | 'full';
  readonly source: 'catalog' | 'override';
}

/** A model as the turn's Pool saw it when it was looked up. */
export interface ModelView {
  /** The canonical exposed id. */
  readonly id: string;
  /** The unchanged entry of the canonical cohort (MC3, MC6). */
  readonly entry: JsonObject;
  /** The effective context window in tokens, as model lists state it; absent if it is not known. */
  readonly window?: number | undefined;
  /** Set for a model that makes embeddings, and takes no turns. */
  readonly kind?: 'embedding';
  /** Whether an assigned account is a routable source of the model (UA1). */
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
  /** How the account compacts. In an attempt it is never `auto`. */
  readonly compact: 'auto' | 'route' | 'trigger' | 'summary' | 'none';
}

/**
 * How an account failed a turn (ER4). `upstream_rate_limited`: 429, or a refusal for quota or rate inside a reply. `upstream_status`: any
 * other status. `upstream_refusal`: any other refusal inside a 200. `upstream_timeout`: the connection, the first byte or the next byte did
 * not come in time. `adapted`: the account refused something that the gateway changed in the request (AA61). `wrong_api`: the third model
 * or path in a row that the account does not have. `upstream_connect`: no connection. `upstream_network`: the connection broke.
 * `upstream_malformed`: the reply was not a valid answer.
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

/** What request compression did with the tool outputs of one turn (F7.5, RM2), in numbers only. */
export type PayloadCompression = {
  /** The decoded size of a body that was too large to be scanned. Nothing else is known of it. */
  readonly skipped_body_bytes?: number;
  /** Tool outputs in the body, and how many of them are protected (F7.4). */
  readonly outputs?: number;
  readonly protected?: number;
  /** Outputs that were not scanned because the turn has too many candidates. */
  readonly over_limit?: number;
  /** Outputs that were sent unchanged because their scan failed. */
  readonly errors?: number;
  readonly compressed?: number;
  /** The savings in the compressed outputs, in tokens if tokens were counted, otherwise in bytes. */
  readonly saved_tokens?: number;
  readonly token_savings_percent?: number;
  readonly saved_bytes?: number;
  readonly byte_savings_percent?: number;
};

/** Metadata that may be logged (contract: Observability). Nothing else can be noted. */
export interface SafeFields {
  model: string;
  /** The effort of reasoning, as one of the known words. */
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
  /** Milliseconds that the turn ran without a connected client. */
  detached_ms: number;
  /** `gateway_stopped`: the time of a drain had passed, so neither the account nor the client ended the turn. */
  error_class: 'full_upstream_rejection' | 'gateway_stopped' | UpstreamErrorClass;
  upstream_error_param: string;
  reason_class: 'max_frame_size_exceeded' | 'timeout';
  payload_compression: PayloadCompression;
}

/** Lists that help a model to transcribe. */
export type TranscriptionHint = 'keywords' | 'languages';

/** One HTTP request, or one `response.create` frame. */
export interface Turn {
  /** The id in the request log, which is also the answer's `x-request-id`. */
  readonly id: string;
  readonly route: Route;
  /** How the client is connected. */
  readonly client: 'http' | 'websocket';
  readonly headers: Headers;
  /** The parameters of its path. */
  readonly params: Readonly<Record<string, string>>;
  /** When the turn arrived, in Unix milliseconds that never jump. It is used for waits and durations. Rules have no clock. */
  readonly at: number;
  /** When the turn arrived by the wall clock, in Unix milliseconds. It is used for dates. */
  readonly arrivedAt: number;
  readonly wire: WireWords;
  readonly limits: Limits;
  readonly transcription: TranscriptionConfig;
  /** The texts in its headers that may be the key's secret, in the order in which they are tried. */
  readonly credentials: readonly string[];
  /** Translates the request of a surface whose API is not the Responses API. @throws Refusal in the client's words */
  decode(work: Work): void;
  /** Notes that items were removed from the input or added to it. Errors then still name the places in the client's request. */
  spliced(at: number, removed: number, added: number): void;
  /** Throws until `identify` succeeded, because a rule before authentication must not use it. */
  readonly key: KeyConfig;
  readonly pool: PoolConfig;
  /** Returns the key of this secret, whatever its status, and makes it and its Pool the turn's. */
  identify(secret: string): KeyConfig | undefined;
  /** Whether the client's address is in these networks of the configuration. If they are undefined, every address is. */
  comesFrom(networks: readonly string[] | undefined): boolean;
  /** Makes the operator of this token the turn's; false for an unknown token. */
  identifyOperator(token: string): boolean;
  /** Whether a host, with its port if any, is a name of this gateway on /mcp: loopback, or one of `mcp.allowed_hosts` (Q25). */
  isOwnHost(host: string): boolean;
  /** Looks a model up in the Pool's catalog. Returns a promise only if the catalog is read again for an unknown id (Q12). */
  findModel(id: string): ModelView | undefined | Promise<ModelView | undefined>;
  /** Looks a file of the Pool up. Returns a promise only if the file is not in memory. */
  findFile(id: string): FileView | undefined | Promise<FileView | undefined>;
  /** Whether and how the Pool's catalog has a model. It sends no request to an account. */
  presenceOf(id: string): Presence;
  /** Milliseconds until the first cooldown of the model's sources ends; undefined if no source is in cooldown. */
  recoversIn(): number | undefined;
  /** Decoded size of the JSON body as the client sent it; 0 before it was read. */
  readonly bodyBytes: number;
  /**
   * Set if the body was so large that it was parsed in slices. Steps that read all of the body then begin in a slice of their own (Q38).
   */
  readonly large: SlicedWork | undefined;
  /**
   * Counts the tokens of each text, away from the event loop. Never rejects; undefined if the count failed or did not come in time.
   * The result may arrive after the turn has continued.
   */
  countTokens(texts: readonly string[]): Promise<readonly number[] | undefined>;
  /** Whether an account that the turn may go to speaks another API than agent backends. */
  readonly hasApiAccounts: boolean;
  /** The text of a capsule in an item of that type. Undefined if it was not sealed here for this Pool (AA22). */
  openCapsule(item: CapsuleItem, sealed: string): string | undefined;
  /** Whether an account of the Pool makes embeddings with this model. */
  makesEmbeddings(model: string): boolean;
  /** Lets other turns run before a rule continues long work. */
  pause(): Promise<void>;
  /** The texts of system messages that were sent as instructions with this response. The response is on the client's live websocket. */
  liftedWith(responseId: string): string | undefined;
  /**
   * The texts of system messages that were sent as instructions, in this turn and in the responses that it continues. The rule that lifts
   * them sets it.
   */
  lifted: string | undefined;
  /** The hints that a transcription has for its model. Only the part of the form before the file has been read. */
  hints: readonly TranscriptionHint[];
  /** Set by the rule that checks model access; later rules rely on it. */
  model: ModelView | undefined;
  /** The account that has the files of the request. The request must go to it (Q10). Set by the rules that check files. */
  fileOwner: string | undefined;
  note<F extends keyof SafeFields>(field: F, value: SafeFields[F]): void;
  /** Counts bytes of the reply that a rule keeps until the turn ends. @throws TooMuchHeld, which breaks the reply off */
  holdReply(bytes: number): void;
}

/** The parsed request body, edited once, before an account is chosen. */
export interface Work {
  body: Body;
  /** The parts of an uploaded form. The body is empty until a rule makes it from a part. */
  readonly form?: readonly FormPart[];
  /** The file that is uploaded after an account has accepted the body. */
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
  /** The places in the turn of the items that are sent. Absent for accounts that get the items as the rules left them. */
  readonly places?: ItemPlaces | undefined;
}

/** The reply's head at commit. */
export interface Head {
  readonly status: number;
  /** The headers for the client. */
  readonly headers: Record<string, string>;
  /** The types of the events that came before commit. Set only for a client that is connected by a websocket. */
  held?: Pick<ReadonlySet<string>, 'has'>;
  /** Whether the reply begins with a refusal. The gateway then adds no event before it (F1.8). */
  refuses?: boolean;
}

/** One reply event. A rule that returns the same object forwards its bytes; any other object is encoded again. */
export interface Event {
  readonly type: string;
  readonly data: JsonObject;
  /** The number of bytes of the event as it came. Absent if the gateway made the event. */
  readonly size?: number;
}

export type OutcomeKind = 'completed' | 'incomplete' | 'failed' | 'cut' | 'client_gone' | 'refused';

export interface Outcome {
  readonly kind: OutcomeKind;
  /** Whether anything irrevocable was sent to the client. */
  readonly shown: boolean;
  /** Whether the gateway cut the reply, because the time of its drain had passed. */
  readonly stopped?: true;
}
