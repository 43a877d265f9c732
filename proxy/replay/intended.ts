// The differences between a direct conversation and one through the gateway that the contract demands, each with its statement.
import type { ConversationExchange, RecordedSurface } from './conversation.ts';
import type { Difference, DifferenceKind } from './differences.ts';

interface Intended {
  readonly side: Difference['side'];
  readonly place: RegExp;
  readonly kinds?: readonly DifferenceKind[];
  /** The surfaces. Default: all. */
  readonly surfaces?: readonly RecordedSurface[];
  /** Set if it applies only to the upgrade to a websocket. */
  readonly upgrade?: true;
  /** The ids of the contract's statements, as in the titles of tests. */
  readonly clause: string;
  readonly why: string;
}

const PUBLIC: readonly RecordedSurface[] = ['public', 'chat'];
const TRANSLATED = "the compatible surface is translated to the account's API";

const INTENDED: readonly Intended[] = [
  // Requests to the account
  {
    side: 'request',
    place: /^header (host|connection|keep-alive|content-length|transfer-encoding|expect|upgrade|sec-websocket-.*)$/,
    clause: 'Q15',
    why: 'belongs to one connection',
  },
  { side: 'request', place: /^header authorization$/, clause: 'Q9', why: "the account's credential in place of the Pool key" },
  {
    side: 'request',
    place: /^header (accept-encoding|content-encoding)$/,
    clause: 'RB12',
    why: 'bodies are decoded for the rules, and answers are asked for without encoding',
  },
  {
    side: 'request',
    place: /^header (x-)?session-(id|affinity)$/,
    kinds: ['removed', 'changed'],
    clause: 'F8.1.2',
    why: 'session headers are not forwarded',
  },
  { side: 'request', place: /^header (x-.*responses-lite)$/, clause: 'F2.1', why: 'the serving mode decides the Lite marker' },
  {
    side: 'request',
    place: /client_metadata\.ws_request_header_.*responses_lite$/,
    clause: 'F2.2',
    why: 'the serving mode decides the Lite marker',
  },
  { side: 'request', place: /^header openai-beta$/, kinds: ['added'], clause: 'RB26', why: 'sent on every upgrade' },
  {
    side: 'request',
    place: /^header (accept|content-type)$/,
    kinds: ['added', 'changed'],
    clause: 'Q15',
    why: 'turns are asked for as event streams',
  },
  {
    side: 'request',
    place: /^header (?!x-codex-|x-agent-|x-openai-|thread-id|originator|version|user-agent).*$/,
    kinds: ['removed'],
    clause: 'Q15',
    why: 'only listed headers are forwarded',
  },
  { side: 'request', place: /^header (version|user-agent|originator)$/, surfaces: PUBLIC, clause: 'RB2', why: TRANSLATED },
  { side: 'request', place: /^header .*$/, surfaces: PUBLIC, kinds: ['removed'], clause: 'Q15', why: 'only listed headers are forwarded' },
  { side: 'request', place: /^path$/, surfaces: PUBLIC, clause: 'D2', why: TRANSLATED },
  {
    side: 'request',
    place: /^(body|event response\.create)\.include(\.\*)?$/,
    kinds: ['added'],
    clause: 'F1.4',
    why: 'encrypted reasoning is always included',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)\.reasoning$/,
    kinds: ['added'],
    clause: 'F1.4',
    why: 'a reasoning object is always sent',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)\.reasoning$/,
    kinds: ['changed'],
    clause: 'F1.4',
    why: 'a reasoning object is always sent, null is none',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)\.(input\.\*\.)?tools\.\*(\.tools\.\*)?\.parameters/,
    clause: 'F5.1',
    why: 'non-strict schemas are lowered',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)\.(parallel_tool_calls|reasoning\.context)$/,
    clause: 'F2.7',
    why: 'the Lite rewrite',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)(\.reasoning)?$/,
    kinds: ['order'],
    clause: 'F1.4',
    why: 'members that rules set come last',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)\.(stream|store)$/,
    surfaces: PUBLIC,
    clause: 'Q15',
    why: 'turns of the compatible surface are streamed and not stored',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)\.input$/,
    kinds: ['changed'],
    surfaces: PUBLIC,
    clause: 'F1.6',
    why: 'a text becomes a list of items',
  },
  {
    side: 'request',
    place: /^(body|event response\.create)\.(instructions|input\.\*)$/,
    kinds: ['added', 'removed', 'changed'],
    surfaces: PUBLIC,
    clause: 'F1.1',
    why: 'system and developer messages become instructions',
  },
  {
    side: 'request',
    place:
      /^(body|event response\.create)\.(max_output_tokens|temperature|top_p|presence_penalty|frequency_penalty|seed|metadata|top_logprobs|truncation|user|safety_identifier|context_management|stream_id|prompt_cache_retention|background|conversation|prompt|max_tool_calls|moderation)$/,
    kinds: ['removed'],
    surfaces: PUBLIC,
    clause: 'RB8',
    why: 'members that agent backends refuse are not sent',
  },
  { side: 'request', place: /^(body|event response\.create)/, surfaces: ['chat'], clause: 'D4', why: TRANSLATED },
  {
    side: 'request',
    place: /^(body|event response\.create)\.input\.\*$/,
    kinds: ['added'],
    clause: 'F2.5',
    why: 'a Lite request begins with its tools, also where it declares none',
  },
  {
    side: 'request',
    place: /^event response\.create\.client_metadata$/,
    kinds: ['order'],
    clause: 'F2.2',
    why: 'the serving mode decides the Lite marker',
  },
  { side: 'request', place: /^refused request$/, clause: 'Q4', why: 'the gateway refuses it itself, with the same status' },
  // Answers to the client
  { side: 'answer', place: /^body\.error\.message$/, surfaces: PUBLIC, clause: 'Q1', why: "the gateway's own words for a refusal" },
  { side: 'answer', place: /^cut$/, surfaces: PUBLIC, clause: 'F1.8', why: 'a public stream that breaks off ends with an error event' },
  {
    side: 'answer',
    place: /^event error$/,
    kinds: ['added'],
    surfaces: PUBLIC,
    clause: 'F1.8',
    why: 'a public stream that breaks off ends with an error event',
  },
  {
    side: 'answer',
    place: /^header (date|connection|keep-alive|transfer-encoding|content-length|content-encoding|vary|upgrade|sec-websocket-.*)$/,
    clause: 'Q3',
    why: 'belongs to one connection',
  },
  {
    side: 'answer',
    place: /^header (x-codex-|x-agent-|openai-)/,
    kinds: ['removed'],
    upgrade: true,
    clause: 'Q28',
    why: 'an upgrade is answered before an account is chosen',
  },
  { side: 'answer', place: /^header x-request-id$/, clause: 'Q1', why: "the id of the gateway's request log" },
  { side: 'answer', place: /^header (x-models-etag|etag)$/, clause: 'Q14', why: "the gateway's own model list" },
  { side: 'answer', place: /^header (cache-control|content-type|x-accel-buffering)$/, clause: 'RB16', why: 'event streams get their type' },
  {
    side: 'answer',
    place: /^header x-(codex|agent)-/,
    surfaces: PUBLIC,
    kinds: ['removed'],
    clause: 'Q8',
    why: 'no quota of accounts on the compatible surface',
  },
  {
    side: 'answer',
    place: /^header (?!openai-model|openai-processing-ms|x-codex-|x-agent-|x-reasoning-included|retry-after).*$/,
    kinds: ['removed'],
    clause: 'Q3',
    why: 'only listed headers are answered',
  },
  {
    side: 'answer',
    place: /^header openai-(model|processing-ms)$/,
    surfaces: PUBLIC,
    kinds: ['removed', 'changed'],
    clause: 'Q3',
    why: 'only listed headers are answered',
  },
  {
    side: 'answer',
    place: /^event (codex|agent)\.response\.metadata/,
    clause: 'EV1 Q14',
    why: "each native websocket turn names the gateway's model list",
  },
  {
    side: 'answer',
    place: /^event (codex|agent)\./,
    surfaces: PUBLIC,
    kinds: ['removed'],
    clause: 'Q15',
    why: 'native events stay on native routes',
  },
  {
    side: 'answer',
    place: /^event response\.metadata/,
    surfaces: PUBLIC,
    kinds: ['removed'],
    clause: 'Q15',
    why: 'native events stay on native routes',
  },
  { side: 'answer', place: /^event keepalive/, kinds: ['removed'], clause: 'RB18', why: 'keepalives are swallowed or passed' },
  { side: 'answer', place: /sequence_number$/, surfaces: PUBLIC, clause: 'Q15', why: 'public events are numbered again' },
  {
    side: 'answer',
    place: /^event response\.(completed|incomplete) \.?response\.output/,
    surfaces: PUBLIC,
    kinds: ['added', 'changed'],
    clause: 'RB17',
    why: 'an empty output is filled from the items',
  },
  { side: 'answer', place: /^event \[DONE\]/, surfaces: PUBLIC, kinds: ['added'], clause: 'RB16', why: 'public streams have an end mark' },
  {
    side: 'answer',
    place: /^body\.(id|created)$/,
    surfaces: ['chat'],
    clause: 'Q24',
    why: "ids and times of a completion are the gateway's",
  },
  { side: 'answer', place: /^body(\.models|\.data)/, clause: 'MC1 Q13', why: "the gateway's own model list" },
];

/** The statement that demands this difference; undefined if the difference is unexpected. */
export function intendedReason(
  difference: Difference,
  { surface, method }: Pick<ConversationExchange, 'surface' | 'method'>,
): Pick<Intended, 'clause' | 'why'> | undefined {
  const intended = INTENDED.find(
    ({ side, place, kinds, surfaces, upgrade }) =>
      side === difference.side &&
      place.test(difference.place) &&
      (upgrade === undefined || method === 'WS') &&
      (kinds === undefined || kinds.includes(difference.kind)) &&
      (surfaces === undefined || surfaces.includes(surface)),
  );
  return intended && { clause: intended.clause, why: intended.why };
}
