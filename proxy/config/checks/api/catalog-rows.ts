// Checks the models that an API account declares (AA7, AA12).
import type { Json } from '../../../turn/json/json.ts';
import { NATIVE_MEMBERS } from '../../../turn/provider/native-members.ts';
import type { Problem } from '../../schema/finding.ts';
import { isWord } from '../../schema/setting-names.ts';
import { suggestion } from '../../schema/suggestion.ts';
import { mapping, type Row, rowsOf, text, textsAt } from '../config-rows.ts';
import { apiAccountRows } from './account-row.ts';

export function checkCatalogs(data: unknown): readonly Problem[] {
  return apiAccountRows(data).flatMap(({ path, row }) => {
    const models = rowsOf(row, 'catalog', path);
    return [...repeatedIds(models), ...models.flatMap((model) => [...modelProblems(model)])];
  });
}

function* repeatedIds(models: readonly Row[]): Generator<Problem> {
  const seen = new Set<string>();
  for (const { path, row } of models) {
    const id = text(row.id);
    if (id === undefined) continue;
    if (seen.has(id)) yield { path: [...path, 'id'], message: `${isWord(id) ? `'${id}'` : 'this id'} is declared twice in this catalog` };
    seen.add(id);
  }
}

function* modelProblems({ path, row }: Row): Generator<Problem> {
  const level = text(row.default_level);
  if (level !== undefined && Array.isArray(row.reasoning_levels)) {
    const levels = textsAt(row, 'reasoning_levels', path).map((one) => one.text);
    const known = levels.length === 0 ? '; the model does not reason' : `; known: ${levels.join(', ')}`;
    if (!levels.includes(level))
      yield { path: [...path, 'default_level'], message: `this level is not among reasoning_levels${suggestion(level, levels) || known}` };
  }
  for (const [name, value] of Object.entries(mapping(row.native))) {
    const member = Object.hasOwn(NATIVE_MEMBERS, name) ? NATIVE_MEMBERS[name] : undefined;
    if (member && !member.check(value as Json))
      yield { path: [...path, 'native', name], message: `native clients need ${member.type} here` };
  }
}
