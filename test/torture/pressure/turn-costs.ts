// Measures the processor time of the gateway for a turn of 0.8 KB, 400 KB and 9 MB. Run it in pairs, before and after a change:
// `node --import tsx test/torture/pressure/turn-costs.ts`
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { userMessage } from '../../support/native-frames.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { GatewayProcess } from '../stage/gateway-process.ts';
import { BEARER, keyOf, pressureSettings } from '../stage/settings.ts';

const PATH = '/backend-api/agent/responses';
const TEXT = 'x'.repeat(4_000);

interface Size {
  readonly name: string;
  /** The number of messages with a text of 4 KB. */
  readonly messages: number;
  readonly turns: number;
  readonly atOnce: number;
}

const SIZES: readonly Size[] = [
  { name: '0.8 KB', messages: 0, turns: 1_500, atOnce: 32 },
  { name: '400 KB', messages: 100, turns: 150, atOnce: 8 },
  { name: '9 MB', messages: 2_250, turns: 30, atOnce: 2 },
];
/** The part of the turns that run before the measurement. */
const WARM = 1 / 3;

const folder = mkdtempSync(join(tmpdir(), 'poolgate-costs-'));
const upstream = await startUpstream({ strict: false, accounts: [{ id: 'lane-0-a', credential: BEARER }] });
const config = join(folder, 'config.yaml');
writeFileSync(config, stringify(pressureSettings(0, folder, upstream.urlOf('lane-0-a')), { aliasDuplicateObjects: false }));
const program = await GatewayProcess.start({ config, env: { TORTURE_BEARER: BEARER }, written: [] });
const headers = { authorization: `Bearer ${keyOf(0, 'as ever')}`, 'content-type': 'application/json' };

async function run({ messages, atOnce }: Size, turns: number): Promise<void> {
  const body = JSON.stringify(
    messages === 0 ? turnBody('hi') : { ...turnBody('hi'), input: Array.from({ length: messages }, () => userMessage(TEXT)) },
  );
  let left = turns;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = await fetch(program.url + PATH, { method: 'POST', headers, body });
      const text = await answer.text();
      if (!text.includes('response.completed')) throw new Error(`${answer.status} ${text.slice(0, 200)}`);
      upstream.clear();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
}

for (const size of SIZES) await run(size, Math.ceil(WARM * size.turns));
for (const size of SIZES) {
  const before = await program.cpu();
  await run(size, size.turns);
  const { name, turns } = size;
  process.stdout.write(`${name}: ${(((await program.cpu()) - before) / turns / 1_000).toFixed(2)} ms\n`);
}
await program.kill();
await upstream.close();
rmSync(folder, { recursive: true });
process.exit();
