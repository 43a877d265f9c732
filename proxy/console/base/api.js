// Sends requests of this page to the API of the admin listener.

/** The reason of a refusal, as the API states it. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 if no answer came
   * @param {string} message
   * @param {string} [code] the code by which programs recognise the refusal
   */
  constructor(status, message, code = '') {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const TIMEOUT_MS = 30_000;
/** The longest wait for a test of an account, which sends turns. */
const TEST_MS = 560_000;

/**
 * @param {string} path
 * @param {{ method?: string, token?: string, body?: unknown }} [options] body: sent as JSON
 * @returns {Promise<any>}
 */
export async function ask(path, { method = 'GET', token, body } = {}) {
  /** @type {Record<string, string>} */
  const headers = {
    ...(method !== 'GET' && { 'x-poolgate-command': 'console' }),
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const text = body === undefined ? null : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: text,
      signal: AbortSignal.timeout(path.includes('/test') ? TEST_MS : TIMEOUT_MS),
    });
  } catch {
    throw new ApiError(0, 'the gateway does not answer');
  }
  const reply = await response.json().catch(() => undefined);
  if (response.ok && reply !== undefined) return reply;
  throw new ApiError(response.status, reasonOf(reply) ?? `the gateway answered ${response.status}`, reply?.code);
}

/** The reason of a refusal, with the first finding if the file has errors. @param {any} reply */
function reasonOf(reply) {
  if (typeof reply?.error !== 'string') return undefined;
  const [finding] = Array.isArray(reply.findings) ? reply.findings : [];
  return finding ? `${reply.error}: line ${finding.line}: ${finding.message}` : reply.error;
}

/**
 * A path with the parameters that are not empty.
 * @param {string} path
 * @param {Record<string, string | number | readonly string[] | undefined>} query
 */
export function withQuery(path, query) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== '') params.append(name, String(one));
  }
  const text = params.toString();
  return text === '' ? path : `${path}?${text}`;
}
