// Serves the console: one page for its addresses, and static files whose names have the hash of their content. Read and compressed once.
import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { AdminAnswer, AdminRequest } from '../admin-listener.ts';
import { adminJson } from '../admin-listener.ts';
import { consolePage, type Page } from './page.ts';

/** The addresses of the page: each shows another part of the console. */
const PAGES: ReadonlySet<string> = new Set(['/', '/accounts', '/keys', '/requests', '/models', '/audit']);

/** The names by which modules import packages, and their files. */
const PACKAGES: Readonly<Record<string, string>> = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  '@preact/signals': '@preact/signals',
  '@preact/signals-core': '@preact/signals-core',
  htm: 'htm',
  uplot: 'uplot/dist/uPlot.esm.js',
};

const OWN = new URL('../../console/', import.meta.url);

/** Modules that the first paint does not need. */
const LATER = /uplot|pages\/(?!overview)|chart/;

interface StaticFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly brotli: Buffer;
}

interface Site {
  readonly page: Page;
  readonly files: ReadonlyMap<string, StaticFile>;
}

export class ConsoleSite {
  #site: Promise<Site> | undefined;

  /** Undefined for an address that is not of the console. */
  async answer({ method, path, headers }: Pick<AdminRequest, 'headers' | 'method' | 'path'>): Promise<AdminAnswer | undefined> {
    const isPage = PAGES.has(path);
    if (!isPage && !path.startsWith('/console/')) return undefined;
    if (method !== 'GET') return adminJson(405, { error: 'this path has another method' }, { allow: 'GET' });
    // At the first request: a gateway whose console is not opened pays nothing.
    this.#site ??= siteOf();
    const { page, files } = await this.#site;
    if (isPage) {
      return {
        status: 200,
        type: 'text/html; charset=utf-8',
        body: page.html,
        headers: { 'cache-control': 'no-store', 'content-security-policy': page.policy },
      };
    }
    const file = files.get(path);
    return file ? staticAnswer(file, String(headers['accept-encoding'] ?? '')) : adminJson(404, { error: 'unknown path' });
  }
}

function staticAnswer({ type, plain, gzip: zipped, brotli }: StaticFile, accepted: string): AdminAnswer {
  const [body, encoding] = /\bbr\b/.test(accepted)
    ? [brotli, 'br']
    : /\bgzip\b/.test(accepted)
      ? [zipped, 'gzip']
      : ([plain, undefined] as const);
  const headers = { 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' };
  return { status: 200, type, body, headers: encoding === undefined ? headers : { ...headers, 'content-encoding': encoding } };
}

async function siteOf(): Promise<Site> {
  const own = (await readdir(OWN, { recursive: true })).filter((name) => /\.(?:js|css)$/.test(name)).sort();
  const sources = [
    ...own.map((name) => ({ name, file: fileURLToPath(new URL(name, OWN)) })),
    ...Object.entries(PACKAGES).map(([name, from]) => ({ name: `lib/${name}.js`, file: fileURLToPath(import.meta.resolve(from)) })),
    { name: 'lib/uplot.css', file: fileURLToPath(import.meta.resolve('uplot/dist/uPlot.min.css')) },
  ];
  const read = await Promise.all(sources.map(async ({ name, file }) => ({ name, ...(await staticFile(name, file)) })));
  const address = new Map(read.map(({ name, path }) => [name, path]));
  const modules = [...address].filter(([name]) => name.endsWith('.js'));
  const imports = Object.fromEntries(
    modules.map(([name, path]) => {
      const [, packageName] = /^lib\/(.+)\.js$/.exec(name) ?? [];
      return [packageName ?? `/console/${name}`, path];
    }),
  );
  const page = consolePage({
    imports,
    styles: [...address].flatMap(([name, path]) => (name.endsWith('.css') ? [path] : [])),
    main: address.get('main.js') ?? '',
    preloaded: modules.flatMap(([name, path]) => (LATER.test(name) ? [] : [path])),
  });
  return { page, files: new Map(read.map(({ path, file }) => [path, file])) };
}

async function staticFile(name: string, from: string): Promise<{ readonly path: string; readonly file: StaticFile }> {
  const plain = withoutMap(await readFile(from));
  const [zipped, brotli] = await Promise.all([promisify(gzip)(plain, { level: 9 }), promisify(brotliCompress)(plain)]);
  const digest = hash('sha256', plain, 'hex').slice(0, 12);
  const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  return { path: `/console/${name.replace(/\.(\w+)$/, `.${digest}.$1`)}`, file: { type, plain, gzip: zipped, brotli } };
}

/** Packages name source maps that are not served. */
const withoutMap = (content: Buffer): Buffer => Buffer.from(content.toString('utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
