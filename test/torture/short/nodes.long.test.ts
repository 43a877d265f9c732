// A short run of the attack on several nodes. It is a separate file, so that it runs in parallel with the others.
import { test } from 'node:test';
import { ATTACKS } from '../attacks.ts';
import { shortRun } from './short-run.ts';

test('a short run of the attack on several nodes finds nothing', (context) =>
  shortRun(
    context,
    ATTACKS.filter(({ name }) => name === 'nodes'),
  ));
