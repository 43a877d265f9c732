// The words of protocols that a recording may contain. Everything else is replaced (see redactor.ts).

/** Words of member names, types, paths and header values. Each is public, in the documentation or the source of a client or provider. */
const WORDS = new Set(
  `a accel access accepted account across action actions active activity add added additional agent all allow allowed alpha analytics and annotation
  annotations api append apply approval arc arch arguments array assistant at attempt audio auto available aws b64 background backend bad balance
  base base64 batch beta big billing body boolean br browser buffering by bytes cached call caller callers calls cancel cancelled category chat chatgpt
  choice choices chunk citation class cli click client close closed cloudflare code codex collaboration command commentary compact compaction
  completed completion completions comp computer concise configuration connection connections consume container content context conversation
  count create created credit credits current custom data date day deactivated debug declined decoder default defer definition deflate delta deleted deny
  depleted description desktop detail detailed details developer dimensions direct disabled discard display done duration dynamic each early edit edited edits
  effective effort embedding embeddings empty enabled encoding encrypted end ended enum environment error errors eval event events exceeded exec execution
  expired experimental expires external failed false family fast features fidelity field file files final finish first flagged flat flex float
  for form format forbidden found frames free freeform frequency full function functions fuzzy gateway generate generated generation generations get global
  goal grammar group gzip has hash header headers helper helpers high history hosted http id ide identifier identities identity image images in include
  included incomplete index info initial inline input installation instructions integer internal interrupt interrupted invalid invalidated is item items
  jpeg jpg js json jwks keep keepalive key keys kind lang language large lark last latest len length level levels limit limits linux list lite
  literals live local location locked log logged logprobs loss low macos manual mask max maximum mcp media medium member memories memory mention
  message messages meta metadata meter method mime mini minimal minimum minutes missing mode model models moderation modalities modified month mp3
  mpeg msg multi multipart name names namespace native needs network nano no node none not note notes null number nux object obfuscation official
  octet off og ogg on once one only open openai opened opencode operation options organization original originator os other outcome output over overloaded owned owner
  package param parameter parameters parallel part partial passthrough path patch pending penalty per percent permission permissions personality phase
  ping plain plan plus png poolgate policy pool port prediction prefer present presence previous preview pricing primary priority private pro
  processed processing program programmatic programs progress prompt properties protocol provider public purpose py python query queued quota rate ranking raw reached
  read ready real realtime reason reasoning recent recipient redacted ref refresh refusal refused region rejected release remote remaining remove
  repeat request requested requests required reset resets resize response responses responsesapi result results resume retention retries retry reused revised revoked role root rs runtime
  rust safety sampling schema scope scores screenshot sdk search secondary seconds seed segment send sequence server service session set
  settings shape shared shell short show sig simple size skip skills skipped slug small snapshot sort source spend speed sse staged standard start
  started starting state status stealth steer steered steering step still stop stopped store strategy stream streaming strict string structured style
  subagent subagents success suggested summaries summary super support supported supports suppressed suspended syntax system tag task team temperature terminal text
  thread threshold tier time timeout timestamp title to together token tokens tool tools top total trace traceparent track transcribe
  transcript transcription transcriptions transfer trigger true truncated truncation try turn turns type types unavailable unlimited uploaded uploads unset unsupported upgrade url urls
  usage use used user uses utf8 validation value variations verbosity version view visibility visible vision voice wait wav web webm webp websocket websockets wham
  when window windows with word words workspace write ws x x64 xhigh xml year you zstd
  cursor additionalproperties alive allof anyof application availability bits cache cors chunked const defs encoded form html maxitems maxlength minitems minlength oneof pdf pattern sdp stdin uniqueitems urlencoded www deadline deep etag incremental p w installed interactive lookup origin patches peer permessage pong received reconnect takeover trailer ultra update utf v1 v2`.split(
    /\s+/,
  ),
);

/** Characters between words, as in `response.output_item.done` and `x-codex-primary-reset-at`. */
const SEPARATORS = /[\s._/;,=+*:[\]-]+/;
/** Matches versions, dates and positions. Longer numbers may be ids. */
const SHORT_NUMBER = /^\d{1,4}$/;
const LONGEST = 120;

/** Whether the text consists of protocol words and short numbers, with at least one word. */
export function isProtocolText(text: string): boolean {
  if (text.length > LONGEST || !/[a-z]/i.test(text)) return false;
  return text
    .toLowerCase()
    .split(SEPARATORS)
    .every((part) => part === '' || WORDS.has(part) || SHORT_NUMBER.test(part));
}

/** Whether a member's name is public: it is protocol text without spaces, and not only a number. */
export const isProtocolName = (name: string): boolean => /^\$?[A-Za-z][\w.-]*$/.test(name) && isProtocolText(name.replace('$', ''));

/** Matches the family with which the public name of a model begins, as in `gpt-5.1-codex-mini`. All other parts are protocol words. */
const MODEL_FAMILY = /^(gpt|chatgpt|codex|claude|o\d|model)$/;
const MODEL_PART =
  /^(\d{1,2}(\.\d{1,2})?[a-z]?|\d{4}|codex|mini|nano|max|pro|spark|lite|full|image|audio|transcribe|chat|latest|preview|turbo|instant|thinking|auto|review|opus|sonnet|haiku|a|b|c)$/;

/** Whether the text is the public name of a model, or one of the simulated provider. */
export function isPublicModel(text: string): boolean {
  const [family = '', ...parts] = text.split('-');
  return text.length <= 60 && MODEL_FAMILY.test(family) && parts.every((part) => MODEL_PART.test(part));
}
