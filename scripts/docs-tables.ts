// Generates the tables of the documentation from the program, the default route table from the shipped file, and the OpenAPI document from the
// admin API:  node --import tsx scripts/docs-tables.ts --write
import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { AdminTarget } from '../proxy/admin/admin-target.ts';
import type { RunningLogins } from '../proxy/admin/answers/logins/running-logins.ts';
import { endpoints } from '../proxy/admin/api/endpoints.ts';
import { openApi } from '../proxy/admin/api/openapi.ts';
import { bounds } from '../proxy/config/schema/problems.ts';
import { type SchemaNode, type Setting, settings } from '../proxy/config/schema/schema.ts';
import { CLIENTS, type ClientSettings } from '../proxy/pages/client-settings.ts';
import { MANNERS } from '../proxy/rehearsal/account/manners.ts';
import { REPLY_FORMS, STREAM_FORMS } from '../proxy/rehearsal/faults/reply-forms.ts';
import { ADAPTED } from '../proxy/turn/provider/adapted.ts';
import { PRESETS, type PresetName, presetOf } from '../proxy/turn/provider/presets.ts';
import { NO_QUIRKS, QUIRKS } from '../proxy/turn/provider/quirks.ts';

/** The table of settings, in the order of the file. `[]` means each row of a list, `*` each name of a mapping. */
function settingsTable(): string {
  const head = ['| Setting | Value | Default | |', '| --- | --- | --- | --- |'];
  return [...head, ...[...settings()].map(line)].join('\n');
}

function clientsTable(): string {
  const head = ['| Client | NAME | API | Tested with |', '| --- | --- | --- | --- |'];
  return [...head, ...CLIENTS.map(({ name, title, api, tried }) => `| ${title} | \`${name}\` | ${api} | ${tried} |`)].join('\n');
}

const mannersList = (): string =>
  Object.values(MANNERS)
    .map((sentence) => `- ${sentence}`)
    .join('\n');

const formsList = (): string =>
  Object.entries({ ...REPLY_FORMS, ...STREAM_FORMS })
    .map(([words, sentence]) => `- \`${words}\`: ${sentence}`)
    .join('\n');

const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

const listed = (values: readonly unknown[], none: string): string => (values.length === 0 ? none : values.map(code).join(', '));

/** The table of presets, with what each sets. Its quirks are those that differ from an account without a preset. */
function presetsTable(): string {
  const head = [
    '| Preset | API (others) | Address | Credential | Serves | Its tools | Websocket | Compacts | Quirks |',
    '| --- '.repeat(9).concat('|'),
  ];
  const rows = Object.keys(PRESETS).map((name) => {
    const { apis, base_url, credential, serves, hosted_tools, websocket, compact, quirks } = presetOf(name as PresetName);
    const [api, ...others] = apis;
    const beside = others.length === 0 ? '' : ` (${others.join(', ')})`;
    const own = Object.entries(quirks).map(([quirk, value]) =>
      code(`${quirk}: ${typeof value === 'string' ? value : JSON.stringify(value)}`),
    );
    const cells = [code(name), `${api}${beside}`, base_url === undefined ? 'yours' : code(base_url), credential, serves.join(', ')];
    return `| ${[...cells, listed(hosted_tools, '-'), websocket ? 'yes' : 'no', compact, own.join(', ') || '-'].join(' | ')} |`;
  });
  return [...head, ...rows].join('\n');
}

/** The table of quirks with their values. The first value is that of an account without a preset. */
function quirksTable(): string {
  const described = new Map([...settings()].map(({ path, node }) => [path, node.description ?? '']));
  const quirks: Readonly<Record<string, { readonly apis: readonly string[]; readonly values: readonly unknown[] }>> = {
    ...QUIRKS,
    effort_values: { apis: ['chat', 'responses'], values: [{}] },
    keep: { apis: ['chat', 'responses'], values: [NO_QUIRKS.keep] },
  };
  const rows = Object.entries(quirks).map(
    ([name, { apis, values }]) =>
      `| ${code(name)} | ${apis.join(', ')} | ${values.map(code).join(', ')} | ${described.get(`accounts[].quirks.${name}`)} |`,
  );
  return ['| Quirk | APIs | Values | |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function adaptedTable(): string {
  const head = ['| Name | What is done |', '| --- | --- |'];
  return [...head, ...Object.entries(ADAPTED).map(([name, done]) => `| \`${name}\` | ${done} |`)].join('\n');
}

/** The text for each client, with the shipped configuration. */
const clientTexts = (): string => CLIENTS.map(clientText).join('\n\n');

function clientText({ name, title, where, language, needs, note, details, text }: ClientSettings): string {
  const address = {
    origin: 'http://127.0.0.1:4000',
    agent: name === 'codex' ? 'codex' : 'agent',
    model: name === 'continue' ? 'gpt-5' : 'model-a',
  };
  const said = [needs, note, details].filter((part) => part !== undefined).join(' ');
  const heading = `**${title}** (${/[./]/.test(where) ? `\`${where}\`` : where})${said === '' ? '' : `: ${said}`}`;
  return `${heading}\n\n\`\`\`${language}\n${text(address)}\n\`\`\``;
}

/** The generated sections by the names in their markers. */
const SECTIONS: Readonly<Record<string, () => string>> = {
  settings: settingsTable,
  clients: clientsTable,
  'client-texts': clientTexts,
  manners: mannersList,
  'reply-forms': formsList,
  presets: presetsTable,
  quirks: quirksTable,
  adapted: adaptedTable,
};

/** The pages with generated sections, by path in the repository. */
const PAGES: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['clients'],
  'docs/accounts.md': ['presets', 'quirks', 'manners', 'reply-forms'],
  'docs/clients.md': ['clients', 'client-texts'],
  'docs/settings.md': ['settings'],
  'docs/translation.md': ['adapted'],
};

const fileOf = (page: string): URL => new URL(`../${page}`, import.meta.url);

const DEFAULT_ROUTES = 'proxy/config/schema/default-routes.json';

const defaultRoutes = (): string => {
  const { routes } = parse(readFileSync(fileOf('config.yaml'), 'utf8')) as { readonly routes: unknown };
  return `${JSON.stringify(routes, null, 2)}\n`;
};

const OPENAPI = 'docs/openapi.json';

/** The OpenAPI document. It needs no running gateway, because endpoints use one only to answer. */
const openApiText = (): string => `${JSON.stringify(openApi(endpoints({} as AdminTarget, {} as RunningLogins)), null, 2)}\n`;

/** Each page with its present text and the text that it should have. @throws Error if a marker is missing */
export function pages(): readonly { readonly page: string; readonly text: string; readonly current: string }[] {
  const generated = Object.entries(PAGES).map(([page, sections]) => {
    const text = readFileSync(fileOf(page), 'utf8');
    return { page, text, current: sections.reduce((sofar, name) => filled(sofar, name, page), text) };
  });
  const whole = [
    { page: DEFAULT_ROUTES, current: defaultRoutes() },
    { page: OPENAPI, current: openApiText() },
  ];
  return [...generated, ...whole.map(({ page, current }) => ({ page, text: readFileSync(fileOf(page), 'utf8'), current }))];
}

function filled(text: string, name: string, page: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [before, rest] = text.split(begin, 2);
  const after = rest?.split(end, 2)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no ${begin} … ${end}`);
  return `${before}${begin}\n${SECTIONS[name]?.()}\n${end}${after}`;
}

function line({ path, node, required }: Setting): string {
  const note = [node.description, node.restart && '(restart)'].filter(Boolean).join(' ');
  return `| \`${path}\` | ${valuesOf(node)} | ${required ? 'required' : defaultOf(node)} | ${note.replaceAll('|', '\\|')} |`;
}

function valuesOf(node: SchemaNode): string {
  if (node.enum) return node.enum.map((word) => `\`${word}\``).join(', ');
  if (Array.isArray(node.type))
    return node.type.includes('boolean') ? 'mapping or `false`' : `text or ${node.type.includes('array') ? 'list' : 'mapping'}`;
  const words: Readonly<Record<string, string>> = {
    integer: 'whole number',
    object: 'mapping',
    array: 'list',
    string: 'text',
    boolean: '`true`, `false`',
  };
  const type = words[String(node.type)] ?? String(node.type);
  return node.type === 'integer' || node.type === 'number' ? type + bounds(node) : type;
}

function defaultOf({ default: value, properties }: SchemaNode): string {
  if (value === undefined) return '';
  if (Array.isArray(value) && value.length > 5) return 'the shipped table';
  if (properties && JSON.stringify(value) === '{}') return '';
  return `\`${JSON.stringify(value).replace(/^"(.*)"$/, '$1')}\``;
}

if (import.meta.main) {
  const stale = pages().filter(({ text, current }) => text !== current);
  for (const { page, current } of stale) {
    if (process.argv.includes('--write')) writeFileSync(fileOf(page), current);
    process.stdout.write(`${page}\n`);
  }
}
