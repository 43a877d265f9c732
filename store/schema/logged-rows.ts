// The request log: a row for each request or websocket turn and one for each of its attempts. They are described once, for the store and
// for every view of them. The rows have safe metadata only: texts come from closed vocabularies or the configuration, and are short (S4).
import { counts, type DescribedRow, flag, integer, internal, nullable, object, oneOf, text, time, type Words } from './described-fields.ts';

/** Reasons for the chosen account. Other values are the strategy of the Pool. */
export const CHOSEN_BECAUSE: Words = {
  hard_pin: 'the turn continues a response, file or socket of that account',
  soft_pin: 'its session went there last',
  locality: 'that account answered the last turn with its prompt_cache_key, and has its prompt cached',
  conversation: 'that account answered the last turn of the conversation, and has its prompt cached',
  ciphertext: 'its reasoning came from there',
};

/** Reasons why another account was not chosen. */
export const NOT_CHOSEN_BECAUSE: Words = {
  less_preferred: 'available, but the chosen one is preferred',
  tried: 'failed this turn before',
  not_a_source: 'does not serve the model',
  out_of_quota: 'its quota was exhausted',
  reserved: 'what was left of its quota was reserved for its owner',
  cooldown: 'was in cooldown',
  probing: 'a probe was in progress',
  reauth_required: 'needed another credential',
  at_max_concurrent: 'was at its max_concurrent',
  no_price: 'its tier has a cap in USD, and the model no price',
  overflow_spent: 'the cap of its tier in USD had no room for the turn',
  no_overflow: 'the key stays in base tiers',
};

const why = object(
  'The choice of the account; null where none was chosen.',
  {
    reason: text('Why this account was chosen; a word that is not known here is the strategy of the Pool.', CHOSEN_BECAUSE),
    others: counts('Reason to the number of other accounts that it kept away.', NOT_CHOSEN_BECAUSE),
  },
  {
    left_soft_pin: text("Why the turn did not go to its session's account; null where it did, or has no session."),
    left_affinity: text("Why the turn did not go to its conversation's account; null where it did, or continues none."),
  },
);

const APIS = ['agent', 'responses', 'chat'] as const;

const adapted = nullable(
  text(
    'What the request lost or changed for this account: names of Responses members and item types, divided by commas; null for nothing.',
  ),
);

const tokens = (meaning: string) => nullable(integer(`${meaning} Null is unknown, which is not zero.`));

export const REQUEST = {
  id: text('The request id; clients get it as the header x-request-id.'),
  at: time('When the request arrived.'),
  family: text('Route family: backend-agent, backend, usage, v1.'),
  surface: text('API of the client: native, public, chat, images or messages.'),
  endpoint: text('Path of the route, with {name} for parameters.'),
  method: text('HTTP method; WS is a turn on a websocket.'),
  status: integer('HTTP status that the client got; 499 if it left before the answer.'),
  status_class: text('2xx to 5xx.'),
  // Decides which operators may see the row; null if no key was recognised.
  pool: nullable(text('Id of the Pool.')),
  pool_label: internal(nullable(text("The Pool's label at that time."))),
  account: nullable(text('Label of the account that answered, or was tried last; null if none was asked.')),
  api: nullable(oneOf(APIS, 'API of that account; null if none was asked.')),
  adapted,
  tier: nullable(integer('Tier of that account in its Pool; null if none was asked.')),
  overflow: nullable(
    oneOf(
      ['quota', 'failing', 'full'],
      'Why the turn left the lower tiers: what their accounts were. Null in the base tier, and where a conversation stayed at its account.',
    ),
  ),
  key_id: internal(nullable(text('Id of the Pool API key.'))),
  model: nullable(text('Exposed model id.')),
  requested_model: nullable(text('Exposed model id that the client asked for, where the Pool’s fallback served another one; else null.')),
  code: nullable(text('Error code; null for a success.')),
  retries: integer('Attempts at other accounts after the first one. Each failed attempt makes the turn slower.'),
  duration_ms: integer('Milliseconds from the arrival of the request to the end of the answer, streaming included.'),
  detached_ms: nullable(
    integer(
      'Milliseconds of duration_ms that the account worked while the client was away; null for a turn that its client did not leave.',
    ),
  ),
  effort: nullable(text('Reasoning effort that was sent; null where the model decides.')),
  input_tokens: tokens('Tokens of the prompt.'),
  cached_input_tokens: tokens('Part of input_tokens that the provider had cached.'),
  output_tokens: tokens('Tokens that the model wrote.'),
  tokens_estimated: flag('Whether the tokens are an estimate of the gateway.'),
  configured_mode: nullable(oneOf(['auto', 'lite', 'full'], 'Serving mode of the configuration.')),
  effective_mode: nullable(oneOf(['lite', 'full'], 'Serving mode of the turn.')),
  mode_source: nullable(oneOf(['catalog', 'override'], 'What decided the mode.')),
  reason_class: nullable(text('Of a websocket that was closed: max_frame_size_exceeded or timeout.')),
  error_class: internal(nullable(text('How the last attempt failed.'))),
  payload_compression: nullable(counts('What compression of the request saved: tokens or bytes, and percent.')),
  upstream_error_param: nullable(text("Path of the field that the provider's error names.")),
  why: nullable(why),
  outcome: internal(oneOf(['completed', 'incomplete', 'failed', 'cut', 'client_gone', 'refused'], 'How the turn ended.')),
  // Operators enable it with `log.client_address`.
  client_address: internal(nullable(text('Address of the client; null unless log.client_address is on, and where it is not known.'))),
  first_event_ms: internal(
    nullable(
      integer('Milliseconds from the arrival of the request to the first event or byte of its answer; null for a turn without one.'),
    ),
  ),
};

export type RequestRow = DescribedRow<typeof REQUEST>;

export type Why = NonNullable<RequestRow['why']>;

/** One dispatch of a request to one account. */
export const ATTEMPT = {
  request_id: internal(text('The request.')),
  ordinal: internal(integer('0 for the first attempt.')),
  at: internal(time('When the attempt began.')),
  account: text('Label of the account.'),
  api: oneOf(APIS, 'API of the account.'),
  adapted,
  cause: text('first, or why it was tried after another one: the failure of the attempt before, or resend.'),
  status: nullable(integer('Status of its answer; null if it never answered.')),
  error_class: nullable(text('How it failed; null for a success.')),
  duration_ms: integer('Milliseconds that the attempt took.'),
  upstream_error_param: nullable(text("Path of the field that the provider's error names.")),
};

export type AttemptRow = DescribedRow<typeof ATTEMPT>;

export interface LoggedRequest {
  readonly row: RequestRow;
  /** Attempts in order. One that can be derived from the request's row is not stored. */
  readonly attempts: readonly AttemptRow[];
}
