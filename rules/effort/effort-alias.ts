// Backend compatibility: minimal goes out as low and ultra as max, after policy told them apart (F4.7).
import { rule } from '../rule.ts';
import { effortPlace } from './place.ts';

const ALIASES: ReadonlyMap<unknown, string> = new Map([
  ['minimal', 'low'],
  ['ultra', 'max'],
]);

export const effortAlias = rule({
  name: 'effort-alias',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request({ body }, turn) {
    const place = effortPlace(turn.route.kind);
    const alias = ALIASES.get(place.read(body));
    if (alias !== undefined) place.write(body, alias);
    return;
  },
});
