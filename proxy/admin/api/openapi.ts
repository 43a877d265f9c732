// Makes the OpenAPI document of the admin API from its endpoints. The same schemas check requests, and replies in tests.
import manifest from '../../../package.json' with { type: 'json' };
import { isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { FILE_HEADER } from '../access/stated-file.ts';
import { COMMAND_HEADER } from '../access/web-pages.ts';
import { REFUSAL } from '../replies/configuration-replies.ts';
import type { Endpoint } from './endpoint.ts';

const INTRODUCTION =
  'The API of the admin listener, for `poolgate` commands and other programs of operators. On loopback it requires no sign-in. Elsewhere every ' +
  'request needs an operator: its token as `Authorization: Bearer`, a session, or the header of a trusted proxy. An operator sees its Pools, ' +
  'and acts on what only they own; `admin: true` is needed for all else. A refusal changes nothing, and has the reason in `error`.';

const WORDS: Readonly<Record<number, string>> = {
  400: 'A parameter or a member is wrong.',
  401: 'A sign-in is required.',
  403: 'The operator may not do this, or the request comes from a web page of another origin.',
  404: 'It is not known, or not in the view of the operator.',
  409: 'Its state does not permit this; or the configuration file cannot be edited, was saved by others during the edit, or is not the stated one; or another node has it.',
  422: 'The configuration file has errors.',
};

export function openApi(endpoints: readonly Endpoint[]): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const endpoint of endpoints) {
    const [method = '', path = ''] = endpoint.name.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(endpoint, method, path) };
  }
  paths['/api/session'] = { ...paths['/api/session'], ...SESSION };
  paths['/api/events'] = EVENTS;
  return {
    openapi: '3.1.0',
    info: { title: 'poolgate admin API', version: manifest.version, description: INTRODUCTION },
    paths,
    components: {
      schemas: { Refusal: REFUSAL.json },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' }, session: { type: 'apiKey', in: 'cookie', name: 'poolgate_session' } },
    },
    security: [{ token: [] }, { session: [] }],
  };
}

function operationOf({ summary, need, query, body, reply, ofFile, refuses = [] }: Endpoint, method: string, path: string): JsonObject {
  const refusals = new Set([...(query || body ? [400] : []), 401, 403, ...refuses, ...(ofFile ? [409] : [])]);
  return {
    summary,
    ...(need === 'whole' && { description: 'Needs `admin: true`.' }),
    parameters: [
      ...pathParameters(path),
      ...queryParameters(query?.json),
      ...(method === 'GET' ? [] : [COMMAND]),
      ...(ofFile ? [STATED_FILE] : []),
    ],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: clean(body.json) } } } }),
    responses: { 200: answered('The answer.', clean(reply.json)), ...refusalsOf([...refusals]) },
  };
}

const answered = (description: string, schema: Json): JsonObject => ({ description, content: { 'application/json': { schema } } });

const refusalsOf = (statuses: readonly number[]): JsonObject =>
  Object.fromEntries(statuses.map((status) => [status, answered(WORDS[status] ?? '', { $ref: '#/components/schemas/Refusal' })]));

const COMMAND: JsonObject = { name: COMMAND_HEADER, in: 'header', required: true, schema: { type: 'string' }, description: 'Any value.' };

const STATED_FILE: JsonObject = {
  name: FILE_HEADER,
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The absolute path of the configuration file that the client means, percent-encoded: a gateway on another one refuses.',
};

const pathParameters = (path: string): readonly JsonObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));

function queryParameters(schema: JsonObject | undefined): readonly JsonObject[] {
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const required = Array.isArray(schema?.required) ? schema.required : [];
  return Object.entries(properties).map(([name, of]) => {
    const { description = '', ...rest } = isObject(of) ? of : {};
    return { name, in: 'query', required: required.includes(name), description, schema: clean(rest) };
  });
}

/** The schema without the gateway's own messages. */
function clean(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(clean);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => (name === 'x-takes' || value === undefined ? [] : [[name, clean(value)]])),
  );
}

/** A stream, which is not JSON. */
const EVENTS: JsonObject = {
  get: {
    summary: 'Server-sent events `changed`, whose `topics` name what to ask for again: accounts, requests, configuration.',
    parameters: [
      {
        name: 'last-event-id',
        in: 'header',
        required: false,
        schema: { type: 'string' },
        description: 'The id of the last event, also of another process: what changed since comes first.',
      },
    ],
    responses: {
      200: {
        description: 'Events until the client leaves or its sign-in ends.',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      ...refusalsOf([401, 403]),
    },
  },
};

/** The paths that begin and end a session. The listener answers them itself, before it determines the asker. */
const SESSION: JsonObject = {
  post: {
    summary: 'Exchanges the token of an operator for a session: an HttpOnly cookie that ends 8 h after its last request, and after 72 h.',
    parameters: [COMMAND],
    responses: { 200: answered('A session began.', { type: 'object' }), ...refusalsOf([401, 403]) },
  },
  delete: {
    summary: 'Ends the session in this browser. Removing the token from the configuration ends all its sessions.',
    parameters: [COMMAND],
    responses: { 200: answered('It ended.', { type: 'object' }), ...refusalsOf([403]) },
  },
};
