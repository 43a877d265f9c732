// The attacks that need a gateway of their own, in short: accounts of other APIs, log-ins that expire, and a disk that is full. A file of its own, so that it
// runs in parallel with the others.
import { test } from 'node:test';
import { ATTACKS } from './attacks.ts';
import { shortRun } from './short-run.ts';

test('a short run of each attack on a gateway of its own finds nothing', (context) =>
  shortRun(
    context,
    ATTACKS.filter((attack) => !('open' in attack) && attack.stage !== 'ordinary'),
  ));
