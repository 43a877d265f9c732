// Resolves the model of a compatible transcription, which is named by its id or an alias; the account gets the id (D11, Q4, Q23).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { StreamedPart } from '../../proxy/turn/json/form.ts';
import { type PartReader, rule } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { allowsModel } from '../helpers/key-policy.ts';

export const transcriptionModel = rule({
  name: 'transcription-model',
  routes: ['public-transcription'],
  parts: (turn) => new NamedModel(turn),
});

/**
 * The model is sent before the file, as accounts expect it. If the client names it after the file, the only possible model is sent, and the
 * client's model is checked when it arrives.
 */
class NamedModel implements PartReader {
  readonly #turn: Turn;
  #isNamed = false;
  #isSent = false;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  part(part: StreamedPart): readonly StreamedPart[] {
    if (part.name === 'model') {
      this.#check(part.kind === 'field' ? part.value : '');
      return this.#model();
    }
    return part.kind === 'file' ? [...this.#model(), part] : [part];
  }

  end(): readonly StreamedPart[] {
    if (!this.#isNamed) throw new Refusal('invalid_model', { param: 'model' });
    return [];
  }

  /** Checks the key's list first, so that a key cannot find out which other models exist (Q4). */
  #check(named: string): void {
    const { key, transcription } = this.#turn;
    const { model, aliases } = transcription;
    const id = aliases.includes(named) ? model : named;
    if (!allowsModel(key, id)) throw new Refusal('model_not_allowed', { param: 'model' });
    if (id !== model) throw new Refusal('invalid_model', { param: 'model' });
    this.#isNamed = true;
    this.#turn.note('model', model);
  }

  #model(): readonly StreamedPart[] {
    if (this.#isSent) return [];
    this.#isSent = true;
    return [{ kind: 'field', name: 'model', value: this.#turn.transcription.model }];
  }
}
