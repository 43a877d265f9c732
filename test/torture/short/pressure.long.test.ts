// A short run of the attack by ten keys at once. It is a separate file, so that it runs in parallel with the others.
import { test } from 'node:test';
import { ATTACKS } from '../attacks.ts';
import { shortRun } from './short-run.ts';

test('[Q38] a short run of ten keys that press at once finds nothing', (context) =>
  shortRun(
    context,
    ATTACKS.filter(({ name }) => name === 'pressure'),
  ));
