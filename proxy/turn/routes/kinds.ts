// THE TABLE of route kinds: whether the gateway or an account answers, what is sent, how the reply is read, and what may be retried.
import type { ErrorCode } from '../errors/refusal.ts';

/** A client API. It determines which headers pass, how errors look, and how a broken reply ends. */
export type SurfaceName = 'native' | 'public' | 'chat' | 'images' | 'messages';

/** A kind that the gateway answers without an account. */
export interface AnsweredKind {
  readonly served: 'answer';
  readonly surface: SurfaceName;
  readonly methods: readonly string[];
}

/** A kind that dispatches its turns to an account. */
export interface DispatchedKind {
  readonly served: 'dispatch';
  readonly surface: SurfaceName;
  readonly methods: readonly string[];
  /**
   * `json`: read, passed through the rules, sent once per attempt. `form`: a multipart form that rules see as JSON and replace with JSON.
   * `json or form`: either of them, sent in the form in which it came. `file`: a form whose file is kept beside the JSON that rules make of
   * the form. `stream`: passed on unread, so it can be sent only once. `multipart`: a form that is passed on while rules read its
   * parts.
   */
  readonly payload: 'json' | 'form' | 'json or form' | 'file' | 'stream' | 'multipart';
  /**
   * `events`: a stream, or one body for clients that request one. `whole`: one body, which is checked before it is shown. `piped`: passed
   * on unread.
   */
  readonly reply: 'events' | 'whole' | 'piped';
  /** The refusal of a `whole` reply if the account's answer is invalid: not a JSON object, or a stream without its end. */
  readonly invalidReply: ErrorCode;
  /**
   * Until when another account may be tried: until the reply's commit, or until its first sign, because a compaction that began may be
   * billed.
   */
  readonly retry: 'before commit' | 'before head';
  /** Which turns of a websocket client go to an account as frames: all of them, or those that continue a response (F3.5, F3.6). */
  readonly frames: 'all' | 'anchored';
  /** Which statuses count as an answer: only 200, or any success status, as for a request that creates something. */
  readonly answeredBy: '200' | '2xx';
  /** Whether an account may answer with something other than JSON, such as a transcript in a text format. */
  readonly textAnswers: boolean;
  /** Whether a request without a body counts as an empty object. */
  readonly emptyBody: boolean;
  /** Whether members of a whole answer that rules do not change keep their bytes, so that numbers are not rewritten. */
  readonly keepsBytes?: true;
  /** Whether the kind has no output tokens. */
  readonly noOutput?: true;
  /** Whether the request names a model of the catalog. */
  readonly model: boolean;
  /** Whether turns of the kind use tokens, so a limit of the key reserves an estimate. */
  readonly metered: boolean;
  /** Whether requests of the kind use no tokens at all, so that missing usage is not unknown usage (Q18). */
  readonly usesNoTokens?: true;
  /** Whether prompt-cache locality influences the choice of the account (F8.3). */
  readonly locality: boolean;
  /** Whether clients may use response ids and ciphertext of the reply in later turns (Q10). */
  readonly continues: boolean;
  /**
   * The path of an account that the turn goes to, as far as health distinguishes paths (RB4). A compaction goes to the path of turns if the
   * account has no compact path.
   */
  readonly path: AccountPath;
  /** The kind that a turn changes to if its input asks for a compaction (F3.1). Absent if such a turn is served like any other. */
  readonly asCompaction?: 'public-compact';
}

export type AccountPath = 'responses' | 'compact' | 'image' | 'transcribe' | 'files' | 'embeddings' | 'forward';

export type Kind = AnsweredKind | DispatchedKind;

const answered = { served: 'answer' } as const;

const turn = {
  served: 'dispatch',
  payload: 'json',
  reply: 'events',
  invalidReply: 'upstream_error',
  retry: 'before commit',
  frames: 'all',
  answeredBy: '200',
  textAnswers: false,
  emptyBody: false,
  model: true,
  metered: true,
  locality: true,
  continues: true,
  path: 'responses',
} as const;

/** A compaction that began may be billed, so it is not tried at another account. */
const compaction = {
  ...turn,
  reply: 'whole',
  invalidReply: 'invalid_compaction_response',
  retry: 'before head',
  frames: 'anchored',
  locality: false,
  path: 'compact',
} as const;

const passed = {
  served: 'dispatch',
  payload: 'stream',
  reply: 'piped',
  invalidReply: 'upstream_error',
  retry: 'before commit',
  frames: 'all',
  answeredBy: '2xx',
  textAnswers: false,
  emptyBody: false,
  model: false,
  metered: false,
  locality: false,
  continues: false,
  path: 'forward',
} as const;

const file = { ...passed, methods: ['POST'], reply: 'whole', path: 'files', usesNoTokens: true } as const;

/** A kind whose model need not be in the catalog, because a model of the catalog hosts it. */
const hosted = { ...turn, model: false, locality: false, continues: false } as const;

const transcription = {
  ...passed,
  methods: ['POST'],
  payload: 'multipart',
  reply: 'whole',
  textAnswers: true,
  path: 'transcribe',
} as const;

export const KINDS = {
  /** `GET …/models` of the backend surface. */
  catalog: { ...answered, surface: 'native', methods: ['GET'] },
  /** Native Responses, over HTTP and websocket. */
  responses: { ...turn, surface: 'native', methods: ['POST', 'WS'] },
  /** Native compaction. */
  compact: { ...compaction, surface: 'native', methods: ['POST'] },
  /** Native images. The body is read for the model that it names (A10, AU5). */
  image: { ...hosted, surface: 'native', methods: ['POST'], payload: 'json or form', path: 'image' },
  /** Chat Completions, on /v1 and as a backend alias. */
  chat: { ...turn, surface: 'chat', methods: ['POST'], continues: false },
  /** `POST /v1/messages`. */
  messages: { ...turn, surface: 'messages', methods: ['POST'] },
  /** `POST /v1/messages/count_tokens`. */
  'count-tokens': { ...answered, surface: 'messages', methods: ['POST'] },
  /** `GET /v1/models/{model_id}`, which only Messages clients have. */
  model: { ...answered, surface: 'public', methods: ['GET'] },
  /** Exact pass-through rows: control plane and key sets. */
  forward: { ...passed, surface: 'native', methods: ['GET', 'POST', 'DELETE'] },
  /** `POST /backend-api/files`. */
  'file-create': { ...file, surface: 'native', payload: 'json' },
  /** `POST /backend-api/files/{file_id}/uploaded`. */
  'file-finish': { ...file, surface: 'native', payload: 'json', emptyBody: true },
  /** `POST /backend-api/transcribe`. */
  transcribe: { ...transcription, surface: 'native' },
  /** The three usage paths of section C. */
  'pool-usage': { ...answered, surface: 'native', methods: ['GET'] },
  /** `GET /v1/models`. */
  models: { ...answered, surface: 'public', methods: ['GET'] },
  /** `/v1/responses`, over HTTP and websocket. */
  'public-responses': { ...turn, surface: 'public', methods: ['POST', 'WS'], asCompaction: 'public-compact' },
  /** A turn of `/v1/responses` that asks for a compaction. No row of the route table serves it. */
  'public-compact': { ...compaction, surface: 'public', methods: [] },
  /** `GET /v1/usage`: the usage and the limits of the key. */
  'key-usage': { ...answered, surface: 'public', methods: ['GET'] },
  /** `GET /usage` and `GET /usage/{file}`: the page of key holders, which needs no key. */
  'usage-page': { ...answered, surface: 'public', methods: ['GET'] },
  /** `POST /v1/files`. */
  'public-file-create': { ...file, surface: 'public', payload: 'file' },
  /** `GET /v1/files`. */
  'file-list': { ...answered, surface: 'public', methods: ['GET'] },
  /** `GET /v1/files/{file_id}`. */
  'file-read': { ...answered, surface: 'public', methods: ['GET'] },
  /** The content of a file, and its deletion: the owner is checked, then the answer is `unsupported_endpoint`. */
  'file-denied': { ...answered, surface: 'public', methods: ['GET', 'DELETE'] },
  /** `POST /v1/audio/transcriptions`. */
  'public-transcription': { ...transcription, surface: 'public' },
  /** `POST /v1/embeddings`. */
  embeddings: {
    ...hosted,
    surface: 'public',
    methods: ['POST'],
    reply: 'whole',
    keepsBytes: true,
    noOutput: true,
    path: 'embeddings',
  },
  /** `POST /v1/images/generations`. */
  'public-image': { ...hosted, surface: 'images', methods: ['POST'] },
  /** `POST /v1/images/edits`. */
  'public-image-edit': { ...hosted, surface: 'images', methods: ['POST'], payload: 'form' },
  /** The metadata endpoint for operators. */
  mcp: { ...answered, surface: 'native', methods: ['GET', 'POST', 'OPTIONS'] },
} as const satisfies Record<string, Kind>;

/** The kind of a route, which is the `serve` word of its row. Rules name the kinds that they take part in. */
export type RouteKind = keyof typeof KINDS;

/** The row of a kind that dispatches its turns; undefined for other kinds. */
export function dispatchedKind(name: RouteKind | undefined): DispatchedKind | undefined {
  const kind: Kind | undefined = name && KINDS[name];
  return kind?.served === 'dispatch' ? kind : undefined;
}

/** The surface of a kind; undefined for a request outside the route table. */
export const surfaceOf = (name: RouteKind | undefined): SurfaceName | undefined => name && KINDS[name].surface;

/** Whether the kind is a compaction. The reply of a compaction is checked whole before it is shown. */
export function isCompaction(name: RouteKind | undefined): boolean {
  const kind = dispatchedKind(name);
  return kind?.model === true && kind.reply === 'whole';
}

/** The kinds for which `matches` returns true, in the order of the table. */
export function kindsWhere(matches: (kind: Kind) => boolean): readonly RouteKind[] {
  return (Object.keys(KINDS) as RouteKind[]).filter((name) => matches(KINDS[name]));
}
