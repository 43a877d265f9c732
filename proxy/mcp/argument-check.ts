// Checks values against the schemas of tools, and describes an invalid argument so that a model can correct it.
import type { jsonSchemaValidator } from '@modelcontextprotocol/server';
import { Ajv, type ErrorObject } from 'ajv';

const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false });

/** The validator that the SDK calls, with the arguments and with the answer of a tool. */
export const argumentCheck: jsonSchemaValidator = {
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
