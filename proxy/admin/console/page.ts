// The one page of the console: its import map with hashed names, and the policy that permits it and nothing else.
import { hash } from 'node:crypto';

export interface PageParts {
  /** The name by which a module is imported to its address. */
  readonly imports: Readonly<Record<string, string>>;
  /** Addresses of style sheets. */
  readonly styles: readonly string[];
  /** Address of the first module. */
  readonly main: string;
  /** Addresses of the modules that the first paint needs. */
  readonly preloaded: readonly string[];
}

export interface Page {
  readonly html: string;
  /** The value of Content-Security-Policy. */
  readonly policy: string;
}

export function consolePage({ imports, styles, main, preloaded }: PageParts): Page {
  const map = JSON.stringify({ imports });
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>poolgate</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
${styles.map((href) => `<link rel="stylesheet" href="${href}">`).join('\n')}
<script type="importmap">${map}</script>
${preloaded.map((href) => `<link rel="modulepreload" href="${href}">`).join('\n')}
</head>
<body>
<div id="console"></div>
<noscript>The console needs JavaScript. The commands do not: poolgate status.</noscript>
<script type="module" src="${main}"></script>
</body>
</html>
`;
  return { html, policy: policyOf(map) };
}

/** Nothing of another origin, and no inline script but the import map. */
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
