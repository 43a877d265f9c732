// The direction of imports: rules know the vocabulary of a turn and nothing else, the store knows nobody.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Import {
  readonly file: string;
  /** A path from the root, or a package's name. */
  readonly from: string;
  readonly names: string;
  readonly typesOnly: boolean;
}

const sources = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Static imports, re-exports and dynamic imports of literal names. */
function importsOf(file: string): readonly Import[] {
  const found = textOf(file).matchAll(/(?:(?:import|export)\s+(type\s+)?([^;'"]*?)\s*from\s*|import\s*\(\s*|import\s+)'([^']+)'/g);
  return [...found].map(([, type, names = '', specifier = '']) => ({
    file,
    from: specifier.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), specifier)) : specifier,
    names,
    typesOnly: type !== undefined,
  }));
}

const said = ({ file, from, names }: Import): string => `${file} imports ${names} from ${from}`;

/** What a rule may know of the proxy, and whether as more than types. */
const VOCABULARY: ReadonlyMap<string, 'types' | 'values'> = new Map([
  ['proxy/turn/turn.ts', 'types'],
  ['proxy/turn/settings.ts', 'types'],
  ['proxy/turn/kinds.ts', 'values'],
  ['proxy/turn/event-types.ts', 'types'],
  ['proxy/turn/json.ts', 'values'],
  ['proxy/turn/refusal.ts', 'values'],
  ['proxy/turn/quota-headers.ts', 'values'],
]);

test('rules import the vocabulary of a turn as types, refusals, and each other', () => {
  const allowed = ({ from, typesOnly }: Import): boolean => {
    if (from.startsWith('rules/')) return true;
    const known = VOCABULARY.get(from);
    return known === 'values' || (known === 'types' && typesOnly);
  };
  assert.deepEqual(
    sources('rules')
      .flatMap(importsOf)
      .filter((one) => !allowed(one))
      .map(said),
    [],
  );
});

test('rules have no clock, no chance, no process and no socket of their own', () => {
  const foreign =
    /\b(Date\.now|new Date|performance\.|setTimeout|setInterval|setImmediate|queueMicrotask|process\.|globalThis|fetch\(|Math\.random|crypto\.)/;
  const code = (file: string): string => textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  assert.deepEqual(
    sources('rules').filter((file) => foreign.test(code(file))),
    [],
  );
});

test('the store imports nothing of the proxy and of the rules', () => {
  assert.deepEqual(
    sources('store')
      .flatMap(importsOf)
      .filter(({ from }) => /^(proxy|rules)\//.test(from))
      .map(said),
    [],
  );
});

test('SQL is written in the store alone', () => {
  const sql = /\b(SELECT\s+[\w*,\s]+\s+FROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)\b/;
  assert.deepEqual(
    [...sources('proxy'), ...sources('rules')].filter((file) => sql.test(textOf(file))),
    [],
  );
});

test('what runs imports nothing of the tests', () => {
  const running = ['proxy', 'rules', 'store'].flatMap(sources).flatMap(importsOf);
  assert.deepEqual(running.filter(({ from }) => from.startsWith('test/')).map(said), []);
});

test('the reader of imports sees the three ways to write one', () => {
  const proxy = sources('proxy').flatMap(importsOf);
  assert.ok(proxy.some(({ typesOnly }) => typesOnly));
  assert.ok(proxy.some(({ from }) => from === 'rules/index.ts'));
  assert.ok(
    importsOf('proxy/cli/program.ts').some(({ from }) => from === 'proxy/cli/serve-command.ts'),
    'a dynamic one',
  );
});
