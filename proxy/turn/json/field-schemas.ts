// The JSON Schemas of what tools and the admin API take and return, with their TypeScript types, so that each field is described once.
import type { Json, JsonObject } from './json.ts';

declare const VALUE: unique symbol;

/** A JSON Schema of values of one type. */
export interface Schema<Value> {
  readonly json: JsonObject;
  /** Only for type inference; never present. */
  readonly [VALUE]?: Value;
}

/** The type of the values of a schema. */
export type ValueOf<S> = S extends Schema<infer Value> ? Value : never;

type Fields = Readonly<Record<string, Schema<unknown>>>;
type Values<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

export const text = (description: string, rules: JsonObject = {}): Schema<string> => ({ json: { type: 'string', description, ...rules } });

/** An id, or another short name. */
export const name = (description: string): Schema<string> => text(description, { minLength: 1, maxLength: 200 });

export const integer = (description: string, rules: JsonObject = {}): Schema<number> => ({
  json: { type: 'integer', description, ...rules },
});

export const number = (description: string): Schema<number> => ({ json: { type: 'number', description } });

export const flag = (description: string): Schema<boolean> => ({ json: { type: 'boolean', description } });

export const oneOf = <const Word extends string>(words: readonly Word[], description: string): Schema<Word> => ({
  json: { type: 'string', enum: words, description },
});

/** An instant: ISO 8601, UTC. */
export const time = (description: string): Schema<string> => text(`${description} ISO 8601, UTC.`, { format: 'date-time' });

export const nullable = <Value>({ json }: Schema<Value>): Schema<Value | null> => ({
  json: { ...json, type: [json.type as string, 'null'], ...(Array.isArray(json.enum) && { enum: [...(json.enum as Json[]), null] }) },
});

export const list = <Value>(description: string, items: Schema<Value>, rules: JsonObject = {}): Schema<readonly Value[]> => ({
  json: { type: 'array', description, items: items.json, ...rules },
});

/** A map of names to numbers, if the names are not known beforehand. */
export const counts = (description: string): Schema<Readonly<Record<string, number>>> => ({
  json: { type: 'object', description, additionalProperties: { type: 'number' } },
});

/** A map of names to values, if the names are not known beforehand. */
export const record = <Value>(description: string, values: Schema<Value>): Schema<Readonly<Record<string, Value>>> => ({
  json: { type: 'object', description, additionalProperties: values.json },
});

/** Any JSON value. */
export const anything = (description: string): Schema<Json> => ({ json: { description } });

/** An object with exactly these fields. @param optional fields that may be absent */
export const object = <F extends Fields, Optional extends Fields = Record<never, never>>(
  fields: F,
  description?: string,
  optional?: Optional,
): Schema<Values<F> & Partial<Values<Optional>>> => ({
  json: {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: { ...jsonOf(fields), ...jsonOf(optional ?? {}) },
    required: Object.keys(fields),
    additionalProperties: false,
  },
});

/** The object with further required fields. */
export const withFields = <Value extends object, F extends Fields>({ json }: Schema<Value>, fields: F): Schema<Value & Values<F>> => ({
  json: {
    ...json,
    properties: { ...(json.properties as JsonObject), ...jsonOf(fields) },
    required: [...(json.required as Json[]), ...Object.keys(fields)],
  },
});

/** An object that may have further members. Those are for people, and differ between versions. */
export const open = <Value extends object>({ json }: Schema<Value>): Schema<Value> => ({ json: { ...json, additionalProperties: true } });

/** The arguments of a tool: every field may be absent, and no other one is accepted. */
export const args = <F extends Fields>(fields: F): Schema<{ readonly [Name in keyof F]?: ValueOf<F[Name]> | undefined }> => ({
  json: { type: 'object', properties: jsonOf(fields), additionalProperties: false },
});

const jsonOf = (fields: Fields): JsonObject => Object.fromEntries(Object.entries(fields).map(([name, { json }]) => [name, json]));
