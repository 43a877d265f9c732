// The API of accounts that speak the Responses API: platforms and compatible servers.
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import { sentEffort } from '../api-accounts/effort.ts';
import { apiLacks, apiLoses } from '../api-accounts/eligibility/lacks.ts';
import { apiFailures } from '../api-accounts/failures/api-failures.ts';
import { responsesPlace } from '../api-accounts/failures/named-places.ts';
import { apiCatalog } from '../api-accounts/models/model-list.ts';
import { apiQuota } from '../api-accounts/rate-headers.ts';
import type { ProviderServices } from '../provider-services.ts';
import { RefusedMemory } from './refused-members.ts';
import { replyDecoding } from './reply/responses-replies.ts';
import { CompactRoutes } from './responses-compaction.ts';
import { responsesFiles } from './responses-files.ts';
import { ResponsesRequests } from './responses-requests.ts';

/** The headers of an answer that belong to the turn. No header passes that names the account, its organisation or its limits (AA31). */
const ANSWER: ReadonlySet<string> = new Set(['content-type', 'retry-after', 'openai-processing-ms']);

export function responsesApi(services: ProviderServices): ProviderApi {
  const now = (): number => services.clock.now();
  const compactRoutes = new CompactRoutes(now);
  const refused = new RefusedMemory(now);
  const requests = new ResponsesRequests({ ...services, refused, compactRoutes });
  return {
    name: 'responses',
    isUnstored: true,
    requests,
    replies: {
      headers: (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => ANSWER.has(name))),
      decoding: (out, context) => replyDecoding(out, context, compactRoutes),
    },
    lacks: apiLacks,
    loses: apiLoses,
    effort: (asked, account, model) =>
      model && refused.of(account.id, model.id).has('reasoning') ? undefined : sentEffort(asked, account, model),
    failures: apiFailures(responsesPlace),
    compaction: { knownWay: () => undefined, isPathMissing: () => false },
    quota: apiQuota,
    catalog: apiCatalog,
    files: responsesFiles,
  };
}
