// A short run of the attacks that need a separate gateway: accounts of other APIs, logins that expire, and a full disk. It is a separate
// file, so that it runs in parallel with the others.
import { test } from 'node:test';
import { ATTACKS } from '../attacks.ts';
import { shortRun } from './short-run.ts';

test('a short run of each attack on a gateway of its own finds nothing', (context) =>
  shortRun(
    context,
    ATTACKS.filter((attack) => !('open' in attack) && attack.stage !== 'ordinary'),
  ));
