// Checks that a transcription has exactly one file, and sends only the fields that transcriptions have (C3, Q23).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { safeParam } from '../../proxy/turn/errors/sanitise.ts';
import type { StreamedPart } from '../../proxy/turn/json/form.ts';
import { surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { type PartReader, rule } from '../../proxy/turn/rules/rule.ts';
import { TRANSCRIPTIONS } from '../route-groups.ts';

const FIELDS: ReadonlySet<string> = new Set(['model', 'language', 'prompt', 'response_format', 'temperature']);

/**
 * Unknown fields are refused on the compatible surface. On the native one they are removed, because a provider's own client may add some.
 */
export const transcriptionFields = rule({
  name: 'transcription-fields',
  routes: TRANSCRIPTIONS,
  parts: ({ route }) => new Fields(surfaceOf(route.kind) === 'public'),
});

class Fields implements PartReader {
  readonly #refusesOthers: boolean;
  #hasFile = false;

  constructor(refusesOthers: boolean) {
    this.#refusesOthers = refusesOthers;
  }

  part(part: StreamedPart): readonly StreamedPart[] {
    const { kind, name } = part;
    if (name === 'file') this.#takeFile(part);
    else if (kind === 'file' || !(FIELDS.has(name) || listOf(name))) return this.#other(name);
    return [part];
  }

  end(): readonly StreamedPart[] {
    if (!this.#hasFile) throw invalidRequest('file', 'is required');
    return [];
  }

  #takeFile({ kind }: StreamedPart): void {
    if (kind !== 'file') throw invalidRequest('file', 'must be an uploaded file');
    if (this.#hasFile) throw invalidRequest('file', 'must be one file');
    this.#hasFile = true;
  }

  #other(name: string): readonly StreamedPart[] {
    if (!this.#refusesOthers) return [];
    // The name is a client's text. It is repeated only if it is a plain path.
    const param = safeParam(name);
    throw new Refusal('unsupported_parameter', param === null ? {} : { param });
  }
}

/** A field of a transcription that is a list. A form spells a list as several parts of one name, with or without brackets. */
export type ListName = 'keywords' | 'languages';

/** The list that a field belongs to. */
export function listOf(name: string): ListName | undefined {
  const bare = name.endsWith('[]') ? name.slice(0, -2) : name;
  return bare === 'keywords' || bare === 'languages' ? bare : undefined;
}
