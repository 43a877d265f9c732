// The API of agent backends. Native turns are passed to them unchanged, and their replies already are Responses events.
import { inBandFailure, statusFailure } from '../../turn/errors/failure.ts';
import { readRefusal } from '../../turn/errors/read-refusal.ts';
import { asCount, asString } from '../../turn/json/json.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { ProviderCompaction } from '../../turn/provider/provider-requests.ts';
import type { ProviderCatalog, ProviderFiles } from '../../turn/provider/reads.ts';
import { isAgentBackend } from '../../turn/wire/known-hosts.ts';
import { agentQuota } from './agent-quota.ts';
import { agentRequests } from './agent-requests.ts';

/** A file id that can be used as a path segment without escapes. */
const FILE_ID = /^[\w-]{1,200}$/;

/** A file is created, sent to an address that the account states, and finalised at the account (C1, C2, Q21). */
const agentFiles: ProviderFiles = {
  idOf({ file_id }) {
    const id = asString(file_id);
    return id !== undefined && FILE_ID.test(id) ? id : undefined;
  },
  sizeOf: ({ file_size_bytes }) => asCount(file_size_bytes),
  expiryOf: ({ expires_at }) => (asCount(expires_at) === undefined ? null : (expires_at as number) * 1000),
  upload: {
    targetOf: ({ upload_url }) => asString(upload_url) ?? '',
    finalisePath: (fileId) => `/backend-api/files/${fileId}/uploaded`,
    finalisedOf: ({ status }) => (status === 'success' || status === 'retry' || status === 'error' ? status : undefined),
  },
};

/** Agent backends compact on their compact path, which some have removed (RB33). */
const agentCompaction: ProviderCompaction = {
  knownWay: ({ base_url }) => (isAgentBackend(base_url) ? 'trigger' : undefined),

  /** A 404 may also concern something in the request. Such an error has a param, or a code of its own. */
  isPathMissing({ status, error }, path) {
    if (!path.endsWith('/compact')) return false;
    return status === 405 || status === 501 || (status === 404 && error.param === null && (error.code ?? 'not_found') === 'not_found');
  },
};

/** The list of models depends on the version of the client that asks for it (RB1). */
const agentCatalog: ProviderCatalog = {
  async read(get, { wire: { agent, client_version } }) {
    const answer = await get(`/backend-api/${agent}/models?client_version=${client_version}`);
    const { status, headers, body, bytes } = answer;
    const refused = status < 200 || status > 299 ? { refusal: readRefusal(answer) } : {};
    return { status, body, bytes, ...refused, ...(headers.etag === undefined ? {} : { etag: headers.etag }) };
  },
};

export const agentApi: ProviderApi = {
  name: 'agent',
  requests: agentRequests,
  replies: {},
  failures: { ofStatus: ({ status, headers, body }, { now }) => statusFailure(status, headers, body, now), inBand: inBandFailure },
  compaction: agentCompaction,
  quota: agentQuota,
  catalog: agentCatalog,
  files: agentFiles,
};
