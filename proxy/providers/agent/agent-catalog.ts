// The list of models of an agent backend, which depends on the version of the client that asks for it (RB1).
import { readRefusal } from '../../turn/errors/read-refusal.ts';
import type { ProviderCatalog } from '../../turn/provider/reads.ts';

export const agentCatalog: ProviderCatalog = {
  async read(get, { wire: { agent, client_version } }) {
    const answer = await get(`/backend-api/${agent}/models?client_version=${client_version}`);
    const { status, headers, body, bytes } = answer;
    const refused = status < 200 || status > 299 ? { refusal: readRefusal(answer) } : {};
    return { status, body, bytes, ...refused, ...(headers.etag === undefined ? {} : { etag: headers.etag }) };
  },
};
