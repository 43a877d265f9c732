// `/mcp`, the read-only metadata endpoint for operators: JSON-RPC over stateless Streamable HTTP (G1, G2, Q25).
import type { AnsweredClient, AnswerHandler } from '../answers/answer-handler.ts';
import { JsonSyntaxRefusal, Refusal } from '../turn/errors/refusal.ts';
import { isObject, parsedJson } from '../turn/json/json.ts';
import type { Answer } from '../turn/surface.ts';
import type { Body } from '../turn/turn.ts';
import type { McpSources } from './mcp-sources.ts';
import { OperatorView } from './operator-view.ts';

const ALLOW = 'POST, OPTIONS';

export function mcpAnswers(sources: McpSources): AnswerHandler {
  return async (turn, client) => {
    if (turn.method === 'OPTIONS') return { status: 204, headers: { allow: ALLOW }, body: '' };
    if (turn.method !== 'POST') {
      const message = 'Stateless SSE is unavailable here: this endpoint answers each POST with JSON.';
      throw new Refusal('method_not_allowed', { message, headers: { allow: ALLOW } });
    }
    const message = await messageOf(client);
    if ('status' in message) return message;
    // Loading the SDK takes about 100 ms, so it does not happen at the start.
    const { exchange } = await import('./protocol.ts');
    const view = new OperatorView(turn.operator, sources);
    const response = await exchange({ message: message.body, headers: turn.headers, view, turn });
    const { status } = response;
    const body = withInvalidParams(await response.text());
    return { status, headers: { 'cache-control': 'no-store' }, body, ...(status >= 400 && { code: 'invalid_request' }) };
  };
}

/** The JSON-RPC message, or the answer to a body that is not one. @throws Refusal if the body exceeds a limit */
async function messageOf(client: AnsweredClient): Promise<{ readonly body: Body } | Answer> {
  let body: Body;
  try {
    body = await client.json();
  } catch (thrown) {
    if (thrown instanceof JsonSyntaxRefusal) return refused(-32700, `Parse error: ${thrown.message}`);
    if (thrown instanceof Refusal && thrown.code === 'invalid_request') return refused(-32600, `Invalid Request: ${thrown.message}`);
    throw thrown;
  }
  const problem = problemOf(body);
  if (problem !== undefined) return refused(-32600, `Invalid Request: ${problem}`);
  if (body.method === 'subscriptions/listen') return { ...refused(-32601, 'Method not found', body.id), status: 200 };
  return { body };
}

/** The reason why an object is not a JSON-RPC message; undefined if it is one. */
function problemOf({ jsonrpc, id, method, params, result, error }: Body): string | undefined {
  if (jsonrpc !== '2.0') return 'jsonrpc must be "2.0".';
  if (id !== undefined && typeof id !== 'string' && !Number.isInteger(id)) return 'id must be a string or a whole number.';
  if (params !== undefined && !isObject(params)) return 'params must be an object.';
  if (typeof method === 'string' || result !== undefined || error !== undefined) return undefined;
  return 'method must be a string.';
}

const refused = (code: number, message: string, id: unknown = null): Answer => ({
  status: 400,
  headers: {},
  body: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }),
  code: 'invalid_request',
});

// The SDK reports params of the wrong form as an internal error, with its schema's report as the message. It is replaced, because the
// client is at fault.
const INTERNAL = -32603;
const INVALID_PARAMS = -32602;

/** @param text an answer of the SDK @returns the answer, or the error -32602 with the names of what is wrong */
function withInvalidParams(text: string): string {
  // A fast check, because answers of tools may be large.
  if (text.startsWith('{"result":')) return text;
  const answer = parsedJson(text);
  if (!isObject(answer) || !isObject(answer.error)) return text;
  const { code, message } = answer.error;
  const issues = code === INTERNAL && typeof message === 'string' ? parsedJson(message) : undefined;
  if (!Array.isArray(issues)) return text;
  const names = issues.map((issue) => (isObject(issue) && Array.isArray(issue.path) ? issue.path.join('.') : 'params'));
  return JSON.stringify({ ...answer, error: { code: INVALID_PARAMS, message: `Invalid params: ${[...new Set(names)].join(', ')}` } });
}
