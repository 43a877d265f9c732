// The checks of a strict provider on a turn's request. Each refuses a form that the gateway must never send.
import { asList, asString, isAbsent, isObject, type JsonObject } from '../../turn/json/json.ts';
import { filesIn } from '../account/simulated-files.ts';
import { endsInTrigger, toolLists } from '../model/turn-request.ts';
import { modelRefusal, ProviderDetail, SimulatedError, unverifiedContent } from '../provider-error.ts';
import { missingParameter, refuse } from '../request-refusals.ts';
import { type CheckedTurn, isFrame } from './checked-turn.ts';
import { refuseUnknownMembers, refuseUnpairedOutputs, refuseWrongRoles } from './conversation-checks.ts';
import { refuseUnloweredSchemas } from './schema-keywords.ts';

/** The checks in the order of a real provider. */
const CHECKS: readonly ((turn: CheckedTurn) => void)[] = [
  refuseWrongShapes,
  refuseUnknownModel,
  refuseAnchor,
  refuseStoredReference,
  refuseUnsupportedFields,
  refuseUnknownMembers,
  refuseWrongStreamOrStore,
  refuseWrongRoles,
  refuseUnpairedOutputs,
  refuseWrongDialect,
  refuseWrongCompaction,
  refuseMissingReasoning,
  refuseForeignState,
  refuseUnknownFiles,
  ({ body }) => {
    for (const { path, tools } of toolLists(body, asList(body.input))) refuseUnloweredSchemas(tools, path);
  },
];

/** @throws SimulatedError of the first check that fails */
export function checkTurn(turn: CheckedTurn): void {
  for (const check of CHECKS) check(turn);
}

function refuseWrongShapes({ body, account }: CheckedTurn): void {
  if (account.manners.streamedUnstoredLists && !isAbsent(body.input) && !Array.isArray(body.input))
    throw new ProviderDetail(400, 'Input must be a list');
  for (const member of ['input', 'tools']) {
    if (!isAbsent(body[member]) && !Array.isArray(body[member]))
      refuse(member, `Invalid type for '${member}': expected an array.`, 'invalid_type');
    const wrong = asList(body[member]).findIndex((one) => !isObject(one));
    if (wrong >= 0) refuse(`${member}[${wrong}]`, `Invalid type for '${member}[${wrong}]': expected an object.`, 'invalid_type');
  }
}

function refuseUnknownModel({ body, slugs, account }: CheckedTurn): void {
  const model = asString(body.model);
  if (model === undefined) throw missingParameter('model');
  if (!slugs.has(model)) throw modelRefusal(model, account.manners);
}

/** Refuses an anchor that is not on a live websocket, because responses are not stored. */
function refuseAnchor({ body, anchors }: CheckedTurn): void {
  if (isAbsent(body.previous_response_id)) return;
  if (anchors === undefined) throw new ProviderDetail(400, 'Unsupported parameter: previous_response_id');
  if (!anchors.has(asString(body.previous_response_id) ?? '')) throw unknownAnchor(body);
}

/** The anchor of a frame is no response of its websocket (RB11). */
export function unknownAnchor({ previous_response_id: anchor }: JsonObject): SimulatedError {
  const message = `Previous response with id '${asString(anchor) ?? ''}' not found.`;
  return new SimulatedError(400, 'previous_response_not_found', message, 'previous_response_id');
}

/** Refuses a reference to an item, because items are not stored. */
function refuseStoredReference({ body }: CheckedTurn): void {
  for (const item of asList(body.input)) {
    if (!isObject(item) || item.type !== 'item_reference') continue;
    const message = `Item with id '${asString(item.id) ?? ''}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
    throw new SimulatedError(404, null, message, 'input');
  }
}

function refuseUnsupportedFields({ body, account }: CheckedTurn): void {
  const field = account.settings.profile?.refusedFields?.find((name) => body[name] !== undefined);
  if (field !== undefined) refuse(field, `Unsupported parameter: ${field}`, 'unsupported_parameter');
}

/** Refuses a wrong `stream` or `store`. A frame always streams, and is stored only if it asks for that (RB7). */
function refuseWrongStreamOrStore(turn: CheckedTurn): void {
  const { body, isCompact, account } = turn;
  if (isCompact) return;
  if (account.manners.streamedUnstoredLists) {
    if (!isFrame(turn) && body.stream !== true) throw new ProviderDetail(400, 'Stream must be set to true');
    if (isFrame(turn) ? body.store === true : body.store !== false) throw new ProviderDetail(400, 'Store must be set to false');
    return;
  }
  if (!isFrame(turn) && typeof body.stream !== 'boolean') refuse('stream', "'stream' must be set.");
  if (body.store !== false) refuse('store', "'store' must be set to false.");
}

/** Refuses a Lite body without the marker of its carrier, and any other body with it (F2). */
function refuseWrongDialect(turn: CheckedTurn): void {
  const { body, isCompact } = turn;
  const marker = markerOf(turn);
  if (isCompact) return;
  const first = asList(body.input)[0];
  const prefix = isObject(first) && first.type === 'additional_tools' && first.role === 'developer' ? first : undefined;
  if (marker === undefined && prefix !== undefined && isAbsent(prefix.id)) refuse('input.0', 'A Lite request must be marked as one.');
  if (marker === undefined) return;
  if (!isAbsent(body.tools)) refuse('tools', 'A Lite request carries its tools inside its input.');
  if (!isAbsent(body.instructions)) refuse('instructions', 'A Lite request carries its instructions inside its input.');
  // Native clients send the tools once. Their warm-up frame and frames that continue a response do not repeat them.
  if (prefix === undefined && isAbsent(body.previous_response_id) && body.generate !== false) {
    refuse('input.0', 'A Lite request begins with its tools.');
  }
}

/** The marker. Over HTTP it is a header, on a websocket an entry of `client_metadata`. The other form is refused. */
function markerOf(turn: CheckedTurn): 'true' | undefined {
  const { body, headers, wire } = turn;
  const entry = `ws_request_header_${wire.lite_marker.replaceAll('-', '_')}`;
  const inBody = isObject(body.client_metadata) ? body.client_metadata[entry] : undefined;
  const inHead = headers[wire.lite_marker];
  if (isFrame(turn)) {
    if (inHead !== undefined) refuse('input', `The header ${wire.lite_marker} has no meaning on a websocket.`);
    if (inBody === undefined || inBody === 'true') return inBody;
    return refuse(`client_metadata.${entry}`, `The entry ${entry} is the text 'true' or absent.`);
  }
  if (inBody !== undefined) refuse(`client_metadata.${entry}`, 'The Lite marker of websockets has no meaning over HTTP.');
  if (inHead === undefined || inHead === 'true') return inHead;
  return refuse('input', `The header ${wire.lite_marker} is 'true' or absent.`);
}

/** Refuses a compact request with members other than the conversation. The compact path answers in one piece. */
function refuseWrongCompaction({ body, isCompact }: CheckedTurn): void {
  if (!isCompact) return;
  if (endsInTrigger(asList(body.input))) refuse('input', 'The compact path takes no compaction_trigger.');
  if (body.stream === true) refuse('stream', 'The compact path does not stream.');
}

/** Refuses a turn without reasoning, unless it is a compaction (F1.4). */
function refuseMissingReasoning({ body, isCompact }: CheckedTurn): void {
  if (isCompact || endsInTrigger(asList(body.input))) return;
  if (!isObject(body.reasoning)) refuse('reasoning', "Missing required parameter: 'reasoning'.", 'missing_required_parameter');
  const asked = asList(body.include).filter((entry) => entry === 'reasoning.encrypted_content').length;
  if (asked !== 1) refuse('include', "'include' must hold 'reasoning.encrypted_content' exactly once.");
}

/** Refuses ciphertext and turn states of other accounts. */
function refuseForeignState({ body, headers, account, wire }: CheckedTurn): void {
  for (const item of asList(body.input)) {
    const ciphertext = isObject(item) ? item.encrypted_content : undefined;
    if (typeof ciphertext === 'string' && account.isForeign(ciphertext)) throw unverifiedContent(ciphertext);
  }
  const name = `x-${wire.agent}-turn-state`;
  const inBody = isObject(body.client_metadata) ? body.client_metadata[name] : undefined;
  for (const state of [headers[name], inBody]) {
    if (typeof state === 'string' && account.isForeign(state)) {
      throw new SimulatedError(400, 'invalid_turn_state', 'The turn state was issued by another account.');
    }
  }
}

/** Refuses a file that the account does not have. */
function refuseUnknownFiles({ body, account }: CheckedTurn): void {
  for (const { id, path } of filesIn(body.input, 'input')) {
    if (!account.files.has(id)) throw new SimulatedError(404, 'file_not_found', 'There is no such file.', path);
  }
}
