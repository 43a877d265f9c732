// Hosts whose backends are known: their Responses route is made for the vendor's own clients.

/** They refuse fields of the public API (RB8), and have dropped the compact path (RB33). */
const AGENT_BACKENDS: ReadonlySet<string> = new Set(['chatgpt.com']);

/** @param baseUrl of an account; a rehearsal account's is on no host */
export const isAgentBackend = (baseUrl: string): boolean => AGENT_BACKENDS.has(hostOf(baseUrl));

/** Without `www.`; empty if there is none. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : '');
