// The texts that replace images, files and audio of earlier tool outputs which the account does not take (AA43).
import { isList, isObject, type Json, type JsonObject, mapList } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { Adaptations } from '../../turn/provider/adapted.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import type { Body } from '../../turn/turn.ts';
import { takesInput } from './eligibility/lacks.ts';
import { neededFor } from './eligibility/turn-needs.ts';

export const PLACEHOLDERS = { image: '(image)', file: '(file)', audio: '(audio)' } as const;

interface UntakenOptions {
  readonly account: ApiAccountConfig;
  readonly model: AccountModel | undefined;
  readonly adapted: Adaptations;
}

/** The turn with texts in place of what the account does not take. Later outputs have nothing else, because eligibility checks them. */
export function withoutUntaken(body: Body, options: UntakenOptions): Body {
  if (!isList(body.input)) return body;
  const input = mapList(body.input, (item) => (isObject(item) && isList(item.output) ? withTexts(item, item.output, options) : item));
  return input === body.input ? body : { ...body, input };
}

function withTexts(item: JsonObject, parts: readonly Json[], { account, model, adapted }: UntakenOptions): JsonObject {
  const output = mapList(parts, (part) => {
    const needed = isObject(part) && typeof part.file_id !== 'string' ? neededFor(part) : undefined;
    if (!needed || takesInput(needed, { account, model })) return part;
    adapted.note(`input.input_${needed.modality}`);
    return { type: 'input_text', text: PLACEHOLDERS[needed.modality] };
  });
  return output === parts ? item : { ...item, output };
}
