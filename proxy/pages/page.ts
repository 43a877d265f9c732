// The one page of a site: its import map with hashed names, and a policy that permits only what the page uses.
import { hash } from 'node:crypto';

export interface PageParts {
  readonly title: string;
  /** Id of the element that the first module fills. */
  readonly root: string;
  readonly noscript: string;
  /** The content of the root until the scripts have run, so that the first paint waits for no module. */
  readonly first?: string;
  /** The addresses of modules, by the names with which they are imported. */
  readonly imports: Readonly<Record<string, string>>;
  /** Addresses of style sheets. */
  readonly styles: readonly string[];
  /** Address of the first module. */
  readonly main: string;
  /** Addresses of the modules that the first paint needs. */
  readonly preloaded: readonly string[];
}

export interface Page {
  /** The page, with data for its first module in a block that no browser runs. */
  html(data?: unknown): string;
  /** The value of Content-Security-Policy. */
  readonly policy: string;
}

export function sitePage({ title, root, noscript, first = '', imports, styles, main, preloaded }: PageParts): Page {
  const map = JSON.stringify({ imports });
  const html = (data?: unknown): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
${styles.map((href) => `<link rel="stylesheet" href="${href}">`).join('\n')}
<script type="importmap">${map}</script>
${preloaded.map((href) => `<link rel="modulepreload" href="${href}">`).join('\n')}
</head>
<body>
<div id="${root}">${first}</div>
<noscript>${noscript}</noscript>${data === undefined ? '' : `\n<script type="application/json" id="data">${inert(data)}</script>`}
<script type="module" src="${main}"></script>
</body>
</html>
`;
  return { html, policy: policyOf(map) };
}

/** Data as text that cannot end its block. */
const inert = (data: unknown): string => JSON.stringify(data).replaceAll('<', '\\u003c');

/** The policy: no other origins, and no inline scripts except the import map. */
const policyOf = (map: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash('sha256', map, 'base64')}'`,
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
