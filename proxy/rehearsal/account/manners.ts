// The manners of the simulated provider: each is something that the real agent backend does and a polite provider does not do.

/** The manners, each with its statement about real backends, which docs/accounts.md lists. */
export const MANNERS = {
  streamedUnstoredLists:
    'Refuses a turn over HTTP that does not stream, that is not `store: false` (frames may omit it), or whose input is not a list (RB7).',
  knownMembers: 'Refuses members of a turn that it does not know, by name (RB8).',
  ownRoles: 'Refuses items with `role: system`, and texts of assistant messages that are not `output_text` (RB9).',
  pairedToolOutputs: 'Refuses the output of a tool whose call is not in the input.',
  versionedList: 'Refuses a read of the model list that states no `client_version`, and lists the models of that version (RB1).',
  gatesVersions: 'Refuses a turn whose header `version` is missing, or older than the `minimal_client_version` of its model (RB2).',
  wordedModels: 'Reports that the account lacks a model only by a text: 400 with `detail` (RB20).',
  wholeLogins: "Refuses credentials in the backend's words; a refresh token that is used twice ends the whole login (RB5, RB6).",
  cachesBySession: 'Caches prompts by the header `session-id`: without it, each turn reaches any of eight caches (RB14).',
  untypedStreams: 'Sends streams without a content type (RB16).',
  openStreams: 'Keeps the connection of a stream open for a moment after its terminal event (RB16).',
  emptyOutput: 'The response of a terminal event has `output: []`: its items came as `response.output_item.done` (RB17).',
  keepalives: 'Sends a `keepalive` event with a sequence number before the first item of a stream (RB18).',
  bareErrorEvents: 'An `error` event inside a turn has a type, a sequence number and `error`, but no status (RB21).',
  uncodedUsageLimits: 'A usage limit has a type and no code (RB22).',
  wholeQuota:
    'States quota in full: an absent window as 0 with an empty reset, the plan, credits, and exhausted limits of single models (RB24, RB25).',
  controlFrames: 'Understands `response.interrupt` and `response.steer` on the websocket that runs their response (RB29, RB31).',
  connectionLimit: 'Ends a websocket after 60 minutes (RB28).',
  errorFrameHeaders: 'Error frames have the headers of the answer, with quota as numbers (RB27).',
  websocketQuotaInEvents: 'States the quota of a websocket in events, and not in the headers of its upgrade (RB32).',
  noCompactPath: 'Has no path for compaction: 404 (RB33).',
  unfinishedImages:
    'A finished image call has the status `generating`, and comes after a partial image and without an event that completes it (RB36).',
  blobUploads: 'Takes uploaded bytes only with `x-ms-blob-type: BlockBlob` (RB38).',
  unnamedTranscription: 'Transcribes a form that names no model, and answers with the text alone (RB40).',
} as const;

export type Manners = Readonly<Record<keyof typeof MANNERS, boolean>>;

const all = (value: boolean): Manners =>
  Object.fromEntries(Object.keys(MANNERS).map((name) => [name, value])) as Record<keyof Manners, boolean>;

/** All manners of the real backend. They are the default of an account. */
export const STRICT: Manners = all(true);

/** No manners. Used for the profile `polite`, and for accounts of tests that check nothing. */
export const POLITE: Manners = all(false);

/** The manners of an account of another API. The time limit of websockets is the only one. */
export const PLATFORM: Manners = { ...POLITE, connectionLimit: true };
