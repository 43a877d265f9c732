// The refusals of requests that all simulated servers word alike.
import { isObject, type Json, type JsonObject } from '../turn/json/json.ts';
import { SimulatedError } from './provider-error.ts';

export const refusedValue = (param: string, message: string, code = 'invalid_value'): SimulatedError =>
  new SimulatedError(400, code, message, param);

/** @throws SimulatedError */
export function refuse(param: string, message: string, code?: string): never {
  throw refusedValue(param, message, code);
}

export const missingParameter = (param: string): SimulatedError =>
  refusedValue(param, `Missing required parameter: '${param}'.`, 'missing_required_parameter');

export const unknownParameter = (param: string): SimulatedError =>
  refusedValue(param, `Unknown parameter: '${param}'.`, 'unknown_parameter');

export const unsupportedParameter = (param: string): SimulatedError =>
  refusedValue(param, `Unsupported parameter: '${param}'.`, 'unsupported_parameter');

/** The object of a body. @throws SimulatedError if the body is something else */
export function objectBody(json: Json | undefined): JsonObject {
  if (!isObject(json)) throw new SimulatedError(400, 'invalid_json', 'The body is not a JSON object.');
  return json;
}
