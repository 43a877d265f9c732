// The examples of README.md and of the pages in docs/ work as written, with the shipped configuration.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { Log } from '../../../proxy/base/process/log.ts';
import { inspect } from '../../../proxy/config/loading/load.ts';
import { Gateway } from '../../../proxy/gateway/gateway.ts';
import { migrations } from '../../../store/schema/migrations.ts';
import { poolgate } from '../../cli/run.ts';
import { fileWith } from '../../config/files.ts';
import { selfSigned } from '../../support/network/certificate.ts';
import { Probes } from '../../support/probes.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** The pages in the order in which a reader meets them. */
const PAGES = [
  ...new Set([
    'README.md',
    'docs/accounts.md',
    ...readdirSync(`${ROOT}/docs`)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
    'SECURITY.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
  ]),
];
const texts = new Map(PAGES.map((page) => [page, readFileSync(`${ROOT}/${page}`, 'utf8')]));
const shipped = readFileSync(`${ROOT}/config.yaml`, 'utf8');

/** The code of every block of this language in a text, in order. */
const blocksIn = (text: string, language: string): readonly string[] =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, found, code = '']) => (found === language ? [code] : []));

const blocks = (language: string): readonly string[] => [...texts.values()].flatMap((text) => blocksIn(text, language));

let gateway: Gateway;
let url: string;
before(async () => {
  const text = shipped
    .replace('port: 4000', 'port: 0')
    .replace('port: 4001', 'port: 0')
    .replace('store: sqlite:data/poolgate.db', 'store: "sqlite::memory:"');
  const { config, bearers, connections, storeUrl, findings } = await inspect(text, { path: `${ROOT}/config.yaml`, env: {} });
  assert.ok(config, JSON.stringify(findings));
  gateway = await Gateway.open({ loaded: { config, bearers, connections, storeUrl, path: `${ROOT}/config.yaml` }, log: new Log('error') });
  const { main } = await gateway.listen();
  await new Probes(gateway).ready();
  url = `http://127.0.0.1:${main?.port}`;
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

test('every curl of the pages gets its answer, and the failover gets it from the other account', async () => {
  const [demo = ''] = blocksIn(texts.get('README.md') ?? '', 'sh');
  const curls = [demo.slice(demo.indexOf('curl ')), ...blocks('sh').filter((code) => code.startsWith('curl '))];
  assert.equal(curls.length, 3);
  // The replies come in order: `south` refuses every third of its turns.
  const replies: string[] = [];
  for (const code of curls) replies.push((await run('bash', ['--norc', '-c', here(code)])).stdout);
  const [first = '', failover = '', image = ''] = replies;
  assert.match(said(first), /You said: Say hello\./);
  assert.match(said(failover), /answering as south\. You said: Who are you\?/);
  assert.match(JSON.parse(image).data[0].revised_prompt, /A lighthouse in the fog\./);
});

test('the first twenty lines of the README lead to a turn of simulated accounts, and to one of real ones', () => {
  const first = (texts.get('README.md') ?? '').split('\n').slice(0, 20).join('\n');
  const [demo = '', real = '', ...others] = blocksIn(first, 'sh');
  assert.deepEqual(others, []);
  assert.match(demo, /^npx poolgate serve --demo .*\ncurl \S+\/v1\/responses /);
  assert.match(
    real,
    /^export OPENAI_API_KEY=.*\nnpx poolgate init --preset openai .*\nnpx poolgate serve .*\ncurl \S+\/v1\/responses .*POOLGATE_KEY/,
  );
});

test('the SDK example streams an answer', async () => {
  const [code = ''] = blocks('js');
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', here(code)], { cwd: ROOT });
  assert.match(stdout, /You said: Say hello\./);
});

test('the YAML of the pages is valid in the shipped file', async () => {
  const [wire = '', accounts = ''] = ['wire:', 'accounts:'].map((start) => blocks('yaml').find((code) => code.startsWith(start)) ?? '');
  const worded = shipped.replace(/^wire:[\s\S]*?\n(?=\n)/m, wire);
  assert.notEqual(worded, shipped);
  const real = `${accounts}pools:\n  - { id: team, assignments: [{ account: work }, { account: west }] }\n`;
  for (const text of [worded, real]) {
    const { config, findings } = await inspect(text, { path: `${ROOT}/config.yaml`, env: {}, secrets: false });
    assert.ok(config, JSON.stringify(findings));
  }
});

test('each account add of the page of accounts writes the row that the page shows', async (context) => {
  const page = texts.get('docs/accounts.md') ?? '';
  const commands = [...page.matchAll(/`npx poolgate (account add [^`]+ --[^`]+)`/g)].map(([, command = '']) => command);
  const rows: { id: string }[] = parse(blocksIn(page, 'yaml')[0] ?? '').accounts;
  assert.equal(commands.length, rows.length);
  const path = fileWith(
    context,
    'accounts: [{ id: first, base_url: "rehearsal:" }]\npools: [{ id: team, assignments: [{ account: first }] }]\n',
  );
  mkdirSync(join(dirname(path), 'certs'));
  mkdirSync(join(dirname(path), 'secrets'));
  writeFileSync(join(dirname(path), 'secrets', 'east.token'), 'secret');
  writeFileSync(join(dirname(path), 'certs', 'ca.pem'), selfSigned({ host: 'ca', from: new Date(0), until: new Date(4e12) }).cert);
  for (const command of commands) {
    const { code, err } = await poolgate([...command.split(' '), '--no-check', '--config', path]);
    assert.deepEqual([code, command], [0, command], err);
  }
  const written: { id: string }[] = parse(readFileSync(path, 'utf8')).accounts;
  assert.deepEqual(
    written.filter(({ id }) => id !== 'first').toSorted((a, b) => a.id.localeCompare(b.id)),
    rows.toSorted((a, b) => a.id.localeCompare(b.id)),
  );
});

/** Commands that wait for a person, or run until they are stopped; other tests cover them. */
const WAITS = /^(?:serve|init|account login)\b/;

for (const [page, text] of texts) {
  const commands = blocksIn(text, 'sh')
    .flatMap((code) => code.split('\n'))
    .flatMap((line) => /^npx poolgate (.*?)\s*(?:#.*)?$/.exec(line)?.[1] ?? [])
    .filter((command) => !WAITS.test(command));
  if (commands.length === 0) continue;
  test(`the commands of ${page} run in order on the shipped file`, async (context) => {
    const path = fileWith(context, shipped);
    for (const command of commands) {
      const { code, err } = await poolgate([...command.split(/\s+/), '--config', path]);
      assert.deepEqual([code, command], [0, command], err);
    }
  });
}

/** The anchors that GitHub makes of the headings of a page. */
const anchorsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test('the change log says which schema of the store an upgrade makes', () => {
  assert.match(texts.get('CHANGELOG.md') ?? '', new RegExp(`upgraded to schema version ${migrations.length} at the start`));
});

test('the links of the pages lead to files, and to headings in them', () => {
  const links = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => ({ page, link })),
  );
  assert.ok(links.length > 30);
  for (const { page, link } of links) {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    assert.ok(existsSync(`${ROOT}/${target}`), `${page}: ${link}`);
    if (anchor !== undefined) assert.ok(anchorsOf(texts.get(target) ?? '').includes(anchor), `${page}: ${link}`);
  }
});
