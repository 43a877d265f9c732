// The body of a turn for a Responses account: a streamed, unstored turn of the public API with the members that the account takes (AA28).
import type { ItemPlaces } from '../../turn/errors/item-places.ts';
import { asList, isAbsent, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { Adaptations } from '../../turn/provider/adapted.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import { KEEPABLE, type KeptMember } from '../../turn/provider/quirks.ts';
import type { Body } from '../../turn/turn.ts';
import { askedEffort } from '../../turn/wire/efforts.ts';
import { effortWord } from '../api-accounts/effort.ts';
import { publicItems } from './input-items.ts';
import { fittedTools } from './lowered-tools.ts';
import type { RefusedMembers } from './refused-members.ts';

export interface TurnBodyOptions {
  readonly account: ApiAccountConfig;
  /** Undefined if nothing is known of the model. */
  readonly model: AccountModel | undefined;
  /** Whether the body is a frame. Frames have no `stream`, and continue a response of their websocket (AA33). */
  readonly isFrame: boolean;
  /** The members that the account has refused for this model. */
  readonly refused: RefusedMembers;
  /** Makes the digest of the client's cache key. */
  readonly cacheKeyOf: (stated: string) => string;
  /** Collects the names of what was changed or removed (AA16). */
  readonly adapted: Adaptations;
  /** Collects the places of items that are left out (AA64). */
  readonly places: ItemPlaces | undefined;
}

/** The members that every account gets. The members in `KEEPABLE` depend on the account. */
const MEMBERS = ['model', 'instructions', 'input', 'tools', 'tool_choice', 'max_output_tokens'] as const;

const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/** Members that only frames have. */
const FRAME_MEMBERS: readonly string[] = ['type', 'previous_response_id', 'generate'];

/** @param stated the body as the rules left it, with the account's own id of the model, and with joined tools */
export function turnBody(stated: Body, options: TurnBodyOptions): Body {
  const { account, adapted, isFrame, model, places } = options;
  const { quirks } = account;
  const effort = quirks.effort === 'none' ? withoutEffort(stated, adapted) : effortWord(stated, model, quirks, adapted);
  const body = fittedTools(stated, options);
  const sent: Body = {};
  for (const name of isFrame ? [...FRAME_MEMBERS, ...MEMBERS] : MEMBERS) if (!isAbsent(body[name])) sent[name] = body[name];
  // Agent backends require the member, but some other servers refuse an empty one (RB10).
  if (sent.instructions === '') delete sent.instructions;
  sent.input = publicItems(inputOf(body), { itemIds: quirks.item_ids === 'required', adapted, places });
  setTools(sent, body, options);
  setLimits(sent, body, { model, adapted });
  setText(sent, body, options);
  setReasoning(sent, { body, effort }, options);
  for (const name of KEEPABLE) if (name !== 'verbosity' && name !== 'include') keep(sent, body, name, options);
  sent.store = false;
  if (!isFrame) sent.stream = streams(account, sent);
  if (sent.stream === true && quirks.stream_options && isObject(body.stream_options)) sent.stream_options = body.stream_options;
  for (const name of account.drop_fields) delete sent[name];
  noteLeftOut(stated, isFrame, adapted);
  return sent;
}

/** Notes members that only agent backends take, and members that ask the account to store the response. */
function noteLeftOut({ client_metadata, generate, store }: Body, isFrame: boolean, adapted: Adaptations): void {
  if (!isAbsent(client_metadata)) adapted.note('client_metadata');
  if (!isAbsent(generate) && !isFrame) adapted.note('generate');
  if (store === true) adapted.note('store');
}

function withoutEffort(stated: Body, adapted: Adaptations): undefined {
  if (askedEffort(stated) !== undefined) adapted.note('reasoning.effort');
}

const inputOf = ({ input }: Body): readonly Json[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
  return asList(input);
};

/** Whether a stream is requested. Otherwise the account sends one answer, which is turned into events. */
const streams = ({ quirks: { stream } }: ApiAccountConfig, { tools }: Body): boolean =>
  stream === 'always' || (stream === 'without_tools' && asList(tools).length === 0);

function setTools(sent: Body, body: Body, { account: { quirks }, adapted }: TurnBodyOptions): void {
  if (asList(sent.tools).length === 0) {
    if (sent.tool_choice !== undefined) adapted.note('tool_choice');
    delete sent.tools;
    delete sent.tool_choice;
    return;
  }
  if (!(quirks.tool_choice_named && quirks.tool_choice_required) && isObject(sent.tool_choice)) {
    adapted.note('tool_choice');
    const { mode, tools } = sent.tool_choice.type === 'allowed_tools' ? sent.tool_choice : { mode: 'required', tools: [sent.tool_choice] };
    const names = new Set(asList(tools).map(nameOf));
    sent.tools = asList(sent.tools).filter((tool) => names.has(nameOf(tool)));
    sent.tool_choice = mode ?? 'auto';
  }
  if (typeof body.parallel_tool_calls !== 'boolean') return;
  if (quirks.parallel_tool_calls) sent.parallel_tool_calls = body.parallel_tool_calls;
  else adapted.note('parallel_tool_calls');
}

/** The name of a tool. A tool of the provider's own has none, and is identified by its type. */
const nameOf = (tool: Json): Json | undefined => (isObject(tool) ? (tool.name ?? tool.type) : undefined);

function setLimits(sent: Body, { max_output_tokens: cap }: Body, { model, adapted }: Pick<TurnBodyOptions, 'model' | 'adapted'>): void {
  const most = model?.maxOutput;
  if (typeof cap !== 'number' || most === undefined || cap <= most) return;
  sent.max_output_tokens = most;
  adapted.note('max_output_tokens');
}

function setText(sent: Body, { text }: Body, { account: { quirks }, adapted }: TurnBodyOptions): void {
  const { format, verbosity } = isObject(text) ? text : {};
  const kept: Record<string, Json | undefined> = {};
  if (isObject(format)) kept.format = formatOf(format, quirks.json_schema, adapted);
  if (isObject(format) && format.type === 'json_schema' && quirks.json_schema === 'json_object')
    sent.instructions = withSchema(sent, format);
  if (kept.format === undefined && quirks.text_format === 'required') kept.format = { type: 'text' };
  if (verbosity !== undefined && verbosity !== null) {
    if (quirks.keep.includes('verbosity')) kept.verbosity = verbosity;
    else adapted.note('text.verbosity');
  }
  if (Object.keys(kept).length > 0) sent.text = kept;
}

/** The instructions with the schema at their end, for an account that takes no schema. */
function withSchema({ instructions }: Body, { schema }: JsonObject): string {
  const asked = `${JSON.stringify(schema)}\n\nAnswer with one JSON object of this schema, and with nothing else.`;
  return isText(instructions) ? `${instructions}\n\n${asked}` : asked;
}

function formatOf(format: JsonObject, quirk: ApiAccountConfig['quirks']['json_schema'], adapted: Adaptations): JsonObject {
  if (format.type !== 'json_schema' || quirk === 'strict' || quirk === 'refuse') return format;
  adapted.note('text.format');
  if (quirk === 'json_object') return { type: 'json_object' };
  const { strict: _, ...plain } = format;
  return plain;
}

interface AskedReasoning {
  readonly body: Body;
  /** The effort in the account's own word; undefined if no effort is sent. */
  readonly effort: string | undefined;
}

function setReasoning(
  sent: Body,
  { body, effort }: AskedReasoning,
  { account: { quirks }, model, refused, adapted }: TurnBodyOptions,
): void {
  const { summary, effort: asked, context, ...others } = isObject(body.reasoning) ? body.reasoning : {};
  if (!isAbsent(context)) adapted.note('reasoning.context');
  const reasons = model?.reasoningLevels?.length !== 0 && !refused.has('reasoning');
  const takesSummary = reasons && quirks.reasoning_summary && !refused.has('reasoning.summary');
  if (summary !== undefined && summary !== null && !takesSummary) adapted.note('reasoning.summary');
  if (!reasons && asked !== undefined) adapted.note('reasoning.effort');
  const isOff = effort === 'off' && Object.values(quirks.effort_values).includes('off');
  const reasoning = {
    ...others,
    ...(effort === undefined ? {} : { effort: isOff ? 'none' : effort }),
    ...(summary !== undefined && takesSummary ? { summary } : {}),
  };
  if (reasons && Object.keys(reasoning).length > 0) sent.reasoning = reasoning;
  const include = quirks.keep.includes('include') && !refused.has('include') ? asList(body.include) : [];
  const listed = include.filter((entry) => entry !== ENCRYPTED_REASONING || reasons);
  if (listed.length > 0) sent.include = listed;
  if (listed.length < asList(body.include).length) adapted.note('include');
}

function keep(
  sent: Body,
  body: Body,
  name: Exclude<KeptMember, 'verbosity' | 'include'>,
  { account, adapted, cacheKeyOf }: TurnBodyOptions,
): void {
  const value = body[name];
  if (value === undefined || value === null) return;
  if (!account.quirks.keep.includes(name)) adapted.note(name);
  else if (name !== 'prompt_cache_key') sent[name] = value;
  else if (isText(value)) sent[name] = cacheKeyOf(value);
}
