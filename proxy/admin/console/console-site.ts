// Serves the console: one page for all its addresses, and the static files of the page.
import { readdir } from 'node:fs/promises';
import { type Site, siteOf } from '../../pages/site.ts';
import { compressed, encodedFile, type StaticFile } from '../../pages/static-files.ts';
import { type AdminAnswer, type AdminRequest, adminJson } from '../admin-listener.ts';

/** The addresses of the page. Each shows another part of the console. */
const PAGES: ReadonlySet<string> = new Set([
  '/',
  '/accounts',
  '/keys',
  '/requests',
  '/models',
  '/nodes',
  '/audit',
  '/configuration',
  '/operators',
]);

/** The files of packages, by the names with which modules import them. */
const PACKAGES: Readonly<Record<string, string>> = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  '@preact/signals': '@preact/signals',
  '@preact/signals-core': '@preact/signals-core',
  htm: 'htm',
  // The module of this package is not minified.
  uplot: 'uplot/dist/uPlot.iife.min.js',
};

const OWN = new URL('../../console/', import.meta.url);

/** Matches the files of the page for holders of keys, which is another site. */
const OTHER_SITE = /^usage\//;

/** Matches modules that the first paint does not need. */
const LATER = /uplot|pages\/(?!overview)|chart/;

export class ConsoleSite {
  #site: Promise<Site & { readonly html: StaticFile }> | undefined;

  /** Undefined for an address that does not belong to the console. */
  async answer({ method, path, headers }: Pick<AdminRequest, 'headers' | 'method' | 'path'>): Promise<AdminAnswer | undefined> {
    const isPage = PAGES.has(path);
    if (!isPage && !path.startsWith('/console/')) return undefined;
    if (method !== 'GET') return adminJson(405, { error: 'this path has another method' }, { allow: 'GET' });
    // Created at the first request, so that an unused console costs nothing.
    this.#site ??= consoleSite();
    const { page, files, html } = await this.#site;
    const accepted = String(headers['accept-encoding'] ?? '');
    if (isPage) {
      const { body, headers: own } = encodedFile(html, accepted, 'no-store');
      return { status: 200, type: html.type, body, headers: { ...own, 'content-security-policy': page.policy } };
    }
    const file = files.get(path);
    if (!file) return adminJson(404, { error: 'unknown path' });
    const { body, headers: own } = encodedFile(file, accepted);
    return { status: 200, type: file.type, body, headers: own };
  }
}

async function consoleSite(): Promise<Site & { readonly html: StaticFile }> {
  const names = (await readdir(OWN, { recursive: true })).filter((name) => /\.(?:js|css)$/.test(name) && !OTHER_SITE.test(name));
  const site = await siteOf({
    title: 'poolgate',
    root: 'console',
    noscript: 'The console needs JavaScript. The commands do not: poolgate status.',
    // This is the content with which the page itself begins.
    first: '<main class="centre"><p role="status">Asking the gateway …</p></main>',
    own: names.sort(),
    packages: PACKAGES,
    scripts: { uplot: 'uPlot' },
    packageStyles: { 'uplot.css': 'uplot/dist/uPlot.min.css' },
    main: 'main.js',
    isFirst: (name) => !LATER.test(name),
    addressOf: (name, digest) => `/console/${name.replace(/\.(\w+)$/, `.${digest}.$1`)}`,
    importedAs: (name) => [`/console/${name}`],
  });
  return { ...site, html: await compressed('text/html; charset=utf-8', Buffer.from(site.page.html())) };
}
