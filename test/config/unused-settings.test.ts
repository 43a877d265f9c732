// Settings that this version does not use: the marks of the schema are correct, and operators are warned.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { settings } from '../../proxy/config/schema.ts';
import { kindsWhere, type RouteKind } from '../../proxy/turn/kinds.ts';
import { servedOf } from '../../proxy/turn/served.ts';
import { poolgate } from '../cli/run.ts';
import { startGateway } from '../support/gateway.ts';
import { fileWith, SMALL } from './files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HTTP_KINDS = kindsWhere(({ over }) => over.includes('http'));
const WEBSOCKET_KINDS = kindsWhere(({ over }) => over.includes('websocket'));
const shipped = readFileSync(new URL('../../config.yaml', import.meta.url), 'utf8');
const marked = new Set([...settings()].filter(({ node }) => node.unused === true).map(({ path }) => path));

/** What acts on a setting: handlers of these kinds, or websockets. */
const NEEDS: Readonly<Record<string, readonly RouteKind[] | 'websockets'>> = {
  'limits.file_bytes': ['public-file-create'],
  'limits.upload_bytes': ['transcribe', 'public-transcription'],
  'timeouts.websocket_idle_timeout_ms': 'websockets',
  'admission.websocket': 'websockets',
  'admission.compact': ['compact'],
  'admission.image': ['image', 'public-image'],
  'admission.file': ['file-create', 'file-finish', 'file-list', 'file-read', 'public-file-create'],
  'admission.audio': ['transcribe', 'public-transcription'],
  'admission.mcp': ['mcp'],
  'accounts[].websocket': 'websockets',
  'accounts[].compact': ['compact'],
  'pools[].image_host_model': ['image', 'public-image'],
  transcription: ['transcribe', 'public-transcription'],
  mcp: ['mcp'],
};

test('a setting is marked while no route that uses it is served', () => {
  const served: readonly RouteKind[] = HTTP_KINDS;
  for (const [path, needs] of Object.entries(NEEDS)) {
    const acted = needs === 'websockets' ? WEBSOCKET_KINDS.length > 0 : needs.some((kind) => served.includes(kind));
    assert.equal(marked.has(path), !acted, `${path}: ${acted ? 'take "inert" out of' : 'put "unused": true into'} schema.json`);
  }
});

/** Every source as one text, but the configuration's own, and those that only report settings: the commands and the tools of /mcp. */
const source = globSync('{proxy,rules}/**/*.ts', { cwd: ROOT })
  .filter((file) => !/^proxy\/(?:(?:config|cli|rehearsal|answers\/mcp\/tools)\/|turn\/settings\.ts$)/.test(file))
  .map((file) => readFileSync(`${ROOT}/${file}`, 'utf8'))
  .join('\n');

const isNamed = (path: string): boolean => new RegExp(`\\b${/[^.[\]*]+$/.exec(path)?.[0]}\\b`).test(source);

test('a setting is marked exactly if no source uses its name', () => {
  const around = (path: string): boolean => [...marked].some((mark) => path === mark || path.startsWith(`${mark}.`));
  // What loading reads itself: files of secrets, and the rows of the route table.
  const own = /^(?:routes\b|store_key\b|accounts\[\]\.credential\b)/;
  const unread = [...settings()].map(({ path }) => path).filter((path) => !own.test(path) && !around(path) && !isNamed(path));
  assert.deepEqual(unread, []);
  const overdue = [...marked].filter((path) => !(path in NEEDS) && isNamed(path));
  assert.deepEqual(overdue, []);
});

test('check warns about a marked setting that differs from its default, and about no other', async (context) => {
  const text = `${SMALL}limits: { file_bytes: 1000, audio_bytes: 1000 }\nmcp: { allowed_hosts: [] }\nadmission: { audio: { running: 1, waiting: 64 } }\n`;
  const path = fileWith(context, text);
  const { code, out } = await poolgate(['check', '--config', path]);
  const expected = [
    ['limits.file_bytes', '12:23'],
    ['admission.audio.running', '14:32'],
  ].flatMap(([name, place]) => {
    const inert = marked.has(name ?? '') || marked.has((name ?? '').replace(/\.\w+$/, ''));
    return inert ? [`${path}:${place}: warning: ${name}: this version accepts this setting but does not use it yet`] : [];
  });
  assert.equal(code, 0);
  assert.deepEqual(out.split('\n').slice(0, expected.length), expected);
  assert.ok(!out.includes('audio_bytes') && !out.includes('allowed_hosts') && !out.includes('waiting'));
});

test('the shipped file has (not yet) at every marked setting, and at no other', () => {
  const lines = shipped.split('\n');
  const said = new Set<string>();
  for (const path of marked) {
    const [, section = '', key = ''] = /^(?:(\w+)(?:\[\])?\.)?(?:.*\.)?(\w+)$/.exec(path) ?? [];
    const start = section === '' ? 0 : lines.findIndex((line) => line.startsWith(`${section}:`));
    const line = lines.findIndex((text, i) => i > start && new RegExp(section === '' ? `^${key}:` : `^[\\s#-]*${key}:`).test(text));
    assert.match(lines[line] ?? '', / # .*\(not yet\)/, path);
    said.add(String(line));
  }
  const others = lines.flatMap((text, i) =>
    text.includes('(not yet)') && text.includes(': ') && !text.startsWith('#') && !said.has(String(i)) ? [text] : [],
  );
  assert.deepEqual(others, []);
});

test('/status lists settings without effect, and rows that are not served', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.limits = { file_bytes: 1000 };
    },
  });
  const { warnings, not_served } = (await (await fetch(`${gate.adminUrl}/status`)).json()) as Record<string, readonly string[]>;
  const warning = 'limits.file_bytes: this version accepts this setting but does not use it yet';
  assert.deepEqual(warnings, marked.has('limits.file_bytes') ? [warning] : []);
  const rows = gate.config.routes.filter((row) => servedOf({ ...row, kind: row.serve }) === 'not yet');
  assert.deepEqual(
    not_served,
    rows.map(({ method, path }) => `${method} ${path}`),
  );
});
