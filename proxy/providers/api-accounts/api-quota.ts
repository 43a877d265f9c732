// What API accounts state about their capacity: rate limits of models. They have no quota windows (AA39).
import type { ProviderQuota } from '../../turn/provider/reads.ts';
import { rateLimits } from './rate-headers.ts';

export const apiQuota: ProviderQuota = {
  eventTypes: () => [],
  fromHeaders: () => undefined,
  fromEvent: () => undefined,
  rates: rateLimits,
};
