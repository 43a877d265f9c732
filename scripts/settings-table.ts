// The README's table of settings, made from schema.json:  node --import tsx scripts/settings-table.ts --write
import { readFileSync, writeFileSync } from 'node:fs';
import { type SchemaNode, type Setting, settings } from '../proxy/config/schema.ts';
import { bounds } from '../proxy/config/wording.ts';

const BEGIN = '<!-- settings:begin -->';
const END = '<!-- settings:end -->';

/** One line a setting, in the order of the file. `[]` stands for each row of a list, `*` for each name of a mapping. */
export function settingsTable(): string {
  const head = ['| Setting | Value | Default | |', '| --- | --- | --- | --- |'];
  return [...head, ...[...settings()].map(line)].join('\n');
}

/** @returns The README with the table of now between its markers. @throws Error when the markers are not there. */
export function withSettingsTable(readme: string): string {
  const [before, rest] = readme.split(BEGIN, 2);
  const after = rest?.split(END, 2)[1];
  if (before === undefined || after === undefined) throw new Error(`README.md has no ${BEGIN} … ${END}`);
  return `${before}${BEGIN}\n${settingsTable()}\n${END}${after}`;
}

function line({ path, node, required }: Setting): string {
  const note = [node.description, node.restart && '(restart)', node.inert && '(not yet)'].filter(Boolean).join(' ');
  return `| \`${path}\` | ${valuesOf(node)} | ${required ? 'required' : defaultOf(node)} | ${note.replaceAll('|', '\\|')} |`;
}

function valuesOf(node: SchemaNode): string {
  if (node.enum) return node.enum.map((word) => `\`${word}\``).join(', ');
  if (Array.isArray(node.type)) return 'mapping or `false`';
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
  const text = process.argv.includes('--write') ? withSettingsTable(readFileSync(readme, 'utf8')) : `${settingsTable()}\n`;
  if (process.argv.includes('--write')) writeFileSync(readme, text);
  else process.stdout.write(text);
}
