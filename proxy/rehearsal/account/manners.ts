// The manners of the simulated provider: what the real agent backend does and a polite provider does not, one line each.

export interface Manners {
  /** Refuses a turn over HTTP that does not stream, that is not `store: false` (frames may omit it), or whose input is no list (RB7). */
  readonly streamedUnstoredLists: boolean;
  /** Understands `response.interrupt` and `response.steer` on the websocket that runs their response (RB29, RB31). */
  readonly controlFrames: boolean;
  /** Ends a websocket after 60 minutes (RB28). */
  readonly connectionLimit: boolean;
  /** Error frames have the headers of the answer, quota as numbers (RB27). */
  readonly errorFrameHeaders: boolean;
  /** States the quota of a websocket in events, and not in the headers of its upgrade (RB32). */
  readonly websocketQuotaInEvents: boolean;
  /** Refuses a read of the model list that states no `client_version`, and lists the models of that version (RB1). */
  readonly versionedList: boolean;
  /** Refuses a turn whose header `version` is missing, or older than the `minimal_client_version` of its model (RB2). */
  readonly gatesVersions: boolean;
  /** Caches prompts by the header `session-id`: without it, each turn reaches any of eight caches (RB14). */
  readonly cachesBySession: boolean;
  /** Refuses members of a turn that it does not know, by name (RB8). */
  readonly knownMembers: boolean;
  /** Refuses items with `role: system`, and texts of assistant messages that are not `output_text` (RB9). */
  readonly ownRoles: boolean;
  /** Refuses the output of a tool whose call is not in the input. */
  readonly pairedToolOutputs: boolean;
  /** Sends streams without a content type (RB16). */
  readonly untypedStreams: boolean;
  /** Keeps the connection of a stream open for a moment after its terminal event (RB16). */
  readonly openStreams: boolean;
  /** A finished image call has the status `generating`, and comes after a partial image and without an event that completes it (RB36). */
  readonly unfinishedImages: boolean;
  /** Refuses credentials in the backend's words; a refresh token that is used twice ends the whole login (RB5, RB6). */
  readonly wholeLogins: boolean;
  /** Takes uploaded bytes only with `x-ms-blob-type: BlockBlob` (RB38). */
  readonly blobUploads: boolean;
}

/** The real backend; what an account has by default. */
export const STRICT: Manners = {
  streamedUnstoredLists: true,
  controlFrames: true,
  connectionLimit: true,
  errorFrameHeaders: true,
  websocketQuotaInEvents: true,
  versionedList: true,
  gatesVersions: true,
  cachesBySession: true,
  knownMembers: true,
  ownRoles: true,
  pairedToolOutputs: true,
  untypedStreams: true,
  openStreams: true,
  unfinishedImages: true,
  wholeLogins: true,
  blobUploads: true,
};

/** The profile `polite`, and accounts of tests that check nothing. */
export const POLITE: Manners = {
  streamedUnstoredLists: false,
  controlFrames: false,
  connectionLimit: false,
  errorFrameHeaders: false,
  websocketQuotaInEvents: false,
  versionedList: false,
  gatesVersions: false,
  cachesBySession: false,
  knownMembers: false,
  ownRoles: false,
  pairedToolOutputs: false,
  untypedStreams: false,
  openStreams: false,
  unfinishedImages: false,
  wholeLogins: false,
  blobUploads: false,
};
