// Checks the settings of accounts against their API and preset, and reports those of another API (AA1, AA12, AA13, AA15).
import type { Problem } from '../../schema/finding.ts';
import { mapping, text, textsAt } from '../config-rows.ts';
import { type AccountRow, accountRows } from './account-row.ts';

export function checkApiSettings(data: unknown): readonly Problem[] {
  return accountRows(data).flatMap((account) => [...problemsOf(account)]);
}

function* problemsOf(account: AccountRow): Generator<Problem> {
  const { row, api, preset, path } = account;
  if (preset && !(preset.apis as readonly string[]).includes(api))
    yield { path: [...path, 'api'], message: `preset ${preset.name} has no API ${api}, only ${preset.apis.join(' and ')}` };
  yield* compaction(account);
  if (api === 'agent') yield* agentAccount(account);
  else yield* apiAccount(account);
  if (api === 'chat' && row.websocket === true) yield { path: [...path, 'websocket'], message: 'the Chat API has no websocket' };
}

const API_SETTINGS = [
  'query',
  'insecure_http',
  'first_byte_ms',
  'idle_ms',
  'catalog',
  'read_models',
  'serves',
  'hosted_tools',
  'quirks',
] as const;

function* agentAccount({ row, path }: AccountRow): Generator<Problem> {
  for (const name of API_SETTINGS) {
    if (row[name] === undefined) continue;
    const message = `${name} is a setting of API accounts: set api to responses or chat, or name a preset`;
    yield { path: [...path, name], at: 'key', message };
  }
}

/** Members that must not be dropped, because a request without them is not valid. */
const NEVER_DROPPED: ReadonlySet<string> = new Set(['model', 'messages', 'input', 'stream']);

const SECRET_PARAMETERS: ReadonlySet<string> = new Set(['key', 'api_key', 'api-key', 'token', 'access_token', 'sig', 'code']);

/** Settings for which the Chat API has no requests. */
const NOT_ON_CHAT: ReadonlySet<string> = new Set(['images', 'files']);

function* apiAccount({ row, path, api }: AccountRow): Generator<Problem> {
  for (const { path: at, text: member } of textsAt(row, 'drop_fields', path)) {
    if (NEVER_DROPPED.has(member)) yield { path: at, message: `${member} cannot be dropped: a request without it is not valid` };
  }
  for (const name of Object.keys(mapping(row.query))) {
    if (!SECRET_PARAMETERS.has(name.toLowerCase())) continue;
    const message = 'this parameter contains a secret, and secrets must not be in this file: reference it in credential';
    yield { path: [...path, 'query', name], at: 'key', message };
  }
  if (Array.isArray(row.keep_fields) && row.keep_fields.length > 0) {
    yield {
      path: [...path, 'keep_fields'],
      at: 'key',
      message: 'keep_fields is a setting of agent accounts; API accounts have quirks.keep',
    };
  }
  if (row.session_header === 'derived') {
    yield { path: [...path, 'session_header'], message: 'API accounts get no session header: their prompt caches follow prompt_cache_key' };
  }
  if (typeof row.reserve_percent === 'number' && row.reserve_percent > 0) {
    const message = 'API accounts have no quota windows, so nothing is reserved';
    yield { path: [...path, 'reserve_percent'], message, severity: 'warning' };
  }
  if (api !== 'chat') return;
  for (const { path: at, text: word } of textsAt(row, 'serves', path)) {
    if (NOT_ON_CHAT.has(word)) yield { path: at, message: `the Chat API has no ${word}: this word has no effect`, severity: 'warning' };
  }
  for (const { path: at } of textsAt(row, 'hosted_tools', path)) {
    yield { path: at, message: 'the Chat API has no hosted tools: this word has no effect', severity: 'warning' };
  }
}

const COMPACTIONS: Readonly<Record<AccountRow['api'], readonly string[]>> = {
  agent: ['auto', 'route', 'trigger'],
  responses: ['route', 'trigger', 'summary', 'none'],
  chat: ['summary', 'none'],
};

/** Checks `compact`. The schema reports unknown words. */
function* compaction({ row, api, path }: AccountRow): Generator<Problem> {
  const word = text(row.compact);
  const known = COMPACTIONS[api];
  const all = Object.values(COMPACTIONS).flat();
  if (word === undefined || known.includes(word) || !all.includes(word)) return;
  yield { path: [...path, 'compact'], message: `${api === 'agent' ? 'an' : 'a'} ${api} account compacts by ${known.join(', ')}` };
}
