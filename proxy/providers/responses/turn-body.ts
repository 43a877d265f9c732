// The body of a turn for a Responses account: that of the public API, not stored and streamed, with the members that the account takes (AA28).
import { asList, isList, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import type { KeptMember } from '../../turn/provider/quirks.ts';
import type { Body } from '../../turn/turn.ts';
import { publicItems } from './input-items.ts';
import type { RefusedMembers } from './refused-members.ts';

export interface TurnBodyOptions {
  readonly account: ApiAccountConfig;
  /** Undefined where nothing is known of it. */
  readonly model: AccountModel | undefined;
  /** Frames have no `stream`, and continue a response of their websocket (AA33). */
  readonly isFrame: boolean;
  /** What the account has refused of this model. */
  readonly refused: RefusedMembers;
  /** The digest of the client's cache key. */
  readonly cacheKeyOf: (stated: string) => string;
  /** Takes the names of what was changed or removed (AA16). */
  readonly adapted: Set<string>;
}

/** The members that every account gets. Those of `KEEPABLE` depend on it. */
const MEMBERS = ['model', 'instructions', 'input', 'tools', 'tool_choice', 'max_output_tokens'] as const;

const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/** Members that only a frame has. */
const FRAME_MEMBERS: readonly string[] = ['type', 'previous_response_id', 'generate'];

/** Those that the gateway sets by itself: a client cannot lose them. */
const OWN: ReadonlySet<string> = new Set(['store', 'stream', 'reasoning', 'include', 'text', ...MEMBERS]);

/** @param body as the rules left it, with the account's own id of its model */
export function turnBody(body: Body, options: TurnBodyOptions): Body {
  const { account, adapted, isFrame, model } = options;
  const { quirks } = account;
  const sent: Body = {};
  if (isFrame) for (const name of FRAME_MEMBERS) if (body[name] !== undefined) sent[name] = body[name];
  for (const name of MEMBERS) if (body[name] !== undefined && body[name] !== null) sent[name] = body[name];
  sent.input = publicItems(inputOf(body), { itemIds: quirks.item_ids === 'required', adapted });
  setTools(sent, body, options);
  setLimits(sent, body, { model, adapted });
  setText(sent, body, options);
  setReasoning(sent, body, options);
  for (const name of quirks.keep) if (name !== 'verbosity' && name !== 'include') keep(sent, body, name, options);
  sent.store = false;
  if (!isFrame) sent.stream = streams(account, sent);
  if (sent.stream === true && quirks.stream_options && isObject(body.stream_options)) sent.stream_options = body.stream_options;
  for (const [name, value] of Object.entries(body)) {
    if (!OWN.has(name) && sent[name] === undefined && value !== undefined && value !== null) adapted.add(name);
  }
  if (body.store === true) adapted.add('store');
  for (const name of account.drop_fields) delete sent[name];
  return sent;
}

const inputOf = ({ input }: Body): readonly Json[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
  return asList(input);
};

/** Whether a stream is requested; else the account's one answer is made into events. */
const streams = ({ quirks: { stream } }: ApiAccountConfig, { tools }: Body): boolean =>
  stream === 'always' || (stream === 'without_tools' && asList(tools).length === 0);

function setTools(sent: Body, body: Body, { account: { quirks }, adapted }: TurnBodyOptions): void {
  if (asList(sent.tools).length === 0) {
    delete sent.tools;
    delete sent.tool_choice;
    return;
  }
  if (typeof body.parallel_tool_calls !== 'boolean') return;
  if (quirks.parallel_tool_calls) sent.parallel_tool_calls = body.parallel_tool_calls;
  else adapted.add('parallel_tool_calls');
}

function setLimits(sent: Body, { max_output_tokens: cap }: Body, { model, adapted }: Pick<TurnBodyOptions, 'model' | 'adapted'>): void {
  const most = model?.maxOutput;
  if (typeof cap !== 'number' || most === undefined || cap <= most) return;
  sent.max_output_tokens = most;
  adapted.add('max_output_tokens');
}

function setText(sent: Body, { text }: Body, { account: { quirks }, adapted }: TurnBodyOptions): void {
  const { format, verbosity, ...others } = isObject(text) ? text : {};
  const kept: Record<string, Json | undefined> = {};
  if (isObject(format)) kept.format = formatOf(format, quirks.json_schema, adapted);
  if (kept.format === undefined && quirks.text_format === 'required') kept.format = { type: 'text' };
  if (verbosity !== undefined && verbosity !== null) {
    if (quirks.keep.includes('verbosity')) kept.verbosity = verbosity;
    else adapted.add('text.verbosity');
  }
  for (const name of Object.keys(others)) adapted.add(`text.${name}`);
  if (Object.keys(kept).length > 0) sent.text = kept;
}

/** Under `json_object` the schema is in the instructions, where the shared translation puts it. */
function formatOf(format: JsonObject, quirk: ApiAccountConfig['quirks']['json_schema'], adapted: Set<string>): JsonObject {
  if (format.type !== 'json_schema' || quirk === 'strict' || quirk === 'refuse') return format;
  adapted.add('text.format');
  if (quirk === 'json_object') return { type: 'json_object' };
  const { strict: _, ...plain } = format;
  return plain;
}

function setReasoning(sent: Body, body: Body, { account: { quirks }, model, refused, adapted }: TurnBodyOptions): void {
  const stated = isObject(body.reasoning) ? body.reasoning : {};
  const reasons = model?.reasoningLevels?.length !== 0 && !refused.has('reasoning');
  if (!reasons) {
    if (stated.effort !== undefined) adapted.add('reasoning.effort');
    if (stated.summary !== undefined) adapted.add('reasoning.summary');
  } else {
    const { context, summary, ...kept } = stated;
    if (context !== undefined) adapted.add('reasoning.context');
    const takesSummary = quirks.reasoning_summary && !refused.has('reasoning.summary');
    if (summary !== undefined && !takesSummary) adapted.add('reasoning.summary');
    const reasoning = { ...kept, ...(summary !== undefined && takesSummary ? { summary } : {}) };
    if (Object.keys(reasoning).length > 0) sent.reasoning = reasoning;
  }
  const include = quirks.keep.includes('include') && !refused.has('include') ? asList(body.include) : [];
  const listed = include.filter((entry) => entry !== ENCRYPTED_REASONING || reasons);
  if (listed.length > 0) sent.include = listed;
  if (listed.length < asList(body.include).length) adapted.add('include');
}

function keep(sent: Body, body: Body, name: KeptMember, { cacheKeyOf }: TurnBodyOptions): void {
  const value = body[name];
  if (value === undefined || value === null) return;
  if (name === 'prompt_cache_key') {
    if (isText(value)) sent[name] = cacheKeyOf(value);
  } else if (!isList(value) || value.length > 0) sent[name] = value;
}
