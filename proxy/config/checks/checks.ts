// THE CHECKS that a schema cannot express, in order. If one place has two problems, the first one is reported.
import type { Problem } from '../schema/finding.ts';
import { checkConnections } from './account-connections.ts';
import { checkHeaders, checkIdentityHeaders } from './account-headers.ts';
import { checkAddresses } from './addresses.ts';
import { checkAliases, type ExposedModels } from './aliases.ts';
import { checkApiSettings } from './api/account-settings.ts';
import { checkCredentials } from './api/api-credentials.ts';
import { checkCatalogs } from './api/catalog-rows.ts';
import { warnOfApiSettings } from './api/warnings.ts';
import { checkIds, checkReferences } from './ids.ts';
import { checkKeys } from './keys.ts';
import { checkLiterals } from './literals.ts';
import { checkNetworks } from './network-entries.ts';
import { checkNode } from './node.ts';
import { checkRoutes } from './routes.ts';
import { checkTiers } from './tier-settings.ts';

/** @param now Unix milliseconds, for the warning about expired keys @param exposed the models of the running gateway, if it was asked */
export function runChecks(data: unknown, now: number, exposed?: ExposedModels): readonly Problem[] {
  return [
    ...checkIds(data),
    ...checkReferences(data),
    ...checkAddresses(data),
    ...checkCredentials(data),
    ...checkApiSettings(data),
    ...checkCatalogs(data),
    ...warnOfApiSettings(data),
    ...checkConnections(data),
    ...checkNetworks(data),
    ...checkNode(data),
    ...checkHeaders(data),
    ...checkIdentityHeaders(data),
    ...checkAliases(data, exposed),
    ...checkRoutes(data),
    ...checkTiers(data),
    ...checkKeys(data, now),
    // The last check, because the others have better messages for the same place.
    ...checkLiterals(data),
  ];
}
