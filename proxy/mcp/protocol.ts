// Implements the Model Context Protocol with the official SDK: one server per request, without sessions. It is loaded at the first request
// with a token.
import {
  createMcpHandler,
  fromJsonSchema,
  isLegacyRequest,
  type jsonSchemaValidator,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { Ajv, type ErrorObject } from 'ajv';
import manifest from '../../package.json' with { type: 'json' };
import { LATE, withDeadline } from '../base/time/clock.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Headers as TurnHeaders } from '../turn/turn.ts';
import { TOOLS } from './mcp-tools.ts';
import type { OperatorView } from './operator-view.ts';
import { type Tool, ToolError } from './tool.ts';

const INSTRUCTIONS =
  'Read-only metadata of an LLM gateway that shares the capacity of provider accounts between Pool API keys: its Pools, accounts, keys, models, ' +
  'request log, audit log, usage and routing. It has no prompts, answers or secrets. You see the Pools of one operator; ids outside them are ' +
  'unknown. Times are ISO 8601 in UTC; service_status has the current time. Lists have a limit and a next_cursor. Begin with service_status.';

/** The longest time of a tool. After it the client gets an answer, while the database still finishes its query. */
const TOOL_MS = 20_000;

const SERVER = { name: 'poolgate', title: 'poolgate', version: manifest.version };

/** Schemas are not validated here, because tests do that and the first call would wait for it. */
const ajv = new Ajv({ validateSchema: false, allErrors: true, strict: false, validateFormats: false });

/** The validator that the SDK uses for the arguments and for the answer of a tool. A model can correct an argument with its messages. */
const argumentCheck: jsonSchemaValidator = {
  getValidator<Value>(schema: object) {
    const check = ajv.compile<Value>(schema);
    const known = Object.keys((schema as { readonly properties?: object }).properties ?? {});
    return (value: unknown) => {
      if (check(value)) return { valid: true, data: value, errorMessage: undefined };
      return { valid: false, data: undefined, errorMessage: (check.errors ?? []).map((error) => messageOf(error, known)).join('; ') };
    };
  },
};

function messageOf({ keyword, params, instancePath, message }: ErrorObject, known: readonly string[]): string {
  if (keyword === 'additionalProperties') {
    return `there is no argument ${params.additionalProperty}; known: ${known.join(', ') || 'none'}`;
  }
  const place = instancePath.slice(1).replaceAll('/', '.') || 'the arguments';
  if (keyword === 'enum') return `${place} must be one of ${(params.allowedValues as readonly string[]).join(', ')}`;
  return `${place} ${message}`;
}

/** The tools for the SDK. They are compiled once, because each request makes a server. */
const REGISTERED = TOOLS.map((tool) => ({
  tool,
  config: {
    title: tool.title,
    description: tool.description,
    inputSchema: fromJsonSchema(tool.input.json, argumentCheck),
    outputSchema: fromJsonSchema(tool.output.json, argumentCheck),
    annotations: { title: tool.title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
}));

/** One JSON-RPC message as it arrived. */
export interface McpExchange {
  readonly message: object;
  readonly headers: TurnHeaders;
  readonly view: OperatorView;
  readonly turn: Pick<LiveTurn, 'after' | 'fault'>;
}

/** The headers that the protocol reads, besides those of parameters. */
const READ = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** Answers one message. Both versions of the protocol are served: 2025 (with `initialize`) and 2026 (every request states its version). */
export async function exchange({ message, headers, view, turn }: McpExchange): Promise<Response> {
  const request = new Request('http://localhost/mcp', { method: 'POST', headers: headersOf(headers) });
  const options = { parsedBody: message };
  const makeServer = (): McpServer => serverFor(view, turn);
  if (!(await isLegacyRequest(request, message))) return createMcpHandler(makeServer, { legacy: 'reject' }).fetch(request, options);
  const server = makeServer();
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    const response = await transport.handleRequest(request, options);
    return new Response(await response.text(), response);
  } finally {
    await server.close();
  }
}

/** The headers for the SDK. The answer is always JSON, whatever the client accepts. */
function headersOf(headers: TurnHeaders): Headers {
  const own = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' });
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && (READ.includes(name) || name.startsWith('mcp-param-'))) own.set(name, value);
  }
  return own;
}

function serverFor(view: OperatorView, turn: McpExchange['turn']): McpServer {
  const server = new McpServer(SERVER, { instructions: INSTRUCTIONS, capabilities: { tools: { listChanged: false } } });
  for (const { tool, config } of REGISTERED) server.registerTool(tool.name, config, (input) => call(tool, input, view, turn));
  return server;
}

interface ToolAnswer {
  readonly [member: string]: unknown;
  readonly content: { type: 'text'; text: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

const failed = (message: string): ToolAnswer => ({ content: [{ type: 'text', text: message }], isError: true });

async function call(tool: Tool, input: unknown, view: OperatorView, turn: McpExchange['turn']): Promise<ToolAnswer> {
  try {
    const answer = await withDeadline(Promise.resolve(tool.run(input, view)), turn, TOOL_MS);
    if (answer === LATE) return failed('this takes too long: ask for less, such as a shorter time or one Pool');
    return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer as Record<string, unknown> };
  } catch (thrown) {
    if (thrown instanceof ToolError) return failed(thrown.message);
    turn.fault(thrown);
    return failed('the gateway failed unexpectedly');
  }
}
