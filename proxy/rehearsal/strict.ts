// What a strict provider refuses of a turn: the shapes that the gateway must never send it.
import type { IncomingHttpHeaders } from 'node:http';
import type { Json, JsonObject } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';
import type { WireWords } from '../turn/settings.ts';
import type { Account } from './account.ts';
import { ProviderError } from './errors.ts';
import { endsInTrigger, toolLists } from './prompt.ts';
import { listOf, textOf } from './reading.ts';
import { refuseUnloweredSchemas } from './schema-keywords.ts';

export interface Judged {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  readonly account: Account;
  readonly slugs: ReadonlySet<string>;
  readonly wire: WireWords;
  /** A compact request needs neither reasoning nor streaming (F1.4), and its Lite projection is the gateway's own affair (F2.15). */
  readonly isCompact: boolean;
}

/** In the order in which a provider would notice. Each throws ProviderError, or says nothing. */
const checks: readonly ((judged: Judged) => void)[] = [
  refuseWrongShapes,
  refuseUnknownModel,
  refuseAnchor,
  refuseUnwantedFields,
  refuseWrongDelivery,
  refuseWrongDialect,
  refuseMissingReasoning,
  refuseForeignState,
  ({ body }) => {
    for (const { path, tools } of toolLists(body, listOf(body.input))) refuseUnloweredSchemas(tools, path);
  },
];

/** @throws ProviderError for the first thing that is wrong */
export function judge(judged: Judged): void {
  for (const check of checks) check(judged);
}

function refuse(param: string, message: string, code = 'invalid_value'): never {
  throw new ProviderError(400, code, message, param);
}

function refuseWrongShapes({ body }: Judged): void {
  for (const member of ['input', 'tools']) {
    if (isPresent(body[member]) && !Array.isArray(body[member]))
      refuse(member, `Invalid type for '${member}': expected an array.`, 'invalid_type');
  }
}

function refuseUnknownModel({ body, slugs }: Judged): void {
  const model = textOf(body.model);
  if (model === undefined) refuse('model', "Missing required parameter: 'model'.", 'missing_required_parameter');
  if (!slugs.has(model)) throw new ProviderError(404, 'model_not_found', 'The requested model does not exist.', 'model');
}

/** Responses are not stored, so that an anchor means something on a live websocket only. */
function refuseAnchor({ body }: Judged): void {
  if (isPresent(body.previous_response_id))
    refuse('previous_response_id', 'Unsupported parameter: previous_response_id', 'unsupported_parameter');
}

function refuseUnwantedFields({ body, account }: Judged): void {
  const field = account.config.temperament?.refusedFields?.find((name) => body[name] !== undefined);
  if (field !== undefined) refuse(field, `Unsupported parameter: ${field}`, 'unsupported_parameter');
}

function refuseWrongDelivery({ body, isCompact }: Judged): void {
  if (isCompact) return;
  if (typeof body.stream !== 'boolean') refuse('stream', "'stream' must be set.");
  if (body.store !== false) refuse('store', "'store' must be set to false.");
}

/** Marker and shape go together: the header marks a Lite body, and nothing else does (F2). */
function refuseWrongDialect({ body, headers, wire, isCompact }: Judged): void {
  const inBody = `ws_request_header_${wire.lite_marker.replaceAll('-', '_')}`;
  if (isObject(body.client_metadata) && body.client_metadata[inBody] !== undefined) {
    refuse(`client_metadata.${inBody}`, 'The Lite marker of websockets has no meaning over HTTP.');
  }
  const marker = headers[wire.lite_marker];
  if (marker !== undefined && marker !== 'true') refuse('input', `The header ${wire.lite_marker} is 'true' or absent.`);
  if (isCompact) return;
  const first = listOf(body.input)[0];
  const prefix = isObject(first) && first.type === 'additional_tools' && first.role === 'developer' ? first : undefined;
  if (marker === undefined && prefix !== undefined && !isPresent(prefix.id)) refuse('input.0', 'A Lite request must be marked as one.');
  if (marker === undefined) return;
  if (isPresent(body.tools)) refuse('tools', 'A Lite request carries its tools inside its input.');
  if (isPresent(body.instructions)) refuse('instructions', 'A Lite request carries its instructions inside its input.');
  if (prefix === undefined) refuse('input.0', 'A Lite request begins with its tools.');
}

/** F1.4; a compaction turn is excluded there. */
function refuseMissingReasoning({ body, isCompact }: Judged): void {
  if (isCompact || endsInTrigger(listOf(body.input))) return;
  if (!isObject(body.reasoning)) refuse('reasoning', "Missing required parameter: 'reasoning'.", 'missing_required_parameter');
  const asked = listOf(body.include).filter((entry) => entry === 'reasoning.encrypted_content').length;
  if (asked !== 1) refuse('include', "'include' must hold 'reasoning.encrypted_content' exactly once.");
}

/** Ciphertext and turn state are good at the account that made them only. */
function refuseForeignState({ body, headers, account, wire }: Judged): void {
  for (const [i, item] of listOf(body.input).entries()) {
    const ciphertext = isObject(item) ? item.encrypted_content : undefined;
    if (typeof ciphertext === 'string' && account.isForeign(ciphertext)) {
      const param = `input.${i}.encrypted_content`;
      refuse(param, 'The encrypted content could not be verified.', 'invalid_encrypted_content');
    }
  }
  const name = `x-${wire.agent}-turn-state`;
  const inBody = isObject(body.client_metadata) ? body.client_metadata[name] : undefined;
  for (const state of [headers[name], inBody]) {
    if (typeof state === 'string' && account.isForeign(state)) {
      throw new ProviderError(400, 'invalid_turn_state', 'The turn state was issued by another account.');
    }
  }
}

const isPresent = (value: Json | undefined): boolean => value !== undefined && value !== null;
