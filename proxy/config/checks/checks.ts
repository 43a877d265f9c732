// THE CHECKS that a schema cannot express, in the order in which two messages about one place are weighed.
import type { Problem } from '../finding.ts';
import { checkAddresses } from './addresses.ts';
import { checkHeaders } from './headers.ts';
import { checkIds } from './ids.ts';
import { checkKeys } from './keys.ts';
import { checkLiterals } from './literals.ts';
import { checkReferences } from './references.ts';
import { checkRoutes } from './routes.ts';
import { checkInert } from './unused-settings.ts';

/** @param now Unix milliseconds: a key that has expired gets a warning. */
export function runChecks(data: unknown, now: number): readonly Problem[] {
  return [
    ...checkIds(data),
    ...checkReferences(data),
    ...checkAddresses(data),
    ...checkHeaders(data),
    ...checkRoutes(data),
    ...checkKeys(data, now),
    ...checkInert(data),
    // Last: where a place has a better message already, this one is dropped.
    ...checkLiterals(data),
  ];
}
