// A short run of the attacks that share one gateway.
import { test } from 'node:test';
import { ATTACKS } from '../attacks.ts';
import { shortRun } from './short-run.ts';

test('a short run of each attack on one gateway finds nothing', (context) =>
  shortRun(
    context,
    ATTACKS.filter((attack) => !('open' in attack) && attack.stage === 'ordinary'),
  ));
