// Requests to /mcp for tests, with an operator's token and plain JSON-RPC.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { Draft, Reply, TestGateway } from './gateway.ts';

/** The tools, in the order of their list. */
export const TOOL_NAMES = [
  'service_status',
  'list_pools',
  'list_accounts',
  'list_keys',
  'list_models',
  'list_requests',
  'list_audit',
  'usage_summary',
  'explain_selection',
];

/** The token of an operator in tests. */
export const tokenOf = (operator: string): string => `pg-mcp-${operator}`;

/** The row of an operator in a configuration. */
export const operatorRow = (id: string, owns: readonly string[], assigned: readonly string[] = []): Draft => ({
  id,
  token_sha256: [hash('sha256', tokenOf(id), 'hex')],
  owns,
  assigned,
});

/** Adds the operator that most tests use. It owns the Pool of `startGateway`. */
export const withOperator = (draft: Draft): void => {
  draft.operators = [operatorRow('ops', ['team'])];
};

/** Sends one body with the operator's token. */
export const post = (gate: TestGateway, body: unknown, headers: Record<string, string> = {}, operator = 'ops'): Promise<Reply> =>
  gate.send('/mcp', { body, headers: { authorization: `Bearer ${tokenOf(operator)}`, ...headers } });

/** The result of a JSON-RPC request of a client of the revisions of 2025. */
// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
export async function rpc(gate: TestGateway, method: string, params: object = {}, operator = 'ops'): Promise<any> {
  const { status, json, text } = await post(gate, { jsonrpc: '2.0', id: 7, method, params }, {}, operator);
  assert.equal(status, 200, text);
  assert.deepEqual([json.jsonrpc, json.id], ['2.0', 7]);
  return json;
}

/** The answer of a tool: its structured content, which is its text too. */
// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
export async function call(gate: TestGateway, name: string, args: object = {}, operator = 'ops'): Promise<any> {
  const { result } = await rpc(gate, 'tools/call', { name, arguments: args }, operator);
  assert.notEqual(result.isError, true, result.content?.[0]?.text);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

/** The text with which a tool refuses its arguments. */
export async function failure(gate: TestGateway, name: string, args: object, operator = 'ops'): Promise<string> {
  const { result } = await rpc(gate, 'tools/call', { name, arguments: args }, operator);
  assert.equal(result.isError, true, JSON.stringify(result.structuredContent));
  assert.equal(result.structuredContent, undefined);
  return result.content[0].text;
}
