// Hosts whose backends are known. Their Responses route is made for the vendor's own clients.

/** Hosts of agent backends. They refuse fields of the public API (RB8), and have removed the compact path (RB33). */
const AGENT_BACKENDS: ReadonlySet<string> = new Set(['chatgpt.com']);

/** @param baseUrl the base URL of an account; that of a rehearsal account has no host */
export const isAgentBackend = (baseUrl: string): boolean => AGENT_BACKENDS.has(hostOf(baseUrl));

/** The host of a URL without `www.`; empty if the URL has none. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : '');
