// Complete rows for the tests of the store; a test sets only the fields that it is about.
import type {
  AccountStateRow,
  AttemptRow,
  AuditRow,
  CredentialRow,
  FileRow,
  LimitedTurn,
  NewNode,
  PinRow,
  RequestRow,
  Store,
  UsageRow,
} from '../../store/store.ts';

export const requestRow = (given: Partial<RequestRow> = {}): RequestRow => ({
  id: 'req_1',
  at: 1_000,
  family: '/backend-api/agent',
  surface: 'native',
  endpoint: '/backend-api/agent/responses',
  method: 'POST',
  status: 200,
  status_class: '2xx',
  pool: 'team',
  pool_label: 'Team',
  account: 'North',
  api: 'chat',
  adapted: 'reasoning.effort,tools.custom',
  tier: 1,
  overflow: 'quota',
  key_id: 'ci',
  model: 'model-a',
  requested_model: 'model-b',
  code: null,
  retries: 0,
  duration_ms: 1_234,
  first_event_ms: 40,
  detached_ms: 300,
  effort: 'high',
  input_tokens: 1_000,
  cached_input_tokens: 500,
  output_tokens: 200,
  client_address: null,
  tokens_estimated: false,
  configured_mode: 'auto',
  effective_mode: 'lite',
  mode_source: 'catalog',
  reason_class: null,
  error_class: null,
  payload_compression: { saved_tokens: 100, saved_percent: 12.5 },
  upstream_error_param: null,
  why: { reason: 'headroom', others: { cooling: 1, at_capacity: 2 } },
  outcome: 'completed',
  ...given,
});

export const attemptRow = (given: Partial<AttemptRow> = {}): AttemptRow => ({
  request_id: 'req_1',
  ordinal: 0,
  at: 1_000,
  account: 'North',
  api: 'chat',
  adapted: 'reasoning.effort,tools.custom',
  cause: 'first',
  status: 429,
  error_class: 'upstream_rate_limited',
  duration_ms: 87,
  upstream_error_param: 'input[0].content',
  ...given,
});

export const accountRow = (given: Partial<AccountStateRow> = {}): AccountStateRow => ({
  account: 'north',
  model: '',
  health: 'active',
  cooldown_until: null,
  streak: 0,
  cause: null,
  windows: [{ minutes: 300, used_percent: 41.5, resets_at: 9_000 }],
  missing_compact_path: 'ab12',
  compact_path_missing_at: 900,
  updated_at: 1_000,
  health_at: 5_000,
  ...given,
});

export const pinRow = (given: Partial<PinRow> = {}): PinRow => ({
  hash: 'ab12',
  account: 'north',
  expires_at: 10_000,
  ...given,
});

export const credentialRow = (given: Partial<CredentialRow> = {}): CredentialRow => ({
  account: 'north',
  imported: 'cd34',
  sealed: 'v1.AAAA.BBBB',
  updated_at: 1_000,
  exchange_token: null,
  exchange_at: null,
  ...given,
});

export const fileRow = (given: Partial<FileRow> = {}): FileRow => ({
  pool: 'team',
  id: 'file_1',
  account: 'north',
  filename: 'notes.txt',
  bytes: 19,
  purpose: 'user_data',
  status: 'processed',
  created_at: 1_000,
  expires_at: null,
  ...given,
});

export const usageRow = (given: Partial<UsageRow> = {}): UsageRow => ({
  key_id: 'ci',
  pool: 'team',
  day: 86_400_000,
  requests: 1,
  unknown: 0,
  input_tokens: 1_000,
  cached_input_tokens: 500,
  output_tokens: 200,
  cost_nanos: 2_687_500,
  held_tokens: 0,
  held_nanos: 0,
  ...given,
});

export const auditEntry = (given: Partial<Omit<AuditRow, 'id'>> = {}): Omit<AuditRow, 'id'> => ({
  at: 1_000,
  actor: 'ops',
  action: 'mode.set',
  target: 'team/model-a',
  pool: 'team',
  fields: [{ path: 'pools[0].serving_modes.model-a', from: 'auto', to: 'lite' }],
  ...given,
});

export const newNode = (given: Partial<NewNode> = {}): NewNode => ({
  id: 'a',
  address: 'http://a:4002',
  version: '1.2.3',
  config_digest: '0123456789ab',
  started_at: 900,
  ...given,
});

/** Joins a node, and returns its token. */
export async function joinedAs(store: Store, id: string, ttlMs = 30_000): Promise<number> {
  const answer = await store.nodes.join(newNode({ id }), ttlMs);
  if (!('joined' in answer)) throw new Error(`${id} is taken`);
  return answer.joined.token;
}

export const limitedTurn = (given: Partial<LimitedTurn> & Pick<LimitedTurn, 'node'>): LimitedTurn => ({
  grant: 'grant_1',
  key: 'ci',
  tokens: 0,
  cost_nanos: 0,
  wait_ms: 2_000,
  ...given,
});
