// Refuses the optional members of a request that a server does not take: those outside `keep`, if its address names it (AA88).
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import { KEEPABLE, type Quirks } from '../../turn/provider/quirks.ts';
import { SimulatedError } from '../provider-error.ts';

/** @throws ProviderError @param places of the members that have another name, or another place, in the request: a path of names */
export function refuseUnkept(body: JsonObject, { keep }: Partial<Quirks>, places: Readonly<Record<string, string>> = {}): void {
  if (keep === undefined) return;
  for (const member of KEEPABLE) {
    if (keep.includes(member)) continue;
    const path = places[member] ?? member;
    let value: unknown = body;
    for (const name of path.split('.')) value = isObject(value) ? value[name] : undefined;
    if (value !== undefined) throw new SimulatedError(400, 'unsupported_parameter', `Unsupported parameter: '${path}'.`, path);
  }
}
