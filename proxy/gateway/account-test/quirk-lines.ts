// Finds the quirk that would have avoided an account's refusal, by the refused member or by the text of the refusal (AA87).
import type { ProviderError } from '../../turn/errors/error-statement.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import { KEEPABLE, QUIRKS, type Quirks } from '../../turn/provider/quirks.ts';

interface Refused {
  /** The refused member; empty if the refusal names none. */
  readonly param: string;
  readonly message: string;
  readonly quirks: Quirks;
  /** Whether the turn declared tools. */
  readonly hasTools: boolean;
}

type Value = string | boolean | readonly string[];

interface Row {
  readonly quirk: keyof typeof QUIRKS;
  readonly fits: (refused: Refused) => boolean;
  readonly value: (refused: Refused) => Value;
}

/** Names are found by the refused member. If none is stated, a name in the message counts. */
const names =
  (pattern: RegExp) =>
  ({ param, message }: Refused): boolean =>
    pattern.test(param === '' ? message : param);

const says =
  (pattern: RegExp) =>
  ({ message }: Refused): boolean =>
    pattern.test(message);

const isChoice = names(/\btool_choice\b/);
/** The text of a server that takes no forced call. */
const isUnforced = says(/\bauto\b/);

/** The rows. The first one that matches counts. */
const ROWS: readonly Row[] = [
  { quirk: 'stream_options', fits: names(/\bstream_options\b/), value: () => false },
  {
    quirk: 'max_tokens',
    fits: names(/\bmax_(?:completion_)?tokens\b/),
    value: ({ quirks }) => (quirks.max_tokens === 'max_completion_tokens' ? 'max_tokens' : 'max_completion_tokens'),
  },
  { quirk: 'parallel_tool_calls', fits: names(/\bparallel_tool_calls\b/), value: () => false },
  {
    quirk: 'tool_choice_required',
    fits: (refused) => isChoice(refused) && (isUnforced(refused) || !refused.quirks.tool_choice_named),
    value: () => false,
  },
  { quirk: 'tool_choice_named', fits: isChoice, value: () => false },
  { quirk: 'reasoning_summary', fits: names(/\breasoning\.summary\b/), value: () => false },
  { quirk: 'effort', fits: names(/\breasoning_effort\b|\breasoning\.effort\b|^(?:reasoning|thinking)$/), value: () => 'none' },
  { quirk: 'strict', fits: names(/\bstrict\b/), value: () => false },
  { quirk: 'tool_description', fits: names(/\btools\b.*\bdescription\b/), value: () => 'required' },
  { quirk: 'tools', fits: names(/^tools\b.*\btype$/), value: () => 'function' },
  { quirk: 'text_format', fits: names(/\btext\.format\b/), value: () => 'required' },
  { quirk: 'assistant_after_tool', fits: says(/\brole\b.*\bafter role\b.*\btool\b/i), value: () => true },
  { quirk: 'developer_role', fits: says(/\bdeveloper\b/), value: () => false },
  { quirk: 'late_system', fits: says(/\bsystem\b.*\b(?:beginning|first|start)\b/i), value: () => 'merge' },
  { quirk: 'tool_ids', fits: names(/\btool_call_id\b|\btool_calls\b.*\bid\b/), value: () => 'alnum9' },
  { quirk: 'tool_result_name', fits: names(/^messages\b.*\bname$/), value: ({ quirks }) => !quirks.tool_result_name },
  { quirk: 'reasoning_replay', fits: names(/^messages\b.*\b(?:reasoning(?:_content)?|thinking)$/), value: replayed },
  { quirk: 'content', fits: names(/^messages\b.*\bcontent\b/), value: () => 'string' },
  { quirk: 'item_ids', fits: names(/^input\b/), value: ({ message }) => (/\bno id\b/.test(message) ? 'omit' : 'required') },
  { quirk: 'stream', fits: names(/^stream$|\bstream(?:ed|ing)\b/), value: streams },
];

function replayed({ message, quirks }: Refused): Value {
  return quirks.reasoning_replay === 'none' && /\b(?:passed back|required|missing)\b/i.test(message) ? 'always' : 'none';
}

function streams({ hasTools, quirks }: Refused): Value {
  return hasTools && quirks.stream === 'always' ? 'without_tools' : 'never';
}

/** Whether the API has the quirk. A quirk of the other API would change nothing. */
const isOf = (api: ApiAccountConfig['api'], quirk: Row['quirk']): boolean => (QUIRKS[quirk].apis as readonly string[]).includes(api);

/**
 * Lines for `quirks` in the file; none if no quirk is known to help.
 * @param error the error as the account wrote it, before it was translated for clients
 */
export function quirkLines(
  { param, message }: Pick<ProviderError, 'param' | 'message'>,
  { api, quirks }: Pick<ApiAccountConfig, 'api' | 'quirks'>,
  hasTools: boolean,
): readonly string[] {
  const refused: Refused = { param: param ?? '', message: message ?? '', quirks, hasTools };
  const kept = KEEPABLE.find((member) => member === refused.param);
  if (kept) return quirks.keep.includes(kept) ? [`keep: [${quirks.keep.filter((one) => one !== kept).join(', ')}]`] : [];
  const row = ROWS.find(({ quirk, fits }) => isOf(api, quirk) && fits(refused));
  const value = row?.value(refused);
  return row && value !== quirks[row.quirk] ? [`${row.quirk}: ${String(value)}`] : [];
}
