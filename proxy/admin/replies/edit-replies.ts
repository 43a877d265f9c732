// Edits of the configuration over the API: types and schemas of requests and replies, for server and clients.
import type { ConfigChange } from '../../config/config-diff.ts';
import type { KeyPolicies } from '../../config/file/edits/key-edits.ts';
import type { KeyPolicyChanges } from '../../config/file/edits/key-policy-edits.ts';
import type { Finding } from '../../config/schema/finding.ts';
import { resolved, type SchemaNode, settings } from '../../config/schema/schema.ts';
import { KEY_ROW } from '../../mcp/tools/list-keys.ts';
import { flag, integer, list, nullable, object, oneOf, type Schema, text, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { KeyLimits } from '../../turn/settings.ts';
import { checkOf } from '../api/reply-check.ts';
import { CHANGE, FINDING } from './configuration-replies.ts';

const NODES: ReadonlyMap<string, SchemaNode> = new Map([...settings()].map(({ path, node }) => [path, node]));

/**
 * The schema of a setting of config.yaml, for a request that sets it, so that its bounds are stated once.
 * @param path the path of the setting, such as `keys[].limits`
 */
function settingSchema<Value>(path: string): Schema<Value> {
  const node = NODES.get(path);
  if (!node) throw new Error(`there is no setting ${path}`);
  return { json: standalone(node) };
}

/** The schema without references, and without defaults, which only apply to files. */
function standalone(node: SchemaNode): JsonObject {
  const { $ref: _, default: __, restart: ___, errorMessage, properties, items, additionalProperties, ...rest } = resolved(node);
  return {
    ...(rest as JsonObject),
    ...(errorMessage !== undefined && { 'x-takes': errorMessage.replace(/^must be /, '') }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, standalone(inner)])) }),
    ...(items && { items: standalone(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: additionalProperties === false ? false : standalone(additionalProperties),
    }),
  };
}

const VERSION = text('Digest of the running configuration.');
const CHANGED = flag('Whether the file was changed; false if it already had this content.');
const SECRET = text('The secret: it is in no other answer, and only its hash is kept.');

export const ACCOUNT_PAUSE = object({
  account: text('Id of the account.'),
  paused: flag('Whether it is paused now.'),
  changed: CHANGED,
});

const POLICIES = {
  expires_at: settingSchema<string>('keys[].expires_at'),
  models: settingSchema<readonly string[]>('keys[].models'),
  reasoning_effort: settingSchema<NonNullable<KeyPolicies['reasoning_effort']>>('keys[].reasoning_effort'),
  output_tokens: settingSchema<{ readonly max: number }>('keys[].output_tokens'),
};

export const LIMIT_NAMES = [
  'requests_per_minute',
  'requests_per_day',
  'tokens_per_minute',
  'tokens_per_day',
  'tokens_per_week',
  'usd_per_day',
  'usd_per_week',
  'concurrent',
] as const satisfies readonly (keyof KeyLimits)[];

const CHANGED_LIMITS = object(
  {},
  'Its limits: those that are absent stay.',
  Object.fromEntries(LIMIT_NAMES.map((name) => [name, nullable(settingSchema<number>(`keys[].limits.${name}`))])),
);

export const NEW_KEY = object({ id: settingSchema<string>('keys[].id'), pool: settingSchema<string>('keys[].pool') }, undefined, {
  ...POLICIES,
  limits: settingSchema<KeyLimits>('keys[].limits'),
});

export const KEY_CHANGES: Schema<KeyPolicyChanges> = object({}, 'What changes; null removes.', {
  expires_at: nullable(POLICIES.expires_at),
  models: nullable(POLICIES.models),
  reasoning_effort: nullable(POLICIES.reasoning_effort),
  output_tokens: nullable(POLICIES.output_tokens),
  limits: nullable(CHANGED_LIMITS as Schema<NonNullable<KeyPolicyChanges['limits']>>),
});

const KEY_IN_FORCE = { key: KEY_ROW, changed: CHANGED, version: VERSION };

/** The key with its current settings. */
export const KEY_EDIT = object(KEY_IN_FORCE);
export const MADE_KEY = object({ ...KEY_IN_FORCE, secret: SECRET });

export type KeyEditReply = ValueOf<typeof KEY_EDIT>;
export type MadeKeyReply = ValueOf<typeof MADE_KEY>;

const MODE = oneOf(['auto', 'lite', 'full'], 'auto: the catalog decides.');

export const MODE_CHOICE = object({ mode: MODE });

export const MODE_EDIT = object({
  pool: text('Id of the Pool.'),
  model: text('Exposed model id.'),
  mode: MODE,
  changed: CHANGED,
  version: VERSION,
});

const TOKEN_NAME = text('Name of the token: the first digits of its hash.');

const OPERATOR_RIGHTS = {
  owns: settingSchema<readonly string[]>('operators[].owns'),
  assigned: settingSchema<readonly string[]>('operators[].assigned'),
  admin: settingSchema<boolean>('operators[].admin'),
};

export const TOKENS = object({
  operators: list(
    'In configuration order.',
    object({ id: text('Id of the operator.'), ...OPERATOR_RIGHTS, tokens: list('Names of its tokens, oldest first.', TOKEN_NAME) }),
  ),
});

export const NEW_TOKEN = object({ operator: settingSchema<string>('operators[].id') }, 'The rights of a new operator.', OPERATOR_RIGHTS);

export const MADE_TOKEN = object({ operator: text('Id of the operator.'), token: TOKEN_NAME, secret: SECRET, version: VERSION });

export const REVOKED_TOKEN = object({
  operator: text('Id of the operator.'),
  token: TOKEN_NAME,
  left: integer('Tokens that the operator still has; with none it was removed.'),
  version: VERSION,
});

export const EDITS = object(
  { off: nullable(text('Why the file cannot be edited here; null if it can be edited.')) },
  'Whether edits are on.',
);

/** The reply of GET /api/config. */
export interface ConfigurationFileReply {
  readonly path: string;
  /** `versionOf` the running configuration. */
  readonly version: string;
  /** `versionOf` the file; null if the file has errors. */
  readonly file_version: string | null;
  readonly text: string | null;
  readonly findings: readonly Finding[];
  readonly changes: readonly ConfigChange[] | null;
  readonly edits: { readonly off: string | null };
}

export const CONFIGURATION_FILE: Schema<ConfigurationFileReply> = object({
  path: text('The file.'),
  version: VERSION,
  file_version: nullable(text('Digest of the file, computed like version for the running configuration; null if the file has errors.')),
  text: nullable(text('Its text, with private values hidden; null if it cannot be parsed.')),
  findings: list('Its errors and warnings.', FINDING),
  changes: nullable(list('What a reload would change; null if the file has errors.', CHANGE as Schema<ConfigChange>)),
  edits: EDITS,
});

export const isAccountPauseReply = checkOf(ACCOUNT_PAUSE);
export const isKeyEditReply = checkOf(KEY_EDIT);
export const isMadeKeyReply = checkOf(MADE_KEY);
export const isModeEditReply = checkOf(MODE_EDIT);
export const isMadeTokenReply = checkOf(MADE_TOKEN);
export const isRevokedTokenReply = checkOf(REVOKED_TOKEN);
export const isConfigurationFileReply = checkOf(CONFIGURATION_FILE);
