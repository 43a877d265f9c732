// `GET /usage` and `GET /usage/{file}`: the page for holders of keys, and its files. It asks its user for a key, and requests `GET
// /v1/usage` with it.
import { CLIENTS, KEY_VARIABLE } from '../pages/client-settings.ts';
import { type Site, siteOf } from '../pages/site.ts';
import { encodedFile } from '../pages/static-files.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { WireWords } from '../turn/settings.ts';
import type { AnswerHandler } from './answer-handler.ts';

/** Headers that forbid other pages to embed the page, and hide from other pages that its visitors came from here. */
const PROTECTION: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

export function usagePageAnswers(wire: () => Pick<WireWords, 'agent'>): AnswerHandler {
  let site: Promise<Site> | undefined;
  return async ({ params, headers }) => {
    site ??= usageSite();
    const { page, files } = await site;
    const { file: name } = params;
    if (name === undefined) {
      const body = page.html(clientTexts(wire().agent));
      const own = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'content-security-policy': page.policy };
      return { status: 200, headers: { ...PROTECTION, ...own }, body };
    }
    const file = files.get(`/usage/${name}`);
    if (!file) throw new Refusal('unknown_endpoint');
    const { body, headers: own } = encodedFile(file, headers['accept-encoding']);
    return { status: 200, headers: { ...PROTECTION, ...own }, body };
  };
}

const usageSite = (): Promise<Site> =>
  siteOf({
    title: 'Usage · poolgate',
    root: 'usage',
    noscript: 'This page needs JavaScript. GET /v1/usage answers the same.',
    own: [
      'base/format.js',
      'base/html.js',
      'console.css',
      'parts/copied.js',
      'parts/days.js',
      'parts/limit-bars.js',
      'parts/shown.js',
      'usage/clients.js',
      'usage/main.js',
    ],
    packages: { preact: 'preact', 'preact/hooks': 'preact/hooks', htm: 'htm' },
    main: 'usage/main.js',
    isFirst: () => true,
    // One segment, because each file has a row in the route table.
    addressOf: (name, digest) => `/usage/${name.replaceAll('/', '-').replace(/\.(\w+)$/, `.${digest}.$1`)}`,
    // All files are in one folder, in which `./x.js` and `../base/x.js` lead to these addresses.
    importedAs: (name) => [`/${name}`, `/usage/${name.split('/').at(-1)}`],
  });

/** The settings of clients. They have marks for what only the page knows: its own origin, and a model of the key. */
const clientTexts = (agent: string): unknown => ({
  key: KEY_VARIABLE,
  clients: CLIENTS.map(({ name, title, where, note, text }) => ({
    ...{ name, title, where, note: note ?? '' },
    text: text({ origin: '{origin}', agent, model: '{model}' }),
  })),
});
