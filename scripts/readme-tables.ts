// Generates the tables of README.md from the program:  node --import tsx scripts/readme-tables.ts --write
import { readFileSync, writeFileSync } from 'node:fs';
import { CLIENTS, type ClientSettings } from '../proxy/cli/client-settings.ts';
import { bounds } from '../proxy/config/expectations.ts';
import { type SchemaNode, type Setting, settings } from '../proxy/config/schema.ts';

/** One line per setting, in the order of the file. `[]` means each row of a list, `*` each name of a mapping. */
function settingsTable(): string {
  const head = ['| Setting | Value | Default | |', '| --- | --- | --- | --- |'];
  return [...head, ...[...settings()].map(line)].join('\n');
}

/** A table of the clients, then the text of each for the shipped configuration. */
function clientsSection(): string {
  const head = ['| Client | NAME | API | Tested with |', '| --- | --- | --- | --- |'];
  const rows = CLIENTS.map(({ name, title, api, tried }) => `| ${title} | \`${name}\` | ${api} | ${tried} |`);
  return [[...head, ...rows].join('\n'), ...CLIENTS.map(clientText)].join('\n\n');
}

function clientText({ name, title, where, language, note, text }: ClientSettings): string {
  const address = {
    origin: 'http://127.0.0.1:4000',
    agent: name === 'codex' ? 'codex' : 'agent',
    model: name === 'continue' ? 'gpt-5' : 'model-a',
  };
  const heading = `**${title}** (${/[./]/.test(where) ? `\`${where}\`` : where})${note === undefined ? '' : `: ${note}`}`;
  return `${heading}\n\n\`\`\`${language}\n${text(address)}\n\`\`\``;
}

/** @returns the README with current tables between its markers @throws Error when a marker is missing */
export function withTables(readme: string): string {
  const sections = { settings: settingsTable(), clients: clientsSection() };
  return Object.entries(sections).reduce((text, [name, section]) => filled(text, name, section), readme);
}

function filled(readme: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [before, rest] = readme.split(begin, 2);
  const after = rest?.split(end, 2)[1];
  if (before === undefined || after === undefined) throw new Error(`README.md has no ${begin} … ${end}`);
  return `${before}${begin}\n${text}\n${end}${after}`;
}

function line({ path, node, required }: Setting): string {
  const note = [node.description, node.restart && '(restart)'].filter(Boolean).join(' ');
  return `| \`${path}\` | ${valuesOf(node)} | ${required ? 'required' : defaultOf(node)} | ${note.replaceAll('|', '\\|')} |`;
}

function valuesOf(node: SchemaNode): string {
  if (node.enum) return node.enum.map((word) => `\`${word}\``).join(', ');
  if (Array.isArray(node.type)) return node.type.includes('boolean') ? 'mapping or `false`' : 'text or mapping';
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
  const readme = new URL('../README.md', import.meta.url);
  const text = withTables(readFileSync(readme, 'utf8'));
  if (process.argv.includes('--write')) writeFileSync(readme, text);
  else process.stdout.write(text);
}
