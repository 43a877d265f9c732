// Checks queries and bodies of API requests against the schemas of their endpoint, and states what is wrong.
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { INSTANT } from '../../mcp/times.ts';
import type { Json } from '../../turn/json/json.ts';
import { ApiRefusal, type Endpoint } from './endpoint.ts';

/** Schemas are not validated, which tests do, and the code is not optimised. Both would delay the first page by 100 ms. */
const OPTIONS: Options = { validateSchema: false, code: { optimize: false }, strict: false, validateFormats: false, verbose: true };

/** The checks of queries. They convert texts to numbers and flags, because a query has only texts. */
const queries = new Ajv({ ...OPTIONS, coerceTypes: 'array' });
const bodies = new Ajv(OPTIONS);

interface Checks {
  readonly query: ValidateFunction;
  readonly body: ValidateFunction;
}

/** The schema for the query or body of an endpoint that takes none. */
const NOTHING = { type: 'object', properties: {}, additionalProperties: false };

/** The checks are compiled at the first request, so that the start does not wait for them. */
const compiled = new Map<Endpoint, Checks>();

function checksOf(endpoint: Endpoint): Checks {
  const known = compiled.get(endpoint);
  if (known) return known;
  const { query, body } = endpoint;
  const made = { query: queries.compile(query?.json ?? NOTHING), body: bodies.compile(body?.json ?? NOTHING) };
  compiled.set(endpoint, made);
  return made;
}

/** @throws ApiRefusal */
export function checkedQuery(endpoint: Endpoint, params: URLSearchParams): unknown {
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(params.keys())) {
    const values = params.getAll(name);
    query[name] = values.length > 1 ? values : (values[0] ?? '');
  }
  const { query: check } = checksOf(endpoint);
  if (!check(query)) throw refusalOf(check.errors?.[0], 'parameter');
  return query;
}

/** @param body undefined if the request had none @throws ApiRefusal */
export function checkedBody(endpoint: Endpoint, body: unknown): unknown {
  const { body: check } = checksOf(endpoint);
  const given = body === undefined ? {} : body;
  if (!check(given)) throw refusalOf(check.errors?.[0], 'member');
  return given;
}

function refusalOf(error: ErrorObject | undefined, noun: 'parameter' | 'member'): ApiRefusal {
  const { keyword = '', params = {}, instancePath = '', message = 'is invalid', parentSchema = {} } = error ?? {};
  const [name = '', ...inside] = instancePath.slice(1).split('/');
  // A parameter that is repeated is a list here, but an operator wrote no list.
  const place = noun === 'parameter' ? name : [name, ...inside].join('.');
  if (keyword === 'additionalProperties') {
    const known = Object.keys((parentSchema as { readonly properties?: object }).properties ?? {});
    const param = String(params.additionalProperty);
    return new ApiRefusal(400, `there is no ${noun} ${param}; known: ${known.join(', ') || 'none'}`, { param });
  }
  if (keyword === 'required') {
    const param = [place, params.missingProperty].filter(Boolean).join('.');
    return new ApiRefusal(400, `the ${noun} ${param} is missing`, { param });
  }
  const { 'x-takes': stated, pattern } = parentSchema as { readonly 'x-takes'?: Json; readonly pattern?: string };
  const takes = stated ?? (pattern === INSTANT ? 'a time such as 30m, 24h, 7d or 2027-01-01T00:00:00Z' : undefined);
  const words = (params as { readonly allowedValues?: readonly unknown[] }).allowedValues;
  const wrong = takes !== undefined ? `takes ${String(takes)}` : words ? `takes one of ${words.join(', ')}` : message;
  return new ApiRefusal(400, `${place || 'the body'} ${wrong}`, place === '' ? {} : { param: place });
}
