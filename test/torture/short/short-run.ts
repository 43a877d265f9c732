// A short run of attacks with one seed as a test. It finds faults in a change of the gateway, and shows that the tool itself works.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ATTACKS } from '../attacks.ts';
import { FIXED_CASES } from '../fixed-cases.ts';
import { findingText, tableOf } from '../report.ts';
import { torture } from '../torture.ts';

const SEED = 1;
/** More time than it needs, because its cases are counted. */
const SECONDS = 3_600;

/** @throws AssertionError with the findings, or if an attack ran no case */
export async function shortRun(context: TestContext, attacks: typeof ATTACKS): Promise<void> {
  const findings: string[] = [];
  const reports = await torture(attacks, {
    seed: SEED,
    seconds: SECONDS,
    limit: ({ sample }) => sample,
    fixed: FIXED_CASES,
    found: (found) => void findings.push(findingText(found)),
  });
  context.diagnostic(`\n${tableOf(reports)}`);
  assert.deepEqual(findings, []);
  const idle = reports.filter(({ cases, missing }) => cases === 0 && missing === undefined);
  assert.deepEqual(
    idle.map(({ name }) => name),
    [],
    'an attack that ran nothing',
  );
}
