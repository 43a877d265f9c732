// The direction of imports: each room imports the rooms below it, rules import the vocabulary of a turn, and the store imports neither.
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
  /** Whether the import is loaded when its line runs, and not with the file. */
  readonly isLater: boolean;
}

const sources = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Static imports, re-exports and dynamic imports of literal names. */
function importsOf(file: string): readonly Import[] {
  const found = textOf(file).matchAll(/(?:(?:import|export)\s+(type\s+)?([^;'"]*?)\s*from\s*|import\s*\(\s*|import\s+)'([^']+)'/g);
  return [...found].map(([text, type, names = '', specifier = '']) => ({
    file,
    from: specifier.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), specifier)) : specifier,
    names,
    typesOnly: type !== undefined,
    isLater: text.startsWith('import('),
  }));
}

const said = ({ file, from, names }: Import): string => `${file} imports ${names} from ${from}`;

/** All permitted imports between rooms of `proxy/`: a room imports `base` and the rooms of its row, including types, and nothing else. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  turn: [],
  config: ['turn'],
  admission: ['config', 'turn'],
  encryption: ['config', 'turn'],
  keys: ['turn'],
  nodes: ['turn'],
  models: ['nodes', 'turn'],
  rehearsal: ['config', 'turn'],
  sessions: ['encryption', 'turn'],
  pages: [],
  providers: ['turn'],
  surfaces: ['clients', 'turn'],
  tokenizer: [],
  upstream: ['config', 'encryption', 'nodes', 'turn'],
  accounts: ['admission', 'config', 'models', 'nodes', 'turn', 'upstream'],
  answers: ['accounts', 'files', 'keys', 'models', 'pages', 'turn'],
  mcp: ['accounts', 'answers', 'config', 'explain', 'keys', 'models', 'turn'],
  dispatch: ['accounts', 'admission', 'sessions', 'turn', 'upstream'],
  files: ['dispatch', 'turn', 'upstream'],
  clients: ['dispatch', 'sessions', 'turn', 'upstream'],
  admin: [
    'accounts',
    'admission',
    'config',
    'encryption',
    'explain',
    'keys',
    'mcp',
    'models',
    'nodes',
    'pages',
    'sessions',
    'turn',
    'upstream',
  ],
  explain: ['accounts', 'config', 'models', 'turn'],
  server: ['admin', 'admission', 'answers', 'clients', 'config', 'dispatch', 'encryption', 'keys', 'nodes', 'sessions', 'turn', 'upstream'],
  gateway: [
    'accounts',
    'admin',
    'admission',
    'answers',
    'config',
    'dispatch',
    'encryption',
    'explain',
    'files',
    'keys',
    'mcp',
    'models',
    'nodes',
    'providers',
    'rehearsal',
    'server',
    'sessions',
    'surfaces',
    'tokenizer',
    'turn',
    'upstream',
  ],
  doctor: ['admin', 'config', 'providers', 'turn', 'upstream'],
  recording: ['turn', 'upstream'],
  replay: ['config', 'gateway', 'recording', 'turn'],
  cli: ['admin', 'config', 'doctor', 'encryption', 'explain', 'gateway', 'pages', 'providers', 'recording', 'replay', 'turn', 'upstream'],
};

/** The rooms that print or run the rules; all others use them through the chain. */
const KNOW_RULES: ReadonlySet<string> = new Set(['admin', 'cli', 'gateway', 'server']);

/** The room of a file: `proxy/turn/rules/rule.ts` is in `turn`, `proxy/main.ts` is in none. */
const roomOf = (file: string): string | undefined => /^proxy\/(\w+)\//.exec(file)?.[1];

test('each room of the proxy imports only the rooms of its row', () => {
  const allowed = ({ file, from }: Import): boolean => {
    const [room, other] = [roomOf(file), roomOf(from)];
    if (from.startsWith('rules/')) return room !== undefined && KNOW_RULES.has(room);
    if (!from.startsWith('proxy/') || room === other || other === 'base') return true;
    if (room === undefined || other === undefined) return file === 'proxy/main.ts';
    return (ARROWS[room] ?? []).includes(other);
  };
  const imports = sources('proxy').flatMap(importsOf);
  assert.deepEqual(imports.filter((one) => !allowed(one)).map(said), []);
  const drawn = new Set(imports.map(({ file, from }) => `${roomOf(file)} ${roomOf(from)}`));
  const undrawn = Object.entries(ARROWS).flatMap(([room, others]) => others.filter((other) => !drawn.has(`${room} ${other}`)));
  assert.deepEqual(undrawn, [], 'an arrow that no import needs');
});

test('no file imports a module in two lines', () => {
  const twice = ['proxy', 'rules', 'store', 'test'].flatMap(sources).flatMap((file) => {
    const modules = [...textOf(file).matchAll(/^import [^;]* from '([^']+)';$/gm)].map(([, module]) => module);
    return new Set(modules).size < modules.length ? [file] : [];
  });
  assert.deepEqual(twice, []);
});

test('no file imports itself through others, type imports included', () => {
  const graph = new Map(['proxy', 'rules', 'store'].flatMap(sources).map((file) => [file, importsOf(file).map(({ from }) => from)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const seen = path.indexOf(file);
    if (seen !== -1) circles.push([...path.slice(seen), file].join(' -> '));
    else if (!done.has(file)) for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  assert.deepEqual(circles, []);
});

/**
 * The files that `serve` loads before it listens, and those that it loads at first use or a moment later, so that a start does not wait for
 * them.
 */
const START = ['proxy/main.ts', 'proxy/cli/program.ts', 'proxy/cli/commands/serve-options.ts', 'proxy/cli/commands/serve-command.ts'];
const LATER =
  /^proxy\/(?:admin\/(?:api|console|feed)|mcp\/tools|explain|doctor|cli\/(?:accounts|edits)|providers\/(?:chat|responses|api-accounts))\/|^store\/postgres\//;

const LATER_PACKAGES: ReadonlySet<string> = new Set(['@modelcontextprotocol/server', 'ajv', 'gpt-tokenizer', 'pg', 'socks', 'undici']);

test('a start loads nothing that only operators, other commands, or accounts of an API that no account has need', () => {
  const loaded = new Set(START);
  for (const file of loaded) {
    if (!/^(?:proxy|rules|store)\/.*\.ts$/.test(file)) continue;
    for (const { from, typesOnly, isLater } of importsOf(file)) if (!typesOnly && !isLater) loaded.add(from);
  }
  assert.ok(loaded.has('proxy/server/turn-runner.ts'));
  const early = [...loaded].filter((file) => LATER.test(file) || LATER_PACKAGES.has(file));
  assert.deepEqual(early, []);
});

test('rules import the vocabulary of a turn and each other', () => {
  const allowed = ({ from }: Import): boolean => from.startsWith('rules/') || from.startsWith('proxy/turn/');
  assert.deepEqual(
    sources('rules')
      .flatMap(importsOf)
      .filter((one) => !allowed(one))
      .map(said),
    [],
  );
});

test('rules have no clock, no randomness, no process and no socket of their own', () => {
  const foreign =
    /\b(Date\.now|new Date|performance\.|setTimeout|setInterval|setImmediate|queueMicrotask|process\.|globalThis|fetch\(|Math\.random|crypto\.)/;
  const code = (file: string): string => textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  assert.deepEqual(
    sources('rules').filter((file) => foreign.test(code(file))),
    [],
  );
});

test('the SDK of /mcp is imported only by the files of its first request: a start does not wait for it', () => {
  const importers = (of: (from: string) => boolean): readonly string[] =>
    sources('proxy')
      .flatMap(importsOf)
      .filter(({ from, typesOnly, names }) => of(from) && !typesOnly && names !== '')
      .map(({ file }) => file);
  const protocol = 'proxy/mcp/protocol.ts';
  assert.deepEqual(
    importers((from) => from.startsWith('@modelcontextprotocol/')),
    [protocol],
  );
  // A dynamic import has no names.
  assert.deepEqual(
    importers((from) => from === protocol),
    [],
  );
  assert.deepEqual(
    importers((from) => from === 'proxy/mcp/mcp-tools.ts'),
    [protocol],
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

test('SQL is written only in the store', () => {
  const sql = /\b(SELECT\s+[\w*,\s]+\s+FROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE)\b/;
  assert.deepEqual(
    [...sources('proxy'), ...sources('rules')].filter((file) => sql.test(textOf(file))),
    [],
  );
});

test('the program imports nothing of the tests', () => {
  const running = ['proxy', 'rules', 'store'].flatMap(sources).flatMap(importsOf);
  assert.deepEqual(running.filter(({ from }) => from.startsWith('test/')).map(said), []);
});

test('the reader of imports recognises the three ways to write one', () => {
  const proxy = sources('proxy').flatMap(importsOf);
  assert.ok(proxy.some(({ typesOnly }) => typesOnly));
  assert.ok(proxy.some(({ from }) => from === 'rules/index.ts'));
  assert.ok(
    importsOf('proxy/cli/commands/serve-options.ts').some(({ from }) => from === 'proxy/cli/commands/serve-command.ts'),
    'a dynamic one',
  );
});
