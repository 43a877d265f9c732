// Rows of the request log as tools show them: the fields that may leave the gateway, and what each of them means (Q25).
import type { RequestRow } from '../../store/store.ts';
import { counts, integer, nullable, object, oneOf, text, time, type ValueOf } from './field-schemas.ts';
import { REASON_TEXT } from './selection-reasons.ts';
import { iso } from './times.ts';

const tokens = (what: string) => nullable(integer(`${what} Null is unknown, which is not zero.`));

const why = nullable(
  object(
    {
      reason: text('Why this account was chosen.'),
      others: counts('Reason to the number of other accounts that it kept away.'),
      left_soft_pin: nullable(text("Why the turn did not go to its session's account; null where it did, or has no session.")),
      left_affinity: nullable(text("Why the turn did not go to its conversation's account; null where it did, or continues none.")),
    },
    `The choice of the account; null where none was chosen. ${REASON_TEXT}`,
  ),
);

export const REQUEST_ROW = object({
  id: text('The request id; clients get it as the header x-request-id.'),
  at: time('When the request arrived.'),
  family: text('Route family: backend-agent, backend, usage, v1.'),
  endpoint: text('Path of the route, with {name} for parameters.'),
  method: text('HTTP method; WS is a turn on a websocket.'),
  status: integer('HTTP status that the client got; 499 if it left before the answer.'),
  status_class: text('2xx to 5xx.'),
  pool: nullable(text('Id of the Pool.')),
  account: nullable(text('Label of the account that answered, or was tried last; null if none was asked.')),
  model: nullable(text('Exposed model id.')),
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
  configured_mode: nullable(oneOf(['auto', 'lite', 'full'], 'Serving mode of the configuration.')),
  effective_mode: nullable(oneOf(['lite', 'full'], 'Serving mode of the turn.')),
  mode_source: nullable(oneOf(['catalog', 'override'], 'What decided the mode.')),
  reason_class: nullable(text('Of a websocket that was closed: max_frame_size_exceeded or timeout.')),
  payload_compression: nullable(counts('What compression of the request saved: tokens or bytes, and percent.')),
  upstream_error_param: nullable(text("Path of the field that the provider's error names.")),
  why,
});

/** Fields that the schema does not have, such as the key, stay in the store. */
export function shownRequest(row: RequestRow): ValueOf<typeof REQUEST_ROW> {
  const { id, at, family, endpoint, method, status, status_class, pool, account, model, code, retries, duration_ms } = row;
  const { input_tokens, cached_input_tokens, output_tokens, configured_mode, effective_mode, mode_source } = row;
  const { detached_ms, effort, reason_class, payload_compression, upstream_error_param } = row;
  return {
    ...{ id, at: iso(at), family, endpoint, method, status, status_class, pool, account, model, code, retries, duration_ms },
    ...{ detached_ms, effort, input_tokens, cached_input_tokens, output_tokens, configured_mode, effective_mode, mode_source },
    ...{ reason_class, payload_compression, upstream_error_param },
    why: row.why && {
      reason: row.why.reason,
      others: row.why.others,
      left_soft_pin: row.why.left_soft_pin ?? null,
      left_affinity: row.why.left_affinity ?? null,
    },
  };
}
