// The API of accounts that speak Chat Completions: platforms, routers and local servers.
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import { sentEffort } from '../api-accounts/effort.ts';
import { apiLacks, apiLoses } from '../api-accounts/eligibility/lacks.ts';
import { apiFailures } from '../api-accounts/failures/api-failures.ts';
import { chatPlace } from '../api-accounts/failures/named-places.ts';
import { apiCatalog } from '../api-accounts/models/model-list.ts';
import { apiQuota } from '../api-accounts/rate-headers.ts';
import type { ProviderServices } from '../provider-services.ts';
import { chatDecoding } from './chat-replies.ts';
import { ChatRequests } from './chat-requests.ts';

export function chatApi(services: ProviderServices): ProviderApi {
  return {
    name: 'chat',
    requests: new ChatRequests(services),
    replies: { headers: () => ({ 'content-type': 'text/event-stream' }), decoding: chatDecoding },
    lacks: apiLacks,
    loses: apiLoses,
    effort: sentEffort,
    isUnstored: true,
    failures: apiFailures(chatPlace),
    compaction: { knownWay: () => undefined, isPathMissing: () => false },
    quota: apiQuota,
    catalog: apiCatalog,
  };
}
