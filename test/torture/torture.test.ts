// A short run of each attack with one seed: what a change of the gateway breaks shows here, and the tool itself works.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTACKS } from './attacks.ts';
import { FIXED_CASES } from './fixed-cases.ts';
import { findingText, tableOf } from './report.ts';
import { torture } from './torture.ts';

const SEED = 1;
/** More than it takes: its cases are counted, not timed. */
const SECONDS = 3_600;

test('a short run of each attack finds nothing', async (context) => {
  const told: string[] = [];
  const reports = await torture(ATTACKS, {
    seed: SEED,
    seconds: SECONDS,
    limit: ({ sample }) => sample,
    fixed: FIXED_CASES,
    found: (found) => void told.push(findingText(found)),
  });
  context.diagnostic(`\n${tableOf(reports)}`);
  assert.deepEqual(told, []);
  const idle = reports.filter(({ cases, missing }) => cases === 0 && missing === undefined);
  assert.deepEqual(
    idle.map(({ name }) => name),
    [],
    'an attack that ran nothing',
  );
});
