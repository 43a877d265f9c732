// The examples of the README work as written, with the shipped configuration.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inspect } from '../../proxy/config/load.ts';
import { Gateway } from '../../proxy/gateway/gateway.ts';
import { Log } from '../../proxy/log.ts';
import { poolgate } from '../cli/run.ts';
import { fileWith } from '../config/files.ts';
import { Probes } from '../support/probes.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(`${ROOT}/README.md`, 'utf8');
const shipped = readFileSync(`${ROOT}/config.yaml`, 'utf8');

/** The code of every block of this language, in order. */
const blocks = (language: string): readonly string[] =>
  [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, found, code = '']) => (found === language ? [code] : []));

let gateway: Gateway;
let url: string;
before(async () => {
  const text = shipped
    .replace('port: 4000', 'port: 0')
    .replace('port: 4001', 'port: 0')
    .replace('store: sqlite:data/poolgate.db', 'store: "sqlite::memory:"');
  const { config, bearers, storeUrl, findings } = await inspect(text, { path: `${ROOT}/config.yaml`, env: {} });
  assert.ok(config, JSON.stringify(findings));
  gateway = await Gateway.open({ loaded: { config, bearers, storeUrl, path: `${ROOT}/config.yaml` }, log: new Log('error') });
  const { main } = await gateway.listen();
  await new Probes(gateway).ready();
  url = `http://127.0.0.1:${main.port}`;
});
after(() => gateway.close());

const here = (code: string): string => code.replaceAll('http://127.0.0.1:4000', url);

const said = (answer: string): string => {
  const { output } = JSON.parse(answer) as { output: readonly { content?: readonly { text?: string }[] }[] };
  return output
    .flatMap(({ content }) => content ?? [])
    .map(({ text }) => text)
    .join('');
};

test('every curl of the README gets its answer, and the failover gets it from the other account', async () => {
  const curls = blocks('sh').filter((code) => code.startsWith('curl '));
  assert.equal(curls.length, 3);
  // In the order of a reader: `south` refuses every third of its turns.
  const replies: string[] = [];
  for (const code of curls) replies.push((await run('bash', ['-c', here(code)])).stdout);
  const [first = '', failover = '', image = ''] = replies;
  assert.match(said(first), /You said: Say hello\./);
  assert.match(said(failover), /answering as south\. You said: Who are you\?/);
  assert.match(JSON.parse(image).data[0].revised_prompt, /A lighthouse in the fog\./);
});

test('the SDK example streams an answer', async () => {
  const [code = ''] = blocks('js');
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', here(code)], { cwd: ROOT });
  assert.match(stdout, /You said: Say hello\./);
});

test('the YAML of the README is valid in the shipped file', async () => {
  const [wire = '', accounts = ''] = ['wire:', 'accounts:'].map((start) => blocks('yaml').find((code) => code.startsWith(start)) ?? '');
  const worded = shipped.replace(/^wire:[\s\S]*?\n(?=\n)/m, wire);
  assert.notEqual(worded, shipped);
  const real = `${accounts}pools:\n  - { id: team, assignments: [{ account: east }, { account: west }] }\n`;
  for (const text of [worded, real]) {
    const { config, findings } = await inspect(text, { path: `${ROOT}/config.yaml`, env: {}, secrets: false });
    assert.ok(config, JSON.stringify(findings));
  }
});

test('the commands of the README run in order on the shipped file', async (context) => {
  const path = fileWith(context, shipped);
  const commands = blocks('sh')
    .flatMap((code) => code.split('\n'))
    .flatMap((line) => /^npx poolgate (.*?)\s*(?:#.*)?$/.exec(line)?.[1] ?? []);
  assert.ok(commands.length >= 7);
  for (const command of commands) {
    const { code, err } = await poolgate([...command.split(/\s+/), '--config', path]);
    assert.deepEqual([code, command], [0, command], err);
  }
});

test('the links of the README lead to files', () => {
  const targets = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, target = '']) => target);
  assert.ok(targets.length > 5);
  for (const target of targets) assert.ok(existsSync(`${ROOT}/${target}`), target);
});
