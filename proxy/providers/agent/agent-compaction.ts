// How agent backends compact: on their compact path, which some backends have removed (RB33).
import type { ProviderCompaction } from '../../turn/provider/provider-requests.ts';
import { isAgentBackend } from '../../turn/wire/known-hosts.ts';

export const agentCompaction: ProviderCompaction = {
  knownWay: ({ base_url }) => (isAgentBackend(base_url) ? 'trigger' : undefined),

  /** A 404 may also concern something in the request. Such an error has a param, or a code of its own. */
  isPathMissing({ status, error }, path) {
    if (!path.endsWith('/compact')) return false;
    return status === 405 || status === 501 || (status === 404 && error.param === null && (error.code ?? 'not_found') === 'not_found');
  },
};
