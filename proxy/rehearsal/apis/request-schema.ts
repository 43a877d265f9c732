// Checks a request against a JSON Schema. A refusal has the API's own words for an unknown member, a missing one or a wrong value.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { JsonObject } from '../../turn/json/json.ts';
import type { SimulatedError } from '../provider-error.ts';
import { missingParameter, refusedValue, unknownParameter } from '../request-refusals.ts';

/** A JSON Schema as the program writes it. */
export type JsonSchema = { readonly [keyword: string]: unknown };

// Schemas are not validated. A broken schema is a defect, which tests find.
const ajv = new Ajv({ strict: false, discriminator: true, validateSchema: false, validateFormats: false });

/** Compiles its schema at the first request, because most providers of a process never get a request. */
export class RequestSchema {
  readonly #schema: JsonSchema;
  #check: ValidateFunction | undefined;

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** @throws SimulatedError for the first member that is wrong */
  check(body: JsonObject): void {
    this.#check ??= ajv.compile(this.#schema);
    if (this.#check(body)) return;
    const error = deepest(this.#check.errors ?? []);
    throw error ? refusalOf(error) : invalid('', 'The request is not valid.');
  }
}

/** The error that is deepest in the request, if several alternatives failed. */
const deepest = (errors: readonly ErrorObject[]): ErrorObject | undefined =>
  errors.toSorted((a, b) => depthOf(b) - depthOf(a)).find(({ keyword }) => keyword !== 'anyOf' && keyword !== 'oneOf');

const depthOf = ({ instancePath }: ErrorObject): number => instancePath.split('/').length;

function refusalOf({ keyword, params, instancePath, message }: ErrorObject): SimulatedError {
  const path = paramOf(instancePath);
  if (keyword === 'additionalProperties') return unknownParameter(member(path, String(params.additionalProperty)));
  if (keyword === 'required') return missingParameter(member(path, String(params.missingProperty)));
  if (keyword === 'discriminator') return invalid(member(path, String(params.tag)), `'${String(params.tagValue)}' is not supported`);
  return invalid(path, message ?? 'it is not valid');
}

const invalid = (param: string, what: string): SimulatedError => refusedValue(param, `Invalid value for '${param}': ${what}.`);

/** Turns `/messages/2/content` into `messages[2].content`. */
const paramOf = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '');

const member = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** An object with these members and no others. */
export const object = (properties: JsonSchema, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

/** One of several objects; the value of the member `tag` names which one. */
export const oneOf = (tag: string, objects: readonly JsonSchema[]): JsonSchema => ({
  type: 'object',
  discriminator: { propertyName: tag },
  required: [tag],
  oneOf: objects,
});

export const list = (items: JsonSchema, bounds: JsonSchema = { minItems: 1 }): JsonSchema => ({ type: 'array', items, ...bounds });

export const words = (...all: readonly (string | null)[]): JsonSchema => ({ enum: all });

export const TEXT: JsonSchema = { type: 'string', minLength: 1 };
export const ANY_TEXT: JsonSchema = { type: 'string' };
export const FLAG: JsonSchema = { type: 'boolean' };
export const COUNT: JsonSchema = { type: 'integer', minimum: 1 };

/** A text of at most this number of characters. */
export const textOfAtMost = (characters: number): JsonSchema => ({ type: 'string', minLength: 1, maxLength: characters });

/** The members that both APIs name alike. */
export const SHARED_MEMBERS: JsonSchema = {
  model: TEXT,
  stream: FLAG,
  temperature: { type: 'number', minimum: 0, maximum: 2 },
  top_p: { type: 'number', minimum: 0, maximum: 1 },
  metadata: { type: 'object', maxProperties: 16, minProperties: 1, additionalProperties: { type: 'string', maxLength: 512 } },
  user: TEXT,
  safety_identifier: textOfAtMost(64),
  prompt_cache_key: textOfAtMost(64),
  prompt_cache_retention: words('in_memory', 'in-memory', '24h'),
  service_tier: words('auto', 'default', 'flex', 'priority', 'scale'),
  parallel_tool_calls: FLAG,
};

export const EFFORT_WORD = words('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max');
