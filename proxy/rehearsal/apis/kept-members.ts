// Refuses optional members that a server does not take. If the address names `keep`, only the members in it are taken (AA88).
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import { KEEPABLE, type Quirks } from '../../turn/provider/quirks.ts';
import { unsupportedParameter } from '../request-refusals.ts';

/** @throws SimulatedError @param places the paths of members that have another name or another place in the request */
export function refuseUnkept(body: JsonObject, { keep }: Partial<Quirks>, places: Readonly<Record<string, string>> = {}): void {
  if (keep === undefined) return;
  for (const member of KEEPABLE) {
    if (keep.includes(member)) continue;
    const path = places[member] ?? member;
    let value: unknown = body;
    for (const name of path.split('.')) value = isObject(value) ? value[name] : undefined;
    if (value !== undefined) throw unsupportedParameter(path);
  }
}
