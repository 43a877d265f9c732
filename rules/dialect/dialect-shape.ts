// Checks the shape of members that a dialect edits. The provider judges all others.
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { isAbsent, isList, isObject, type Json } from '../../proxy/turn/json/json.ts';
import { isCompaction, surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { RESPONSES_TURNS } from '../route-groups.ts';

/**
 * Checks only what the normalisation of this turn edits (F1.1, F1.4, F2.2, F2.5, F2.6). Instructions and metadata of a native Full turn
 * pass as they came.
 */
export const dialectShape = rule({
  name: 'dialect-shape',
  routes: RESPONSES_TURNS,
  request({ body }, turn) {
    const { kind } = turn.route;
    const lite = turn.model?.mode?.effective === 'lite';
    demand(body, 'reasoning', isObject, 'must be an object');
    if (!isCompaction(kind)) demand(body, 'include', isList, 'must be an array');
    if (lite || surfaceOf(kind) === 'public') demand(body, 'instructions', isString, 'must be a string');
    // Otherwise a client that expects a stream could get a single answer.
    if (surfaceOf(kind) === 'public') demand(body, 'stream', isBoolean, 'must be a boolean');
    if (!lite) return;
    demand(body, 'tools', isList, 'must be an array');
    demand(body, 'input', isInput, 'must be a string or an array');
    demand(body, 'client_metadata', isObject, 'must be an object');
  },
});

const isString = (value: Json): boolean => typeof value === 'string';
const isBoolean = (value: Json): boolean => typeof value === 'boolean';
const isInput = (value: Json): boolean => isString(value) || isList(value);

/** Refuses a member of the wrong shape. Null counts as absent, and an absent member is not checked. */
function demand(body: Body, param: string, fits: (value: Json) => boolean, what: string): void {
  const value = body[param];
  if (!isAbsent(value) && !fits(value)) throw invalidRequest(param, what);
}
